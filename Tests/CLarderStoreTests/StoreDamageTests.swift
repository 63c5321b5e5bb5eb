// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// What damage in the log costs, and what an exchanged file is told by.
@Suite("Store: damage")
struct StoreDamageTests {
  let directory: TemporaryDirectory
  let url: URL
  let copy: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
    copy = directory.file("copy")
  }

  /// Makes the copy look as if the machine had been started anew since it was used.
  private func startTheMachineAnew() throws {
    let file = copy.appendingPathComponent("lock")
    let text = try String(contentsOf: file, encoding: .utf8)
    let pid = text.prefix { $0 != " " }
    let other = pid + " " + String(repeating: "0", count: 32)
    try Data((other + String(repeating: "\n", count: text.count - other.count)).utf8).write(
      to: file)
  }

  @Test(arguments: [0, 1, 2], [false, true])
  func aDamagedRecordBehindTheCheckpointCostsItselfAndAfterAPowerCutWhatFollows(
    intact: Int, isPowerCut: Bool
  ) throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    for number in 0..<intact { try store.put([2, UInt8(number)], [2]) }
    try store.put([3], "to be damaged".bytes)
    try store.put([4], "behind it".bytes)
    try FileManager.default.copyItem(at: url, to: copy)
    #expect(try StoreLog(copy).flip(Data("to be damaged".utf8)) == 1)
    if isPowerCut { try startTheMachineAnew() }
    let opened = try Store(copy)
    #expect(try opened.get([1])?.value == [1])
    #expect(try opened.get([3]) == nil)
    #expect(try opened.get([4])?.value == (isPowerCut ? nil : "behind it".bytes))
    #expect(try opened.totals.count == UInt64(intact + (isPowerCut ? 1 : 2)))
    var report = larder_store_report()
    try check(larder_store_recovery(opened.pointer, &report))
    #expect(report.journal_lost == (isPowerCut ? 2 : 1))
    #expect(report.journal_intact == UInt64(intact + (isPowerCut ? 0 : 1)))
    try opened.put([3], [3])
    try expectSound(opened, isPowerCut: isPowerCut)
    opened.close()
    let again = try Store(copy)
    #expect(try again.get([3])?.value == [3])
    try expectSound(again, isPowerCut: isPowerCut)
  }

  /// What a power cut took was wiped. What was damaged otherwise stays in its segment, and is told
  /// of, but no entry is missing because of it.
  private func expectSound(_ store: Store, isPowerCut: Bool) throws {
    var report = larder_store_report()
    let status = larder_store_check(store.pointer, nil, nil, &report)
    #expect(status == (isPowerCut ? LARDER_OK : LARDER_EDAMAGED))
    #expect(report.inconsistencies == (isPowerCut ? 0 : 1))
    #expect(try report.damaged == 0 && report.intact == store.totals.count)
  }

  /// Where no checkpoint knows of the log, the lock's file does, whoever opens the store next.
  @Test(arguments: [true, false]) func aSyncedLogThatIsGoneIsMissed(hasCheckpoint: Bool) throws {
    let store = try Store(url)
    if hasCheckpoint {
      try store.put([1], [1])
      try store.flush()
    }
    try store.put([2], [2])
    for isSynced in [false, true] {
      if isSynced { try check(larder_store_sync(store.pointer)) }
      try? FileManager.default.removeItem(at: copy)
      try FileManager.default.copyItem(at: url, to: copy)
      // What was written since goes, with the segment or out of it.
      let segment = try #require(try StoreLog(copy).segments.first)
      if hasCheckpoint {
        var bytes = try Data(contentsOf: segment)
        bytes.replaceSubrange(64 + 40..<bytes.count, with: Data(count: bytes.count - 104))
        try bytes.write(to: segment)
      } else {
        try FileManager.default.removeItem(at: segment)
      }
      let reader = try Store(copy) { $0.flags |= UInt32(LARDER_STORE_READ_ONLY) }
      var report = larder_store_report()
      let status = larder_store_check(reader.pointer, nil, nil, &report)
      #expect(status == (isSynced ? LARDER_EDAMAGED : LARDER_OK))
      #expect(report.journal_lost == (isSynced ? 1 : 0))
      reader.close()
      let writer = try Store(copy)
      try check(larder_store_recovery(writer.pointer, &report))
      #expect(report.journal_lost == (isSynced ? 1 : 0))
    }
  }

  /// The log is the data: an index that is behind catches up with it.
  @Test func anOlderTreeBesideANewerLogCatchesUp() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    try FileManager.default.copyItem(at: url, to: copy)
    try store.put([2], [2])
    try store.remove([1])
    try store.flush()
    store.close()
    let data = url.appendingPathComponent("data.mdb")
    try FileManager.default.removeItem(at: data)
    try FileManager.default.copyItem(at: copy.appendingPathComponent("data.mdb"), to: data)
    let again = try Store(url)
    #expect(try again.keys() == [[2]] && again.totals == (1, 1))
    #expect(again.isSound)
  }

  @Test func aLogWithoutItsTreeIsRefusedAndSalvaged() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.put([2], [2])
    try store.remove([2])
    store.close()
    try FileManager.default.removeItem(at: url.appendingPathComponent("data.mdb"))
    var detail = larder_store_detail()
    #expect(status { try Store(url, detail: &detail) } == Int(LARDER_EDAMAGED))
    #expect(detail.part == LARDER_STORE_PART_DATA)
    let report = try salvage(url, to: copy)
    #expect(report.intact == 1 && report.damaged == 0)
    let salvaged = try Store(copy)
    #expect(try salvaged.keys() == [[1]] && salvaged.isSound)
  }

  /// A row that is damaged leaves word for the next opening to rebuild the index. A missing segment
  /// is damage as long as rows lead there: with a new index its entries would just not be there.
  @Test(arguments: [false, true])
  func anIndexIsRebuiltUnaskedIfTheLogIsWhole(isSegmentMissing: Bool) throws {
    let smallSegments = tuned { ($0.segment_min_bytes, $0.segment_max_bytes) = (4096, 4096) }
    let store = try Store(url, tuning: smallSegments)
    for key in 0..<200 { try store.put([UInt8(key)], Self.value(key, 0)) }
    try store.put([200], "to be replaced".bytes)
    try store.flush()
    store.close()
    try FileManager.default.copyItem(at: url, to: copy)
    let segments = try StoreLog(copy).segments
    #expect(segments.count > 2)
    if isSegmentMissing { try FileManager.default.removeItem(at: segments[0]) }
    // The number of the write, 24 bytes of row, 36 of head and one of key before the value.
    let data = copy.appendingPathComponent("data.mdb")
    #expect(try StoreLog.flip(Data("to be replaced".utf8), at: -61 + 6, in: data) > 0)
    let lost = try Store(copy, tuning: smallSegments)
    let missing = (0..<200).filter { key in
      status { try lost.get([UInt8(key)]) } == Int(LARDER_EDAMAGED)
    }
    #expect(missing.isEmpty != isSegmentMissing)
    try lost.put([200], "replaced".bytes)
    try lost.flush()
    lost.close()
    let word = copy.appendingPathComponent("damaged")
    #expect(FileManager.default.fileExists(atPath: word.path))
    for _ in 0..<2 {
      let again = try Store(copy, tuning: smallSegments)
      #expect(!FileManager.default.fileExists(atPath: word.path))
      #expect(try again.get([200])?.value == "replaced".bytes)
      for key in 0..<200 {
        let code = status { try #require(try again.get([UInt8(key)])) }
        #expect(code == Int(missing.contains(key) ? LARDER_EDAMAGED : LARDER_OK), "\(key)")
      }
      #expect(again.isSound != isSegmentMissing)
      try again.flush()
      again.close()
    }
  }

  /// A process that is killed leaves no segment without its head.
  @Test func aSegmentThatLostItsHeadAndItsOnlyWriteIsALoss() throws {
    let small = tuned { ($0.segment_min_bytes, $0.segment_max_bytes) = (4096, 65536) }
    let store = try Store(url, tuning: small)
    try store.put([1], [1])
    try store.flush()
    try store.put([1], [UInt8](repeating: 2, count: 9000))
    try FileManager.default.copyItem(at: url, to: copy)
    let segment = try #require(StoreLog(copy).segments.last)
    var bytes = try Data(contentsOf: segment)
    bytes.replaceSubrange(0..<512, with: Data(count: 512))
    try bytes.write(to: segment)
    let opened = try Store(copy, tuning: small)
    var report = larder_store_report()
    try check(larder_store_recovery(opened.pointer, &report))
    #expect(report.journal_lost == 1 && report.journal_intact == 0)
    #expect(try opened.get([1])?.value == [1])
    try opened.put([2], [2])
    opened.close()
    let again = try Store(copy, tuning: small)
    try check(larder_store_recovery(again.pointer, &report))
    #expect(try report.journal_lost == 0 && again.get([2])?.value == [2])
  }

  /// What is written beside a missing segment has nothing of it, whatever it leaves: also a segment
  /// that no write had room in, and those of which nothing is in use any more.
  @Test(arguments: [false, true])
  func aStoreWithAMissingSegmentOpensAgainAfterWrites(isFollowed: Bool) throws {
    let small = tuned { ($0.segment_min_bytes, $0.segment_max_bytes) = (4096, 4096) }
    var store = try Store(url, tuning: small)
    var feed: OpaquePointer?
    if isFollowed {
      // It keeps what was replaced.
      var options = larder_store_feed_options()
      try withBytes("cursor".bytes) { name in
        options.name = name
        try check(larder_store_feed_open(store.pointer, &options, &feed))
      }
    }
    for round in 0..<3 {
      for key in 0..<100 { try store.put([UInt8(key)], Self.value(key, round)) }
      try store.flush()
    }
    larder_store_feed_close(feed)
    store.close()
    try FileManager.default.removeItem(at: #require(StoreLog(url).segments.last))
    var damaged: [Int] = []
    for round in 0..<4 {
      store = try Store(url, tuning: small)
      let found = (0..<100).filter { key in
        status { try #require(try store.get([UInt8(key)])) } == Int(LARDER_EDAMAGED)
      }
      #expect(round == 0 ? !found.isEmpty && found.count < 50 : found == damaged)
      damaged = found
      if round > 1 { try store.put([200], [UInt8](repeating: UInt8(round), count: 9000)) }
      for _ in 0..<20 { try store.put([201], [UInt8](repeating: UInt8(round), count: 500)) }
      try store.flush()
      store.close()
    }
  }

  /// Its rows lead to what was cleaned away since, which is no damage: the log decides alone.
  @Test func anOlderIndexKeepsNothingFromComingBack() throws {
    let small = tuned { ($0.segment_min_bytes, $0.segment_max_bytes) = (4096, 8192) }
    var store = try Store(url, tuning: small) { $0.content_format = 7 }
    var last: [UInt8: Int] = [:]
    var older = Data()
    let data = url.appendingPathComponent("data.mdb")
    for round in 0..<600 {
      // Some stay for long: what is cleaned keeps them.
      let key = UInt8(round * 7 % 40 + (round % 20 == 3 && round < 200 ? 100 : 0))
      if round % 9 == 0 {
        try store.remove([key])
        last[key] = nil
      } else {
        try store.put([key], Self.value(Int(key), round))
        last[key] = round
      }
      if round % 50 == 49 { try store.flush() }
      if round == 199 { older = try Data(contentsOf: data) }
    }
    store.close()
    try older.write(to: data)
    let report = try salvage(url, to: copy)
    #expect(report.damaged == 0 && report.uncertain == 0 && report.journal_lost == 0)
    var rebuilt = larder_store_report()
    try check(larder_store_rebuild(url.path, nil, nil, nil, &rebuilt))
    #expect(rebuilt.intact == report.intact && rebuilt.uncertain == 0)
    for folder in [url, copy] {
      // The kind of what it holds is known still.
      store = try Store(folder, tuning: small) { $0.content_format = 7 }
      #expect(try store.totals.count == UInt64(last.count))
      for key in UInt8(0)..<140 {
        let value = last[key].map { Self.value(Int(key), $0) }
        #expect(try store.get([key])?.value == value, "\(key)")
      }
      store.close()
    }
  }

  @Test func aTreeWithoutItsHeadsIsDamagedAndNotForeign() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    store.close()
    let file = url.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    data.resetBytes(in: 0..<8192)
    try data.write(to: file)
    #expect(status { try Store(url) } == Int(LARDER_EDAMAGED))
    try salvage(url, to: copy)
    #expect(try Store(copy).get([1])?.value == [1])
  }

  /// A damaged record, or its row, says that it is newer than anything.
  @Test(arguments: [false, true])
  func aDamagedNumberDoesNotOutdateWhatIsWholeBehindIt(isInTree: Bool) throws {
    let store = try Store(url)
    try store.put([1], "first".bytes)
    try store.flush()
    try store.put([1], "second".bytes)
    try FileManager.default.copyItem(at: url, to: copy)
    // 36 bytes of head, of which 8 come before the number, and one of a key.
    let place = -37 + 8 + 7
    if !isInTree {
      #expect(try StoreLog(copy).flip(Data("first".utf8), at: place) == 1)
    } else {
      let data = copy.appendingPathComponent("data.mdb")
      let row = -37 - 24 + 7
      #expect(try StoreLog.flip(Data("first".utf8), at: place, in: data) > 0)
      #expect(try StoreLog.flip(Data("first".utf8), at: row, in: data) > 0)
    }
    let salvaged = directory.file("salvaged")
    try salvage(copy, to: salvaged)
    #expect(try Store(salvaged).get([1])?.value == "second".bytes)
  }

  /// The older head is sound, and calls pages free that the newest transaction wrote to: nothing in
  /// its place tells that there was one, only a page elsewhere. The log has all the same.
  @Test(arguments: [0, 1])
  func salvageDoesNotTakeAnOlderHeadForTheNewest(head: Int) throws {
    let store = try Store(url)
    for round in 0..<9 {
      for key in 0..<200 { try store.put([UInt8(key)], Self.value(key, round)) }
      try store.flush()
    }
    try store.remove([7])
    store.close()
    let file = url.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    var newest = (page: 0, transaction: UInt64(0))
    for page in 2..<data.count / 4096 {
      let bytes = data[page * 4096..<(page + 1) * 4096]
      guard let meta = bytes.range(of: Data("LARDERST".utf8))?.lowerBound else { continue }
      let transaction = bytes[meta + 16..<meta + 24]
      let number = transaction.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      if number > newest.transaction { newest = (page, number) }
    }
    let moved = data[newest.page * 4096..<(newest.page + 1) * 4096]
    let other = data[head * 4096..<(head + 1) * 4096]
    data.replaceSubrange(newest.page * 4096..<(newest.page + 1) * 4096, with: other)
    data.replaceSubrange(head * 4096..<(head + 1) * 4096, with: moved)
    try data.write(to: file)

    try salvage(url, to: copy)
    let salvaged = try Store(copy)
    #expect(try salvaged.totals.count == 199)
    for key in 0..<200 {
      let wanted = key == 7 ? nil : Self.value(key, 8)
      #expect(try salvaged.get([UInt8(key)])?.value == wanted, "key \(key)")
    }
  }

  private static func value(_ key: Int, _ round: Int) -> [UInt8] {
    Array("value of \(key) in round \(round), which is a little longer than some others".utf8)
  }
}
