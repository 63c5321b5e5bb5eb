// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import LarderTestSupport

/// What there is to be counted, as a dictionary, and random changes of it and of a store.
struct StoreCountModel {
  private struct Entry {
    var values: [(index: UInt16, value: [UInt8])] = []
    var written: Int64
    var expires = Int64.max
    var idle = Int64.max
    var hasOwnTimes = false
  }

  private var entries: [[UInt8]: Entry] = [:]
  private var age = Int64.max
  private var end = Int64.max

  /// Whether the handle has limits that others do not have.
  var hasLimit: Bool { age != Int64.max || end != Int64.max }

  // MARK: - Changes

  mutating func change(
    _ store: Store, _ clock: StoreClock, _ generator: inout SeededGenerator
  ) throws {
    switch Int.random(in: 0..<200, using: &generator) {
    case 0..<120: try put(store, clock, &generator)
    case 120..<160:
      let key = StoreCountQuery.someKey(&generator)
      entries[key] = nil
      try store.remove(key)
    case 160..<175: try store.flush()
    case 175..<190: clock.now += Int64.random(in: 0..<200, using: &generator)
    case 190..<193:
      try check(larder_store_maintain(store.pointer))
      entries = entries.filter { due($0.value) > clock.now }
    case 193..<198:
      age = Int.random(in: 0..<3, using: &generator) == 0 ? 2000 : Int64.max
      end = Int.random(in: 0..<6, using: &generator) == 0 ? clock.now + 300 : Int64.max
      var limits = larder_store_limits_get(store.pointer)
      limits.age_ns = age
      limits.end_ns = end
      try check(larder_store_limits_set(store.pointer, &limits))
    default:
      entries = [:]
      try check(larder_store_remove_all(store.pointer, nil, nil))
    }
  }

  private mutating func put(
    _ store: Store, _ clock: StoreClock, _ generator: inout SeededGenerator
  ) throws {
    let key = StoreCountQuery.someKey(&generator)
    var entry = Entry(written: clock.now)
    for _ in 0..<Int.random(in: 0...4, using: &generator) {
      let index = UInt16.random(in: 1...2, using: &generator)
      entry.values.append((index, StoreCountQuery.someValue(&generator)))
    }
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: entry.expires = clock.now + Int64.random(in: -50..<1000, using: &generator)
    case 1: entry.idle = Int64.random(in: 1..<1000, using: &generator)
    default: break
    }
    entry.hasOwnTimes = Int.random(in: 0..<4, using: &generator) == 0
    try store.put(key, [1, 2, 3], indexes: entry.values) {
      $0.expires_ns = entry.expires
      $0.idle_ns = entry.idle
      $0.flags = entry.hasOwnTimes ? UInt32(LARDER_STORE_OWN_TIMES) : 0
    }
    entries[key] = entry
  }

  private func due(_ entry: Entry) -> Int64 {
    func later(_ span: Int64) -> Int64 { span == Int64.max ? span : entry.written + span }
    let own = min(entry.expires, later(entry.idle))
    return entry.hasOwnTimes ? own : min(own, end, later(age))
  }

  // MARK: - Counting

  func count(_ query: StoreCountQuery, now: Int64) -> UInt64 {
    var count = 0
    for (key, entry) in entries where query.expiredToo || due(entry) > now {
      if query.order == LARDER_STORE_BY_INDEX {
        let values = Set(entry.values.filter { $0.index == query.index }.map(\.value))
        count += values.filter(query.includes).count
      } else {
        count += query.includes(key) ? 1 : 0
      }
    }
    return UInt64(count)
  }
}

/// A query whose bytes are its own.
struct StoreCountQuery {
  var order = LARDER_STORE_BY_KEY
  var index: UInt16
  var expiredToo: Bool
  private var descends: Bool
  private var lower: [UInt8]?
  private var upper: [UInt8]?
  private var isLowerExclusive: Bool
  private var isUpperExclusive: Bool
  private var prefix: [UInt8] = []

