// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Statistics, verifying, copies, compaction, damage. After RECache's removeAll defects and
/// errorLogsEnabledDefault: here failures are in the statistics.
struct DiskCacheMaintenanceTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  private var data: URL { place.url.appendingPathComponent("data.mdb") }

  @Test func statisticsCountWhatHappened() throws {
    let cache = try place.openText { $0.countLimit = 5 }
    try cache.fill(1...4)
    #expect(try cache.statistics.pendingCount == 4 && cache.statistics.count == 4)
    #expect(try cache.statistics.size == cache.size.bytes)
    _ = try cache.value(forKey: 1)
    _ = try cache.value(forKey: 99)
    _ = try cache.peek(forKey: 99)
    try cache.remove(forKey: 1)
    try cache.fill(5...10)
    try cache.checkpoint()
    let statistics = try cache.statistics
    #expect(statistics.hits == 1 && statistics.misses == 1 && statistics.hitRatio == 0.5)
    #expect(statistics.written == 10 && statistics.removed == 1 && statistics.evicted == 4)
    #expect(statistics.count == 5 && statistics.size == 6 && statistics.pendingCount == 0)
    #expect(statistics.checkpoints > 0 && statistics.checkpointFailures == 0)
    #expect(statistics.checkpointTime > .zero)
    #expect(statistics.lastFailure == nil && statistics.damaged == 0 && !statistics.isReadOnly)
    #expect(statistics.lastVersion == statistics.indexedVersion)
    #expect(statistics.format == "utf8" && statistics.journalCapacity == 1 << 20)
    #expect(statistics.dataSize >= statistics.dataSizeInUse && statistics.dataSizeInUse > 0)
    #expect(statistics.description.hasPrefix("50.0 % of 2 reads hit; 10 written, 1 removed"))
    #expect(abs(statistics.created.timeIntervalSince(place.clock.date)) < 1)
  }

  @Test func statisticsOfNothingAreZero() throws {
    let statistics = try place.openText().statistics
    #expect(statistics.reads == 0 && statistics.hitRatio == 0)
    #expect(statistics.count == 0 && statistics.written == 0)
  }

  @Test func syncingMakesEverythingDurable() throws {
    let cache = try place.openText()
    try cache.fill(1...10)
    try cache.sync()
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
    try cache.set("eleven", forKey: 11, durability: .power)
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
    try cache.remove(forKey: 11, durability: .power)
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
    try cache.batch(durability: .power) { try $0.set("twelve", forKey: 12) }
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
  }

  @Test func verifyingASoundCacheFindsNothing() throws {
    let cache = try place.openData { $0.inlineThreshold = 100 }
    for number in 0..<200 { try cache.set(Data(count: number), forKey: "\(number)") }
    try cache.checkpoint()
    for number in 0..<50 { try cache.remove(forKey: "\(number)") }
    var calls = 0
    let report = try cache.verify { _, _ in
      calls += 1
      return true
    }
    #expect(report.isIntact && report.intact == 150 && report.damaged == 0)
    #expect(report.intactBytes == UInt64((50..<200).reduce(0, +)))
    #expect(report.uncertain == 0 && report.inconsistencies == 0)
    #expect(report.firstDamageOffset == nil)
    #expect(calls > 0)
    #expect(throws: CancellationError.self) { try cache.verify { _, _ in false } }
  }

  @Test func openingTellsWhatTheLogHeld() throws {
    #expect(try place.openText().recovery.isIntact)
  }

  @Test func aCopyHoldsWhatTheCacheHeldAndIsItsOwn() throws {
    let copy = place.directory.file("copy").path
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(Data(count: 5), forKey: "short", extendedData: Data([1]))
    try cache.checkpoint()
    try cache.set(Data(count: 50), forKey: "long", expiration: .seconds(60))
    try cache.backup(to: copy)
    try cache.removeAll()
    let other = try DiskPlace()
    try FileManager.default.moveItem(atPath: copy, toPath: other.path)
    let second = try other.openData()
    #expect(try second.keys() == ["long", "short"])
    #expect(try second.value(forKey: "long") == Data(count: 50))
    #expect(try second.extendedData(forKey: "short") == Data([1]))
    #expect(try second.info(forKey: "long")?.expires == place.clock.date + 60)
    #expect(try second.verify().isIntact)
  }

  @Test func aCopyDoesNotReplaceAnything() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    let failure = error { try cache.backup(to: place.directory.url.path) }
    #expect(failure?.errno == EEXIST)
    let copy = place.directory.file("copy").path
    #expect(throws: CancellationError.self) { try cache.backup(to: copy) { _, _ in false } }
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  @Test func compactingGivesRoomBackAndKeepsEntries() throws {
    do {
      let cache = try place.openData()
      for round in 0..<10 {
        try cache.batch { batch in
          for number in 0..<40 {
            try batch.set(Data(repeating: 1, count: 10_000), forKey: "\(round)-\(number)")
          }
        }
        try cache.checkpoint()
      }
      try cache.trim(toCount: 5)
      #expect(errorCode { try DiskCache<String, Data>.compact(at: .path(place.path)) } == .busy)
    }
    let before = try place.log.size
    try DiskCache<String, Data>.compact(at: .path(place.path))
    let after = try place.log.size
    #expect(after <= before && after < 400_000, "\(before) before, \(after) after")
    let cache = try place.openData()
    #expect(try cache.count == 5)
    #expect(try cache.entries().allSatisfy { $0.value == Data(repeating: 1, count: 10_000) })
    #expect(try cache.verify().isIntact)
  }

  @Test func compactingTellsOfTheIndexAndShrinksIt() throws {
    let keys = 1...4000
    do {
      let cache = try place.openData()
      try cache.set(keys.map { (key: "key \($0)", value: Data("\($0)".utf8)) })
      try cache.checkpoint()
      try cache.remove(forKeys: keys.dropFirst(10).map { "key \($0)" })
      try cache.close()
    }
    let size = { try FileManager.default.attributesOfItem(atPath: data.path)[.size] as? UInt64 }
    do {
      let reader = try place.openData { $0.isReadOnly = true }
      #expect(try reader.value(forKey: "key 1") == Data("1".utf8))
      let sizes = try DiskCache<String, Data>.compact(at: .path(place.path))
      #expect(sizes.dataSize == (try size()) && sizes.dataSize >= sizes.dataSizeBefore)
    }
    let sizes = try DiskCache<String, Data>.compact(at: .path(place.path))
    #expect(sizes.dataSize == (try size()) && sizes.dataSize * 4 < sizes.dataSizeBefore)
    #expect(sizes.logSize <= sizes.logSizeBefore)
    let cache = try place.openData()
    #expect(try cache.count == 10 && cache.verify().isIntact)
    #expect(try cache.keys().allSatisfy { try cache.value(forKey: $0) != nil })
  }

  @Test(arguments: [false, true])
  func aClosedCacheIsInNobodysWayThoughItIsKept(isReader: Bool) throws {
    let cache = try place.openData()
    try cache.set(Data(count: 100_000), forKey: "a")
    try cache.checkpoint()
    try cache.set(Data(count: 10), forKey: "b")
    let reader = isReader ? try place.openData { $0.isReadOnly = true } : nil
    #expect(try reader?.value(forKey: "b") ?? Data(count: 10) == Data(count: 10))
    let lent = try cache.mappedValue(forKey: "a")
    try cache.close()
    try reader?.close()
    #expect(errorCode { try cache.statistics } == .closed)
    try DiskCache<String, Data>.compact(at: .path(place.path))
    #expect(filesHeld(under: place.url).allSatisfy { $0.contains(".seg") })
    #expect(try DiskCache<String, Data>.rebuild(at: .path(place.path)).isIntact)
    #expect(filesHeld(under: place.url).allSatisfy { $0.contains(".seg") })
    #expect(lent == Data(count: 100_000))
    withExtendedLifetime((cache, reader)) {}
  }

  // MARK: - Damage

  private func makeDamaged() throws {
    do {
      let cache = try place.openData()
      for number in 0..<500 {
        try cache.set(Data(repeating: UInt8(number % 251), count: 200), forKey: "key \(number)")
      }
      try cache.checkpoint()
      try cache.close()
    }
    try place.edit(data) { bytes in
      // Past the first pages, which say where the tree is.
      for offset in stride(from: 5 * 4096 + 100, to: bytes.count, by: 3 * 4096) {
        bytes[offset] ^= 0xFF
      }
    }
  }

  @Test func damageIsNeverWipedAndNeverAValue() throws {
    try makeDamaged()
    let bytes = try Data(contentsOf: data)
    var wrong = 0
    do {
      let cache = try place.openData { $0.isReadOnly = true }
      for number in 0..<500 {
        // A damaged entry throws; it must not be another value.
        if let value = try? cache.value(forKey: "key \(number)"),
          value != Data(repeating: UInt8(number % 251), count: 200)
        {
          wrong += 1
        }
      }
      #expect(try !cache.verify().isIntact)
    } catch let error as LarderError {
      #expect(error.code == .damaged)
    }
    #expect(wrong == 0)
    #expect(try Data(contentsOf: data) == bytes)
  }

  @Test func salvageBringsBackWhatIsIntact() throws {
    try makeDamaged()
    let rescued = try DiskPlace()
    let report = try DiskCache<String, Data>.salvage(
      from: .path(place.path), to: .path(rescued.path))
    #expect(report.intact > 100)
    let cache = try rescued.openData()
    #expect(try cache.count == Int(report.intact))
    for entry in try cache.entries() {
      let number = try #require(UInt(entry.key.dropFirst(4)))
      #expect(entry.value == Data(repeating: UInt8(number % 251), count: 200))
    }
    #expect(try cache.verify().isIntact)
  }

  @Test func salvageNeedsNoIndex() throws {
    do {
      let cache = try place.openData()
      for number in 0..<500 { try cache.set(Data(count: number), forKey: "\(number)") }
      try cache.checkpoint()
      for number in 0..<100 { try cache.remove(forKey: "\(number)") }
    }
    try FileManager.default.removeItem(at: data)
    #expect(errorCode { try place.openData() } == .damaged)
    let rescued = try DiskPlace()
    let report = try DiskCache<String, Data>.salvage(
      from: .path(place.path), to: .path(rescued.path))
    #expect(report.intact == 400 && report.damaged == 0)
    let cache = try rescued.openData()
    #expect(try cache.count == 400)
    #expect(try cache.value(forKey: "99") == nil)
    #expect(try cache.value(forKey: "499") == Data(count: 499))
  }

  @Test func rebuildingMakesALostIndexAnew() throws {
    do {
      let cache = try place.openData()
      for number in 0..<500 { try cache.set(Data(count: number), forKey: "\(number)") }
      try cache.checkpoint()
      for number in 0..<100 { try cache.remove(forKey: "\(number)") }
      #expect(errorCode { try DiskCache<String, Data>.rebuild(at: .path(place.path)) } == .busy)
    }
    try FileManager.default.removeItem(at: data)
    #expect(errorCode { try place.openData() } == .damaged)
    let report = try DiskCache<String, Data>.rebuild(at: .path(place.path))
    #expect(report.intact == 400 && report.damaged == 0)
    let cache = try place.openData()
    #expect(try cache.count == 400)
    #expect(try cache.value(forKey: "99") == nil)
    #expect(try cache.value(forKey: "499") == Data(count: 499))
    #expect(try cache.verify().isIntact)
  }

  /// A block of a killed process's log is zeros: nobody knows whose records they were.
  @Test func whatMayBeOlderThanWhatWasLostIsKeptIfAskedFor() throws {
    typealias Store = DiskCache<String, Data>
    let killed = try DiskPlace()
    let cache = try place.openData()
    for number in 0..<500 { try cache.set(Data(repeating: 1, count: 40), forKey: "\(number)") }
    try FileManager.default.copyItem(at: place.url, to: killed.url)
    try cache.close()
    let segment = try #require(try StoreLog(killed.url).segments.first)
    let handle = try FileHandle(forUpdating: segment)
    try handle.seek(toOffset: 24_576)
    try handle.write(contentsOf: Data(count: 512))
    try handle.close()
    let rescued = try DiskPlace()
    let certain = try Store.salvage(from: .path(killed.path), to: .path(rescued.path))
    #expect(certain.intact > 100 && certain.uncertain > 100 && !certain.isIntact)
    #expect(try rescued.openData().count == Int(certain.intact))
    let all = try DiskPlace()
    let kept = try Store.salvage(
      from: .path(killed.path), to: .path(all.path), keepsUncertain: true)
    #expect(kept.intact == certain.intact + certain.uncertain && !kept.isIntact)
    #expect(kept.uncertain == certain.uncertain && kept.intact >= 490)
    #expect(try all.openData().count == Int(kept.intact))
    let failure = error { try Store.rebuild(at: .path(killed.path)) }
    #expect(failure?.code == .damaged)
    #expect(failure?.message.contains("\(certain.uncertain) entries") == true)
    #expect(failure?.message.contains("keepsUncertain") == true)
    #expect(try Store.rebuild(at: .path(killed.path), keepsUncertain: true).intact == kept.intact)
    #expect(try killed.openData().count == Int(kept.intact))
  }

  @Test func salvageOfSomethingElseIsRefused() throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: place.url.appendingPathComponent("file"))
    let target = place.directory.file("target").path
    #expect(
      errorCode { try DiskCache<String, Data>.salvage(from: .path(place.path), to: .path(target)) }
        == .notALarderFile)
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  @Test(arguments: ["my own precious notes", "4711\n", String(repeating: "7\n", count: 40)])
  func aFileCalledLockOfSomebodyElsesIsLeftAlone(content: String) throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: false)
    let file = place.url.appendingPathComponent("lock")
    try Data(content.utf8).write(to: file)
    #expect(errorCode { try DiskCache<String, Data>(at: .path(place.path)) } == .notALarderFile)
    #expect(try Data(contentsOf: file) == Data(content.utf8))
  }

  @Test func garbageInPlaceOfTheDataIsAnErrorAndStaysThere() throws {
    do { try place.openText().fill(1...3) }
    let garbage = Data(repeating: 0x5A, count: 40_960)
    try place.edit(data) { $0 = garbage }
    let code = errorCode { try place.openText() }
    #expect(code == .damaged || code == .notALarderFile)
    #expect(try Data(contentsOf: data) == garbage)
  }
}
