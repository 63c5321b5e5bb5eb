// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Values that lie in the log alone, and those that are lent rather than copied. After
/// RECache's largeValueGoesToFile; KVStorage's saveAndGetFile, mixedMode, veryLargeData,
/// removeFileItems, updateFileToSQLiteInMixed, fileDisappearedFallback,
/// getMultipleItemsFileMissingPrunes, extendedDataWithFile, removeAllItemsWithProgress.
struct DiskCacheLargeValueTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  private func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
    var generator = SeededGenerator(seed: seed)
    return generator.bytes(count)
  }

  /// Where the data's bytes lie in memory.
  private func address(_ data: Data) -> UInt? {
    data.withUnsafeBytes { $0.baseAddress.map { UInt(bitPattern: $0) } }
  }

  /// A cache in which every value of some ten KiB has a segment of its own.
  private func openWithSmallSegments() throws -> DiskCache<String, Data> {
    try place.openData {
      var tuning = StoreTuning()
      tuning.segmentSizes = 1024...1024
      $0.tuning = tuning
    }
  }

  @Test(arguments: [
    (0, 0), (0, 1), (1, 1), (1, 2), (64, 63), (64, 64), (64, 65), (1024, 1024), (1024, 1025),
    (-1, 1), (Int.max, 1025), (64, 20 << 10), (64, (20 << 10) + 1), (Int.max, 300_000),
  ])
  func aValueComesBackOnEitherSideOfEveryThreshold(threshold: Int, size: Int) throws {
    let cache = try place.openData { $0.inlineThreshold = threshold }
    let value = bytes(size)
    try cache.set(value, forKey: "a")
    #expect(try cache.info(forKey: "a")?.size == size)
    for _ in 0..<2 {
      #expect(try cache.value(forKey: "a") == value)
      #expect(try cache.mappedValue(forKey: "a") == value)
      #expect(try cache.withValueBytes(forKey: "a") { Data($0) } == value)
      #expect(try cache.entries().first?.value == value)
      try cache.checkpoint()
    }
    try cache.close()
    let again = try place.openData { $0.inlineThreshold = threshold }
    #expect(try again.value(forKey: "a") == value)
    #expect(try again.size.bytes == size)
    #expect(try again.verify().isIntact)
  }

  @Test func aValueOf20MiBComesBack() throws {
    let value = bytes(20 << 20)
    do {
      let cache = try place.openData()
      try cache.set(value, forKey: "a", extendedData: Data("x".utf8))
      #expect(try cache.value(forKey: "a") == value)
    }
    let cache = try place.openData()
    let found = try cache.valueWithExtendedData(forKey: "a")
    #expect(found?.value == value)
    #expect(found?.extendedData == Data("x".utf8))
    #expect(try cache.size == 20.megabytes)
  }

  @Test func aLargeValueThatIsEncodedComesBack() throws {
    let cache = try place.open(String.self, coder: Coder<DiskPage>.cbor)
    var page = DiskPage.sample
    page.body = bytes(100_000)
    try cache.set(page, forKey: "a")
    try cache.checkpoint()
    #expect(try cache.value(forKey: "a") == page)
  }

  @Test func aLargeValueIsLentAndNotCopied() throws {
    let cache = try place.openData()
    try cache.set(bytes(100_000), forKey: "large")
    try cache.set(bytes(1000, seed: 2), forKey: "small")
    for _ in 0..<2 {
      let lent = try cache.withValueBytes(forKey: "large") { UInt(bitPattern: $0.baseAddress) }
      #expect(try cache.value(forKey: "large").flatMap(address) == lent)
      #expect(try cache.mappedValue(forKey: "large").flatMap(address) == lent)
      let small = try cache.withValueBytes(forKey: "small") { UInt(bitPattern: $0.baseAddress) }
      #expect(try cache.value(forKey: "small").flatMap(address) != small)
      try cache.checkpoint()
    }
  }

  @Test func aMappedValueOutlivesEntryAndCache() throws {
    let value = bytes(100_000)
    var mapped: Data?
    var read: Data?
    do {
      let cache = try place.openData()
      try cache.set(value, forKey: "a")
      try cache.checkpoint()
      mapped = try cache.mappedValue(forKey: "a")
      read = try cache.value(forKey: "a")
      try cache.set(bytes(100_000, seed: 2), forKey: "a")
      try cache.checkpoint()
      #expect(mapped == value)
      try cache.removeAll { _, _ in true }
      #expect(read == value)
      try cache.close()
    }
    try FileManager.default.removeItem(at: place.url)
    #expect(mapped == value)
    #expect(read == value)
  }

  @Test func replacedAndRemovedValuesGiveTheirRoomBack() throws {
    let cache = try openWithSmallSegments()
    for round in 0..<10 {
      for number in 0..<10 {
        try cache.set(bytes(20_000, seed: UInt64(round * 10 + number)), forKey: "\(number)")
      }
      try cache.checkpoint()
    }
    for number in 1..<10 { try cache.remove(forKey: "\(number)") }
    for _ in 0..<3 { try cache.checkpoint() }
    #expect(try cache.value(forKey: "0") == bytes(20_000, seed: 90))
    #expect(try cache.statistics.liveSize < 25_000)
    #expect(try place.log.size < 100_000)
    #expect(try cache.verify().isIntact)
  }

  /// Kept by a caller, or by the memory over a disk: what is kept of a segment that is gone
  /// is a copy, and the disk has its room back.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/maps")))
  func valuesThatAreKeptHoldNoSegmentsThatAreGone() throws {
    var configuration = CacheConfiguration<Int, Data>()
    configuration.disk.sizeLimit = 20_000_000
    configuration.memory.costLimit = 6_000_000
    configuration.memory.cost = { _, data in data.count }
    let cache = try Cache<Int, Data>(at: .path(place.path), configuration: configuration)
    let disk = try #require(cache.diskCache)
    var kept: [(Int, Data)] = []
    for key in 0..<2000 {
      try cache.set(bytes(60_000, seed: UInt64(key)), forKey: key)
      // From the disk: promoted to memory, or kept here.
      if key.isMultiple(of: 7), let value = try cache.value(forKey: key - key % 140) {
        #expect(value == bytes(60_000, seed: UInt64(key - key % 140)))
      }
      if key.isMultiple(of: 20), let value = try disk.value(forKey: key) {
        kept.append((key, value))
      }
    }
    try disk.checkpoint()
    #expect(kept.count == 100)
    #expect(filesHeld(under: place.url).filter { $0.hasSuffix("(deleted)") } == [])
    #expect(try place.log.blocks <= 30_000_000)
    for (key, value) in kept { #expect(value == bytes(60_000, seed: UInt64(key))) }
    try cache.close()
  }

  @Test func aShortValueCanBecomeALongOne() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(bytes(5), forKey: "a")
    try cache.checkpoint()
    try cache.set(bytes(100_000), forKey: "a")
    #expect(try cache.value(forKey: "a") == bytes(100_000))
    try cache.checkpoint()
    #expect(try cache.value(forKey: "a") == bytes(100_000))
    #expect(try cache.size == 100_000)
    try cache.set(bytes(6), forKey: "a")
    try cache.checkpoint()
    #expect(try cache.value(forKey: "a") == bytes(6))
    #expect(try cache.size == 6)
  }

  @Test func noFileIsNamedByAKey() throws {
    let cache = try place.openData { $0.inlineThreshold = 0 }
    let keys = ["../../escaped", "a", "A", "a/b", "a\0b", String(repeating: "x", count: 1000)]
    for key in keys { try cache.set(Data(key.utf8), forKey: key) }
    try cache.checkpoint()
    let names = try place.log.segments.map { $0.deletingPathExtension().lastPathComponent }
    #expect(names.allSatisfy { $0.count == 8 && $0.allSatisfy(\.isHexDigit) })
    #expect(try place.directory.names == ["cache"])
    for key in keys { #expect(try cache.value(forKey: key) == Data(key.utf8)) }
  }

  // MARK: - Damage

  @Test(arguments: [nil, 0, 10, 64, 500])
  func aSegmentThatIsGoneOrCutCostsItsEntriesAndNoOthers(left: Int?) throws {
    do {
      let cache = try openWithSmallSegments()
      try cache.set(bytes(30_000), forKey: "a")
      try cache.set(bytes(30_000, seed: 2), forKey: "b")
    }
    let segment = try #require(try place.log.segments(with: bytes(30_000)).first)
    #expect(try place.log.segments(with: bytes(30_000, seed: 2)) != [segment])
    if let left {
      try place.edit(segment) { $0 = $0.prefix(left) }
    } else {
      try FileManager.default.removeItem(at: segment)
    }
    let cache = try openWithSmallSegments()
    #expect(errorCode { try cache.value(forKey: "a") } == .damaged)
    #expect(errorCode { try cache.mappedValue(forKey: "a") } == .damaged)
    #expect(try cache.value(forKey: "b") == bytes(30_000, seed: 2))
    #expect(errorCode { try cache.entries() } == .damaged)
    #expect(try cache.statistics.damaged > 0)
    #expect(try !cache.verify().isIntact)
    try cache.set(bytes(7), forKey: "a")
    #expect(try cache.value(forKey: "a") == bytes(7))
    try cache.remove(forKey: "a")
    #expect(try cache.value(forKey: "a") == nil)
    #expect(try cache.count == 1)
    try cache.checkpoint()
    #expect(try cache.value(forKey: "b") == bytes(30_000, seed: 2))
    #expect(try cache.verify().isIntact)
  }

  @Test(arguments: [0, 1, 500, 998, 999])
  func aRecordWithAnotherByteIsNeverAValue(offset: Int) throws {
    let cache = try place.openData()
    try cache.set(bytes(1000), forKey: "a")
    try cache.set(bytes(1000, seed: 2), forKey: "b")
    for _ in 0..<2 {
      #expect(try place.log.flip(bytes(1000), at: offset, mask: 0x40) == 1)
      #expect(errorCode { try cache.value(forKey: "a") } == .damaged)
      #expect(errorCode { try cache.mappedValue(forKey: "a") } == .damaged)
      #expect(try cache.value(forKey: "b") == bytes(1000, seed: 2))
      #expect(errorCode { try cache.entries() } == .damaged)
      #expect(try cache.statistics.damaged > 0)
      // As it was.
      let whole = bytes(1000)
      var flipped = whole
      flipped[offset] ^= 0x40
      #expect(try place.log.flip(flipped, at: offset, mask: 0x40) == 1)
      #expect(try cache.value(forKey: "a") == whole)
      try cache.checkpoint()
    }
  }

  @Test func whateverIsDoneTheLogHoldsWhatTheEntriesNeed() throws {
    var generator = SeededGenerator(seed: 11)
    var model: [String: Data] = [:]
    for _ in 0..<4 {
      let cache = try openWithSmallSegments()
      for _ in 0..<200 {
        let key = "\(Int.random(in: 0..<20, using: &generator))"
        switch Int.random(in: 0..<10, using: &generator) {
        case 0:
          try cache.remove(forKey: key)
          model[key] = nil
        case 1: try cache.checkpoint()
        default:
          let value = generator.bytes(Int.random(in: 0..<3000, using: &generator))
          try cache.set(value, forKey: key)
          model[key] = value
        }
      }
      for (key, value) in model {
        #expect(try cache.value(forKey: key) == value, "seed \(generator.seed)")
      }
      #expect(try cache.count == model.count, "seed \(generator.seed)")
      let report = try cache.verify()
      #expect(report.isIntact, "seed \(generator.seed), \(report)")
    }
  }

  @Test func removingAllTellsOfTheSegments() throws {
    let cache = try openWithSmallSegments()
    for number in 0..<40 { try cache.set(bytes(20_000), forKey: "\(number)") }
    try cache.checkpoint()
    var calls: [(done: UInt64, total: UInt64)] = []
    try cache.removeAll { done, total in
      calls.append((done, total))
      return true
    }
    #expect(calls.last?.done == calls.last?.total)
    #expect(try #require(calls.last).total >= 39)
    #expect(zip(calls, calls.dropFirst()).allSatisfy { $0.done <= $1.done })
    #expect(try cache.isEmpty)
    #expect(try place.log.segments.count <= 2)
  }

  @Test func removingAllCanBeLeftToTheBackground() throws {
    let cache = try openWithSmallSegments()
    for number in 0..<40 { try cache.set(bytes(20_000), forKey: "\(number)") }
    try cache.checkpoint()
    #expect(throws: CancellationError.self) { try cache.removeAll { _, _ in false } }
    #expect(try cache.isEmpty)
    try cache.checkpoint()
    #expect(try place.log.segments.count <= 2)
    try cache.close()
    #expect(try place.openData().isEmpty)
  }
}
