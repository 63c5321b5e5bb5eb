// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Counting, beside cursors and a simple model.
@Suite("Store: counting")
struct StoreCountTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  private func reader(clock: StoreClock? = nil) throws -> Store {
    try Store(url, clock: clock) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
  }

  // MARK: - Damage

  /// Where rows of deadlines are zeros, what has expired would count.
  @Test func aCountBesideZerosIsRightOrDamaged() throws {
    let clock = StoreClock(1_800_000_000_000_000_000)
    let data = url.appendingPathComponent("data.mdb")
    do {
      let store = try Store(url, clock: clock) {
        $0.flags = UInt32(LARDER_STORE_HOST_MAINTENANCE)
      }
      for number in 0..<300 {
        let key: [UInt8] = [UInt8(number / 256), UInt8(number % 256)]
        try store.put(key, [UInt8](repeating: 1, count: 100)) { item in
          if number % 3 > 0 { return }
          item.flags |= UInt32(LARDER_STORE_OWN_TIMES)
          item.expires_ns = clock.now + (number % 2 == 0 ? 1_000_000_000_000 : 1_000_000_000)
        }
      }
      try store.flush()
      store.close()
    }
    clock.now += 2_000_000_000
    let whole = try Data(contentsOf: data)
    var rightCount = 0
    for sector in stride(from: 0, to: whole.count, by: 512) {
      var hurt = whole
      hurt.resetBytes(in: sector..<sector + 512)
      try hurt.write(to: data)
      guard let store = try? reader(clock: clock) else { continue }
      if let count = try? store.count() {
        #expect(count == 250, "sector \(sector)")
        rightCount += 1
      }
      store.close()
    }
    #expect(rightCount > 20)
  }

  // MARK: - Examples

  /// How many keys or values of index 7 there are beside one that is both bounds.
  private func count(
    _ store: Store, _ bound: UInt8, _ flags: Int..., by order: larder_store_order
  ) throws -> UInt64 {
    try withBytes([bound]) { bytes in
      try store.count { query in
        query.order = order
        query.index = 7
        query.flags = UInt32(flags.reduce(0, |))
        query.lower = bytes
        query.upper = bytes
      }
    }
  }

  @Test func rangesAreCountedFromBothSidesOfTheirBounds() throws {
    let store = try Store(url)
    for number in UInt8(0)..<10 { try store.put([number], [], indexes: [(7, [number / 2])]) }
    let (below, above) = (Int(LARDER_STORE_HAS_UPPER), Int(LARDER_STORE_HAS_LOWER))
    let notBelow = Int(LARDER_STORE_UPPER_EXCLUSIVE)
    let notAbove = Int(LARDER_STORE_LOWER_EXCLUSIVE)
    let (key, index) = (LARDER_STORE_BY_KEY, LARDER_STORE_BY_INDEX)
    for round in 0..<2 {
      #expect(try store.count() == 10)
      for bound in UInt8(0)...10 {
        let number = UInt64(bound)
        #expect(try count(store, bound, below, by: key) == min(10, number + 1))
        #expect(try count(store, bound, below, notBelow, by: key) == number)
        #expect(try count(store, bound, above, by: key) == 10 - number)
        #expect(try count(store, bound, above, notAbove, by: key) == 9 - min(9, number))
        #expect(try count(store, bound, above, below, by: key) == (number < 10 ? 1 : 0))
        #expect(try count(store, bound, above, below, notAbove, by: key) == 0)
        #expect(try count(store, bound, below, by: index) == min(10, 2 * number + 2))
        #expect(try count(store, bound, below, notBelow, by: index) == min(10, 2 * number))
        #expect(try count(store, bound, above, by: index) == 10 - min(10, 2 * number))
        #expect(try count(store, bound, above, notAbove, by: index) == 8 - min(8, 2 * number))
        #expect(try count(store, bound, above, below, by: index) == (number < 5 ? 2 : 0))
        #expect(try count(store, bound, above, below, notBelow, by: index) == 0)
      }
      if round == 0 { try store.flush() }
    }
  }

  @Test(arguments: [false, true])
  func noMoreThanTheLimitIsCounted(isFlushed: Bool) throws {
    let store = try Store(url)
    for number in UInt8(0)..<10 { try store.put([number], [], indexes: [(0, [])]) }
    if isFlushed { try store.flush() }
    try store.put([10], [], indexes: [(0, [])])
    try store.remove([0])
    for order in [LARDER_STORE_BY_KEY, LARDER_STORE_BY_INDEX, LARDER_STORE_BY_RECENCY] {
      for limit in UInt64(0)...12 {
        #expect(try store.count(limit: limit) { $0.order = order } == min(limit, 10))
      }
    }
  }

  @Test func anEntryCountsOnceForEachDifferentValue() throws {
    let store = try Store(url)
    let long = [UInt8](repeating: 5, count: 300)
    try store.put([1], [], indexes: [(3, long + [1]), (3, long + [2]), (3, long + [1]), (4, [9])])
    try store.put([2], [], indexes: [(3, [1]), (3, [1]), (3, [2])])
    for round in 0..<3 {
      #expect(
        try store.count {
          $0.order = LARDER_STORE_BY_INDEX
          $0.index = 3
        } == 4)
      // Another one, whose rows are pending over those of the tree.
      if round == 1 { try store.put([1], [], indexes: [(3, long + [1]), (3, [7])]) }
      if round == 0 { try store.flush() }
    }
  }

  @Test func whatIsOverDoesNotCountUnlessItIsAskedFor() throws {
    let clock = StoreClock(1000)
    let store = try Store(url, clock: clock)
    try store.put([1], []) { $0.expires_ns = 2000 }
    try store.put([2], []) { $0.idle_ns = 500 }
    try store.put([3], [])
    let tooMany = { (query: inout larder_store_query) in
      query.flags = UInt32(LARDER_STORE_EXPIRED_TOO)
    }
    for round in 0..<2 {
      clock.now = 1499
      #expect(try store.count() == 3)
      clock.now = 1500
      #expect(try store.count() == 2 && reader(clock: clock).count() == 2)
      clock.now = 2000
      #expect(try store.count() == 1 && store.count(tooMany) == 3)
      if round == 0 { try store.flush() }
    }
    // Read at its last moment, which nobody but this handle knows of.
    clock.now = 1499
    #expect(try store.get([2]) != nil)
    clock.now = 1998
    #expect(try store.count() == 3)
    clock.now = 1999
    #expect(try store.count() == 2)
  }

  @Test func limitsOfAgeAndEndCountToo() throws {
    let clock = StoreClock(1000)
    let store = try Store(url, clock: clock)
    try store.put([1], [])
    try store.put([2], []) { $0.flags = UInt32(LARDER_STORE_OWN_TIMES) }
    try store.flush()
    var limits = larder_store_limits_get(store.pointer)
    limits.age_ns = 100
    try check(larder_store_limits_set(store.pointer, &limits))
    clock.now = 1099
    #expect(try store.count() == 2)
    clock.now = 1100
    #expect(try store.count() == 1)
    limits.age_ns = Int64.max
    limits.end_ns = 1101
    try check(larder_store_limits_set(store.pointer, &limits))
    #expect(try store.count() == 2)
    clock.now = 1101
    #expect(try store.count() == 1)
  }

  @Test func moreExpiredOnesThanAreLookedAtDoNotCountEither() throws {
    let clock = StoreClock(1000)
    let store = try Store(url, clock: clock) { $0.journal_bytes = 4 << 20 }
    for number in 0..<5000 {
      try store.put([UInt8(number >> 8), UInt8(number & 255)], []) {
        $0.expires_ns = number % 10 == 0 ? Int64.max : 2000
      }
    }
    try store.flush()
    #expect(try store.count() == 5000)
    clock.now = 2000
    #expect(try store.count() == 500 && store.count(limit: 7) == 7)
    #expect(
      try withBytes([0]) { bytes in
        try store.count { $0.prefix = bytes }
      } == 26)
  }

  @Test func whatACursorRefusesCannotBeCounted() throws {
    let store = try Store(url)
    let refused = Int(LARDER_EINVALID)
    #expect(status { try store.count { $0.flags = 1 << 30 } } == refused)
    #expect(
      status {
        try store.count {
          $0.order = LARDER_STORE_BY_RECENCY
          $0.flags = UInt32(LARDER_STORE_HAS_LOWER)
        }
      } == refused)
    try check(larder_store_shutdown(store.pointer))
    #expect(status { try store.count() } == Int(LARDER_ECLOSED))
  }

  // MARK: - Damage

  @Test func aDamagedRecordCountsWhereNobodyReadsIt() throws {
    let store = try Store(url)
    try store.put([1], "to be damaged".bytes, indexes: [(0, [1])])
    try store.put([2], [2], indexes: [(0, [2])])
    try store.flush()
    store.close()
    let file = url.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    let range = try #require(data.range(of: Data("to be damaged".utf8)))
    data[range.lowerBound] ^= 1
    try data.write(to: file)
    let damaged = try Store(url)
    #expect(try damaged.count() == 2 && damaged.totals.count == 2)
    #expect(try damaged.count { $0.order = LARDER_STORE_BY_INDEX } == 2)
    // Each is read: under this limit it could be over.
    var limits = larder_store_limits_get(damaged.pointer)
    limits.age_ns = Int64.max - 1
    try check(larder_store_limits_set(damaged.pointer, &limits))
    var query = larder_store_query()
    larder_store_query_init(&query)
    var count: UInt64 = 0
    #expect(
      larder_store_count(damaged.pointer, &query, UInt64.max, &count) == LARDER_EDAMAGED)
    #expect(count == 1)
  }

  @Test func ofDamagedPagesWhatCanBeReadIsCounted() throws {
    let store = try Store(url) { $0.journal_bytes = 1 << 20 }
    for number in 0..<2000 {
      let key = [UInt8(number >> 8), UInt8(number & 255)]
      try store.put(key, [UInt8](repeating: 1, count: 20), indexes: [(0, key)])
    }
    try store.flush()
    store.close()
    // The number in the head of some leaves, whose first key is that of an entry or in an index.
    let file = url.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    for page in stride(from: 4096 * 2, to: data.count, by: 4096 * 3) where data[page + 10] == 2 {
      let first = page + Int(data[page + 16]) + Int(data[page + 17]) << 8
      if [0x10, 0x30].contains(data[first + 8]) { data[page] ^= 0xFF }
    }
    try data.write(to: file)
    let damaged = try reader()
    for order in [LARDER_STORE_BY_KEY, LARDER_STORE_BY_INDEX] {
      var query = larder_store_query()
      larder_store_query_init(&query)
      query.order = order
      query.flags = UInt32(LARDER_STORE_HAS_LOWER)
      var count: UInt64 = 0
      let result = larder_store_count(damaged.pointer, &query, UInt64.max, &count)
      #expect(result == LARDER_EDAMAGED)
      #expect(count > 0 && count == damaged.readable(query))
    }
  }

  // MARK: - Model

  @Test(arguments: UInt64(1)...6)
  func countsAreThoseOfAModelAndOfCursors(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let clock = StoreClock(1000)
    let store = try Store(url, clock: clock) { $0.journal_bytes = 1 << 20 }
    let reader = try reader(clock: clock)
    var model = StoreCountModel()
    for step in 0..<1500 {
      let name = "seed \(generator.seed), step \(step)"
      try model.change(store, clock, &generator)
      let query = StoreCountQuery(&generator)
      let expected = model.count(query, now: clock.now)
      try query.withRaw { raw in
        let limit =
          Bool.random(using: &generator) ? UInt64.max : UInt64.random(in: 0..<40, using: &generator)
        for handle in [store, model.hasLimit ? store : reader] {
          var count: UInt64 = 0
          try check(larder_store_count(handle.pointer, &raw, limit, &count))
          try #require(count == min(limit, expected), "\(name): \(query)")
        }
        try #require(store.readable(raw) == expected, "\(name): \(query)")
      }
    }
    #expect(store.isSound, "seed \(generator.seed)")
  }
}

extension Store {
  /// How many entries a cursor gives.
  fileprivate func readable(_ query: larder_store_query) -> UInt64 {
    var query = query
    var cursor: OpaquePointer?
    guard larder_store_cursor_open(pointer, &query, &cursor) == LARDER_OK else { return 0 }
    defer { larder_store_cursor_close(cursor) }
    var entry = larder_store_entry()
    var count: UInt64 = 0
    while true {
      switch Int(larder_store_cursor_next(cursor!, &entry)) {
      case Int(LARDER_OK): count += 1
      case Int(LARDER_EDAMAGED): continue
      default: return count
      }
    }
  }
}