  init(_ generator: inout SeededGenerator) {
    let orders = [LARDER_STORE_BY_KEY, LARDER_STORE_BY_INDEX, LARDER_STORE_BY_RECENCY]
    order = orders[Int.random(in: 0..<3, using: &generator)]
    index = UInt16.random(in: 0...3, using: &generator)
    expiredToo = Int.random(in: 0..<4, using: &generator) == 0
    descends = Bool.random(using: &generator)
    isLowerExclusive = Bool.random(using: &generator)
    isUpperExclusive = Bool.random(using: &generator)
    if Int.random(in: 0..<3, using: &generator) == 0 { prefix = somePrefix(&generator) }
    if order == LARDER_STORE_BY_RECENCY {
      (isLowerExclusive, isUpperExclusive) = (false, false)
      return
    }
    if Bool.random(using: &generator) { lower = someBound(&generator) }
    if Bool.random(using: &generator) { upper = someBound(&generator) }
  }

  static func someKey(_ generator: inout SeededGenerator) -> [UInt8] {
    some(["", "a", "a\0", "ab", "b"], [0, 1, 230, 235, 250, 300, 493, 494, 495, 520], &generator)
  }

  static func someValue(_ generator: inout SeededGenerator) -> [UInt8] {
    some(["", "\0", "v", "v\0", "vw"], [0, 1, 236, 237, 238, 239, 240, 241, 260], &generator)
  }

  /// A beginning of few, and a length: so that much is equal, or begins alike.
  private static func some(
    _ beginnings: [String], _ lengths: [Int], _ generator: inout SeededGenerator
  ) -> [UInt8] {
    let length =
      Int.random(in: 0..<3, using: &generator) == 0
      ? lengths[Int.random(in: lengths.indices, using: &generator)] : 0
    let beginning = beginnings[Int.random(in: beginnings.indices, using: &generator)].bytes
    let filling = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    let end = UInt8.random(in: 0..<4, using: &generator)
    return beginning + filling + (Bool.random(using: &generator) ? [end] : [])
  }

  private func someBound(_ generator: inout SeededGenerator) -> [UInt8] {
    if order == LARDER_STORE_BY_INDEX { return Self.someValue(&generator) }
    // Among longer keys that begin alike the order is the store's own.
    return [UInt8](Self.someKey(&generator).prefix(400))
  }

  private func somePrefix(_ generator: inout SeededGenerator) -> [UInt8] {
    order == LARDER_STORE_BY_INDEX ? Self.someValue(&generator) : Self.someKey(&generator)
  }

  func includes(_ bytes: [UInt8]) -> Bool {
    if let lower {
      if bytes.lexicographicallyPrecedes(lower) || (isLowerExclusive && bytes == lower) {
        return false
      }
    }
    if let upper {
      if upper.lexicographicallyPrecedes(bytes) || (isUpperExclusive && bytes == upper) {
        return false
      }
    }
    return bytes.starts(with: prefix)
  }

  func withRaw(_ body: (inout larder_store_query) throws -> Void) rethrows {
    var raw = larder_store_query()
    larder_store_query_init(&raw)
    raw.order = order
    raw.index = index
    let flags: [(Bool, Int)] = [
      (expiredToo, Int(LARDER_STORE_EXPIRED_TOO)), (descends, Int(LARDER_STORE_DESCENDING)),
      (lower != nil, Int(LARDER_STORE_HAS_LOWER)), (upper != nil, Int(LARDER_STORE_HAS_UPPER)),
      (isLowerExclusive, Int(LARDER_STORE_LOWER_EXCLUSIVE)),
      (isUpperExclusive, Int(LARDER_STORE_UPPER_EXCLUSIVE)),
    ]
    for (isSet, flag) in flags where isSet { raw.flags |= UInt32(flag) }
    try withBytes(lower ?? []) { lower in
      try withBytes(upper ?? []) { upper in
        try withBytes(prefix) { prefix in
          raw.lower = lower
          raw.upper = upper
          raw.prefix = prefix
          try body(&raw)
        }
      }
    }
  }
}
