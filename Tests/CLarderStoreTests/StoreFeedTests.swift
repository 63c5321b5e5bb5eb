// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// The feed of changes, through the C API. Other processes, kills and power cuts are for the
/// torture family `feed`.
@Suite("Store: feed of changes")
struct StoreFeedTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  /// An event as told, copied.
  enum Event: Equatable {
    case write(UInt64, [String])
    case gap(UInt64)
    case rewound(UInt64)
  }

  final class Feed {
    /// Open for as long as the feed.
    private let store: Store
    let pointer: OpaquePointer
    var token = larder_store_token()

    init(
      _ store: Store, _ flags: Int = 0, from token: larder_store_token? = nil, name: String = "",
      lag: UInt64 = 0
    ) throws {
      self.store = store
      var options = larder_store_feed_options()
      options.flags = UInt32(flags)
      options.max_lag_bytes = lag
      var opened: OpaquePointer?
      var from = token ?? larder_store_token()
      try withUnsafePointer(to: &from) { from in
        if token != nil { options.from = from }
        try withBytes([UInt8](name.utf8)) { name in
          options.name = name
          try check(larder_store_feed_open(store.pointer, &options, &opened))
        }
      }
      pointer = opened!
    }

    deinit { larder_store_feed_close(pointer) }

    /// nil if there is none.
    func next() throws -> Event? {
      var event = larder_store_feed_event()
      let status = larder_store_feed_next(pointer, &event)
      if status == LARDER_END { return nil }
      try check(status)
      token = event.token
      switch event.kind {
      case LARDER_STORE_FEED_GAP: return .gap(event.missing)
      case LARDER_STORE_FEED_REWOUND: return .rewound(event.sequence)
      default:
        let changes = UnsafeBufferPointer(start: event.changes, count: Int(event.count))
        return .write(event.sequence, changes.map(Self.text))
      }
    }

    func all() throws -> [Event] {
      var events: [Event] = []
      while let event = try next() { events.append(event) }
      return events
    }

    func acknowledge(_ flags: Int = 0) throws {
      try check(larder_store_feed_acknowledge(pointer, &token, UInt32(flags)))
    }

    private static func text(_ change: larder_store_change) -> String {
      switch change.kind {
      case LARDER_STORE_CHANGE_PUT: "+\(change.key.array.first ?? 0)"
      case LARDER_STORE_CHANGE_REMOVE: "-\(change.key.array.first ?? 0)"
      default: "clear"
      }
    }
  }

  private func now(_ store: Store) throws -> larder_store_token {
    var token = larder_store_token()
    try check(larder_store_token_now(store.pointer, &token))
    return token
  }

  private func reader() throws -> Store {
    try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
  }

  private func hasFile() -> Bool {
    FileManager.default.fileExists(atPath: url.appendingPathComponent("feed").path)
  }

  @Test func eachWriteIsToldOnceInOrderAndBatchesAreWhole() throws {
    let store = try Store(url)
    try store.put([1], [1])
    let reader = try reader()
    let feeds = try [Feed(store), Feed(reader)]
    try store.put([2], [2])
    try store.commit { batch in
      try put([3], [3], in: batch)
      try withBytes([1]) { try check(larder_store_batch_remove(batch, $0)) }
    }
    try check(larder_store_remove_all(store.pointer, nil, nil))
    for feed in feeds {
      #expect(
        try feed.all() == [.write(2, ["+2"]), .write(3, ["+3", "-1"]), .write(4, ["clear"])])
      #expect(try feed.next() == nil)
    }
    try store.put([4], [4])
    for feed in feeds { #expect(try feed.all() == [.write(5, ["+4"])]) }
    #expect(!hasFile())
  }

  @Test func aTokenGoesOnWhereItWasAndTheStartIsTheOldestWrite() throws {
    var store = try Store(url)
    for n in 1...4 { try store.put([UInt8(n)], [0]) }
    var feed: Feed? = try Feed(store, Int(LARDER_STORE_FEED_FROM_START))
    #expect(try feed!.next() == .write(1, ["+1"]))
    #expect(try feed!.next() == .write(2, ["+2"]))
    let token = feed!.token
    feed = nil
    #expect(withUnsafePointer(to: token) { larder_store_token_sequence($0) } == 2)
    store.close()
    store = try Store(url)
    try store.put([9], [0])
    #expect(
      try Feed(reader(), from: token).all()
        == [.write(3, ["+3"]), .write(4, ["+4"]), .write(5, ["+9"])])
  }

  @Test func whatIsNoTokenIsRefusedAndThatOfAnotherStoreIsAGap() throws {
    let store = try Store(url)
    try store.put([1], [1])
    #expect(status { _ = try Feed(store, from: larder_store_token()) } == LARDER_EINVALID)
    #expect(status { _ = try Feed(store, 1 << 9) } == LARDER_EINVALID)
    let other = try Store(directory.file("other"))
    try other.put([7], [7])
    #expect(
      try Feed(store, from: now(other)).all() == [.gap(UInt64.max), .write(1, ["+1"])])
  }

  @Test func aSnapshotAndItsTokenAreOfOneState() throws {
    let store = try Store(url)
    for n in 1...3 { try store.put([UInt8(n)], [0]) }
    for source in [store, try reader()] {
      var query = larder_store_query()
      larder_store_query_init(&query)
      var cursor: OpaquePointer?
      var token = larder_store_token()
      try check(larder_store_snapshot_open(source.pointer, &query, &token, &cursor))
      defer { larder_store_cursor_close(cursor) }
      let last = try store.put([4], [1])
      #expect(try source.values(of: cursor!).count == (source === store ? 3 : 4))
      #expect(try Feed(source, from: token).all() == [.write(last, ["+4"])])
    }
  }

  /// Small segments, of which cleaning leaves little.
  private func churn(_ store: Store, _ rounds: Int) throws {
    for n in 0..<rounds {
      try store.put([UInt8(n % 4)], [UInt8](repeating: UInt8(n % 250), count: 900))
      if n % 16 == 15 { try store.flush() }
    }
    try store.flush()
  }

  @Test func whatCleaningDeletedIsAGapOfSoManyWrites() throws {
    let store = try Store(url, tuning: small(4096, upTo: 4096))
    try store.put([1], [1])
    let token = try now(store)
    try churn(store, 200)
    let feed = try Feed(store, from: token)
    guard case .gap(let missing)? = try feed.next() else {
      Issue.record("nothing is missing")
      return
    }
    guard case .write(let first, _)? = try feed.next() else {
      Issue.record("nothing comes behind the gap")
      return
    }
    #expect(missing == first - 2)
    #expect(try feed.all().count == 201 - Int(first))
    #expect(store.isSound)
  }

  @Test(arguments: [false, true])
  func aNamedCursorKeepsTheLogBehindIt(reopens: Bool) throws {
    var store = try Store(url, tuning: small(4096, upTo: 4096))
    try store.put([1], [1])
    try check(larder_store_sync(store.pointer))
    var feed: Feed? = try Feed(store, name: "mirror")
    try churn(store, 200)
    if reopens {
      feed = nil
      store.close()
      store = try Store(url, tuning: small(4096, upTo: 4096))
      try churn(store, 20)
      feed = try Feed(reader(), name: "mirror")
    }
    let events = try feed!.all()
    #expect(events.count == (reopens ? 220 : 200))
    #expect(events.first == .write(2, ["+0"]))
    #expect(store.isSound)
    let before = try segments()
    try feed!.acknowledge()
    try store.flush()
    #expect(try segments() < before / 2)
    #expect(store.isSound)
  }

  @Test func oneThatLagsTooFarIsCutOff() throws {
    let store = try Store(url, tuning: small(4096, upTo: 4096))
    try store.put([1], [1])
    let feed = try Feed(store, name: "slow", lag: 20_000)
    try churn(store, 200)
    #expect(try segments() < 20)
    try check(larder_store_sync(store.pointer))
    let found = try feed.next()
    guard case .gap? = found else {
      Issue.record("nothing is missing, but \(String(describing: found))")
      return
    }
  }

  @Test func oneThatLagsLessThanItMayIsToldEverything() throws {
    let store = try Store(url, tuning: small(4096, upTo: 65_536))
    try store.put([1], [1])
    let feed = try Feed(store, name: "slow", lag: 30_000)
    var written: UInt64 = 0
    while written < 28_000 {
      try churn(store, 10)
      written = try store.figures.appended_bytes
    }
    try store.flush()
    try check(larder_store_sync(store.pointer))
    #expect(try feed.next() == .write(2, ["+0"]))
  }

  private func segments() throws -> Int {
    try FileManager.default.contentsOfDirectory(
      atPath: url.appendingPathComponent("log").path
    ).count
  }

  @Test func namedCursorsAreListedOwnedAndRemoved() throws {
    let store = try Store(url)
    var count = 0
    try check(larder_store_feed_cursors(store.pointer, nil, 0, &count))
    #expect(count == 0)
    for n in 1...3 { try store.put([UInt8(n)], [0]) }
    var feed: Feed? = try Feed(store, Int(LARDER_STORE_FEED_FROM_START), name: "one")
    #expect(status { _ = try Feed(reader(), name: "one") } == LARDER_EBUSY)
    try check(larder_store_sync(store.pointer))
    #expect(try feed!.next() == .write(1, ["+1"]))
    try feed!.acknowledge(Int(LARDER_STORE_SYNCED))
    #expect(try feed!.next() == .write(2, ["+2"]))
    var cursors = [larder_store_feed_cursor](repeating: .init(), count: 2)
    try check(larder_store_feed_cursors(store.pointer, &cursors, 2, &count))
    #expect(count == 1)
    #expect(cursors[0].sequence == 1 && cursors[0].lag_count == 2 && cursors[0].is_open)
    #expect(withBytes([UInt8]("one".utf8)) { remove($0, of: store) } == LARDER_EBUSY)
    feed = nil
    feed = try Feed(reader(), name: "one")
    #expect(try feed!.next() == .write(2, ["+2"]))
    feed = nil
    #expect(withBytes([UInt8]("one".utf8)) { remove($0, of: store) } == LARDER_OK)
    #expect(withBytes([UInt8]("one".utf8)) { remove($0, of: store) } == LARDER_ENOTFOUND)
    for n in 0..<Int(LARDER_STORE_FEED_CURSORS_MAX) { _ = try Feed(store, name: "c\(n)") }
    #expect(status { _ = try Feed(store, name: "more") } == LARDER_ENOSLOT)
  }

  private func remove(_ name: larder_bytes, of store: Store) -> larder_status {
    larder_store_feed_cursor_remove(store.pointer, name)
  }

  @Test func whoHasAStoreOpenThatWasReplacedLeavesTheOtherOnesCursorsAlone() throws {
    var store = try Store(url)
    try store.put([1], [1])
    try check(larder_store_sync(store.pointer))
    let stale = try reader()
    let gone = try Feed(stale, Int(LARDER_STORE_FEED_FROM_START), name: "gone")
    #expect(try gone.next() == .write(1, ["+1"]))
    let old = try Feed(stale)
    store.close()
    for name in ["data.mdb", "lock.mdb", "log"] {
      try FileManager.default.removeItem(at: url.appendingPathComponent(name))
    }
    store = try Store(url)
    for n in 2...5 { try store.put([UInt8(n)], [0]) }
    try check(larder_store_sync(store.pointer))
    let feed = try Feed(store, Int(LARDER_STORE_FEED_FROM_START), name: "kept")
    #expect(try feed.next() == .write(1, ["+2"]))
    try feed.acknowledge()
    #expect(status { try gone.acknowledge() } == LARDER_EREPLACED)
    #expect(status { _ = try Feed(stale, name: "more") } == LARDER_EREPLACED)
    // It waits for nothing of the other one's.
    #expect(larder_store_feed_wait(old.pointer, 0) == LARDER_EREPLACED)
    var cursors = [larder_store_feed_cursor](repeating: .init(), count: 2)
    var count = 0
    try check(larder_store_feed_cursors(store.pointer, &cursors, 2, &count))
    #expect(count == 2)
    #expect(cursors[1].sequence == 1 && cursors[1].lag_count == 3)
    #expect(cursors[0].sequence == 0 && cursors[0].is_open)
  }

  @Test func whatIsNotSyncedIsNotTold() throws {
    let store = try Store(url)
    try store.put([1], [1])
    let flags = Int(LARDER_STORE_FEED_SYNCED)
    let feeds = [try Feed(store, flags), try Feed(try reader(), flags)]
    try store.put([2], [2])
    for feed in feeds { #expect(try feed.next() == nil) }
    try check(larder_store_sync(store.pointer))
    for feed in feeds { #expect(try feed.all() == [.write(2, ["+2"])]) }
  }

  @Test func aRebuiltStoreGoesOnInAnotherEpoch() throws {
    let store = try Store(url)
    for n in 1...3 { try store.put([UInt8(n)], [0]) }
    let token = try now(store)
    store.close()
    var report = larder_store_report()
    try check(larder_store_rebuild(url.path, nil, nil, nil, &report))
    let again = try Store(url)
    let last = try again.put([9], [0])
    #expect(try Feed(again, from: token).all() == [.write(last, ["+9"])])
    #expect(try Feed(reader(), from: token).all() == [.write(last, ["+9"])])
    let head = try Data(contentsOf: url.appendingPathComponent("log/00000002.seg")).prefix(64)
    #expect(Array(head.suffix(8)) == [1, 0, 0, 0, 0, 0, 0, 0])
  }

  /// A head of zeros looks as if nothing had been written there yet.
  @Test(arguments: [512, 4096]) func aSegmentThatBeginsWithZerosIsAGap(length: Int) throws {
    let tuning = tuned { ($0.segment_min_bytes, $0.segment_max_bytes) = (8192, 8192) }
    var store = try Store(url, tuning: tuning)
    for n in 1...200 { try store.put([UInt8(n)], [UInt8](repeating: 7, count: 200)) }
    try store.flush()
    store.close()
    let segments = try StoreLog(url).segments
    try #require(segments.count > 3)
    for segment in segments.dropFirst().dropLast() {
      let whole = try Data(contentsOf: segment)
      try (Data(count: length) + whole.dropFirst(length)).write(to: segment)
      store = try Store(url, tuning: tuning)
      for feed in try [store, reader()].map({ try Feed($0, Int(LARDER_STORE_FEED_FROM_START)) }) {
        var told: UInt64 = 0
        var gaps: UInt64 = 0
        for event in try feed.all() {
          switch event {
          case .gap(let missing): (told, gaps) = (told + missing, gaps + 1)
          case .write(let number, _):
            told += 1
            #expect(number == told)
          case .rewound: Issue.record("it was rewound")
          }
        }
        #expect(told == 200 && gaps == 1, "\(segment.lastPathComponent)")
      }
      store.close()
      try whole.write(to: segment)
    }
  }

  /// Zeros in the segment that the log goes on in look like its end.
  @Test(arguments: [false, true]) func zerosInTheNewestSegmentAreAGap(areItsHead: Bool) throws {
    let tuning = tuned { ($0.segment_min_bytes, $0.segment_max_bytes) = (32768, 32768) }
    var store = try Store(url, tuning: tuning)
    try store.put([1], [UInt8](repeating: 1, count: areItsHead ? 32000 : 100))
    try store.put([2], [UInt8](repeating: 2, count: 5000))
    try store.flush()
    let end = try now(store)
    store.close()
    let segments = try StoreLog(url).segments
    let segment = try #require(segments.last)
    try #require(segments.count == (areItsHead ? 2 : 1))
    var bytes = try Data(contentsOf: segment)
    let value = try #require(bytes.firstRange(of: Data(repeating: 2, count: 100)))
    let zeros = areItsHead ? 0..<512 : value.lowerBound - 40..<value.lowerBound
    bytes.replaceSubrange(zeros, with: Data(count: zeros.count))
    try bytes.write(to: segment)
    store = try Store(url, tuning: tuning)
    for feed in try [Feed(store, from: end), Feed(reader(), from: end)] {
      #expect(try feed.all() == [])
    }
    // The store knows that there was more.
    for store in try [store, reader()] {
      let whole = try Feed(store, Int(LARDER_STORE_FEED_FROM_START)).all()
      #expect(whole == [.write(1, ["+1"]), .gap(1)])
    }
    try store.put([3], [3])
    for store in try [store, reader()] {
      #expect(try Feed(store, from: end).all() == [.write(3, ["+3"])])
      let whole = try Feed(store, Int(LARDER_STORE_FEED_FROM_START)).all()
      #expect(whole == [.write(1, ["+1"]), .gap(1), .write(3, ["+3"])])
    }
    // And when the log has left the segment.
    for n in 4...6 { try store.put([UInt8(n)], [UInt8](repeating: 4, count: 20_000)) }
    let rest = (3...6).map { Event.write(UInt64($0), ["+\($0)"]) }
    #expect(try Feed(reader(), from: end).all() == rest)
  }

  @Test(arguments: [false, true])
  func aWaitEndsWhenTheStoreIsShutDown(waitsForSyncs: Bool) async throws {
    let store = try Store(url)
    try store.put([1], [1])
    let reader = try reader()
    let feed = try Feed(reader, waitsForSyncs ? Int(LARDER_STORE_FEED_SYNCED) : 0)
    nonisolated(unsafe) let pointer = feed.pointer
    let waiting = Thread { #expect(larder_store_feed_wait(pointer, -1) == LARDER_ECLOSED) }
    waiting.start()
    try check(larder_store_shutdown(reader.pointer))
    await until { waiting.isFinished }
  }

  @Test func aWaitEndsWithAWriteALimitOrAnInterrupt() async throws {
    let store = try Store(url)
    try store.put([1], [1])
    let feed = try Feed(reader())
    #expect(larder_store_feed_wait(feed.pointer, 0) == ETIMEDOUT)
    larder_store_feed_interrupt(feed.pointer)
    #expect(larder_store_feed_wait(feed.pointer, -1) == ECANCELED)
    try store.flush()  // Now it knows of the file.
    nonisolated(unsafe) let pointer = feed.pointer
    let waiting = Thread { #expect(larder_store_feed_wait(pointer, -1) == LARDER_OK) }
    waiting.start()
    try store.put([2], [2])
    await until { waiting.isFinished }
    #expect(try feed.all() == [.write(2, ["+2"])])
    #expect(hasFile())
  }
}
