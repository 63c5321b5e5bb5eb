// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Synchronization

/// What an index calls back: a clock that stands still until it is set, and a count of moves.
final class IndexWorld: Sendable {
  let now = Atomic<Int64>(0)
  let moves = Atomic<Int>(0)

  var time: Int64 {
    get { now.load(ordering: .relaxed) }
    set { now.store(newValue, ordering: .relaxed) }
  }
}

/// An entry that went, and why.
struct IndexGone: Equatable, CustomStringConvertible {
  var key: UInt64
  var cause: larder_index_cause

  init(_ key: UInt64, _ cause: larder_index_cause) {
    self.key = key
    self.cause = cause
  }

  var description: String { "\(key) for \(cause.rawValue)" }
}

extension larder_index_expiry {
  /// Not the same as one whose fields are 0.
  static let never = larder_index_expiry(write: .max)

  init(write: Int64 = .max, access: Int64 = .max, at: Int64 = .max) {
    self.init(after_write_ns: write, after_access_ns: access, at_ns: at)
  }
}

/// One index whose payloads are a key and a value, destroyed with the last reference to it. Not
/// checked for Sendable, because the index's own lock is what the tests are about.
final class Index: @unchecked Sendable {
  typealias Slot = larder_index_slot
  static let none: Slot = 0xFFFF_FFFF
  static let quiet: Slot = 0xFFFF_FFFE

  let raw: OpaquePointer
  let c: IndexFunctions
  let world: IndexWorld
  /// What stands in for a good hash; a test for collisions has a bad one.
  let hash: @Sendable (UInt64) -> UInt64

  init(
    _ policy: larder_index_policy = LARDER_INDEX_LRU, count: UInt64 = .max, cost: UInt64 = .max,
    world: IndexWorld = IndexWorld(), functions: IndexFunctions = .linked,
    _ change: (inout larder_index_options) -> Void = { _ in },
    hash: @escaping @Sendable (UInt64) -> UInt64 = Index.mixed
  ) throws {
    c = functions
    self.world = world
    self.hash = hash
    var options = larder_index_options()
    larder_index_options_init(&options)
    options.policy = policy
    options.count_limit = count
    options.cost_limit = cost
    options.context = Unmanaged.passUnretained(world).toOpaque()
    options.clock = { context in
      context.map { Unmanaged<IndexWorld>.fromOpaque($0).takeUnretainedValue().time } ?? 0
    }
    change(&options)
    var made: OpaquePointer?
    try check(c.create(&options, &made))
    guard let made else { throw RingFailure(status: LARDER_OK) }
    raw = made
  }

  deinit { c.destroy(raw) }

  /// The last step of SplitMix64: every bit of the key reaches every bit.
  @Sendable static func mixed(_ key: UInt64) -> UInt64 {
    var z = key &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  // MARK: - Calls that want the index held

  func find(_ key: UInt64) -> Slot {
    withUnsafePointer(to: key) { c.find(raw, hash(key), c.equalsInteger, $0) }
  }

  func key(_ slot: Slot) -> UInt64 { c.payload(raw, slot).load(as: UInt64.self) }

  func value(_ slot: Slot) -> UInt64 {
    c.payload(raw, slot).load(fromByteOffset: 8, as: UInt64.self)
  }

  func fill(_ slot: Slot, _ key: UInt64, _ value: UInt64) {
    let payload = c.payload(raw, slot)
    payload.storeBytes(of: key, as: UInt64.self)
    payload.storeBytes(of: value, toByteOffset: 8, as: UInt64.self)
  }

  /// Takes out what is due, in the order in which it goes.
  func expireAll() -> [IndexGone] {
    var gone: [IndexGone] = []
    while true {
      let slot = c.expire(raw)
      if slot == Self.none { return gone }
      gone.append(IndexGone(key(slot), LARDER_INDEX_EXPIRED))
    }
  }

  /// Takes out what is over the limits, in the order in which it goes.
  func evictAll() -> [IndexGone] {
    var gone: [IndexGone] = []
    var cause = LARDER_INDEX_REMOVED
    while true {
      let slot = c.evict(raw, &cause)
      if slot == Self.none { return gone }
      gone.append(IndexGone(key(slot), cause))
    }
  }

  /// Holds the index for writing.
  func writing<R>(_ body: () throws -> R) rethrows -> R {
    c.writeBegin(raw)
    defer { c.writeEnd(raw) }
    return try body()
  }

  // MARK: - What a cache does

  /// The value, by the path of readers.
  func get(_ key: UInt64, quietly: Bool = false) -> UInt64? {
    let token = c.readBegin(raw)
    let slot = find(key)
    let value = slot == Self.none ? nil : value(slot)
    c.readEnd(raw, token, quietly ? Self.quiet : slot)
    return value
  }

  /// - Returns: what went for it.
  @discardableResult
  func set(
    _ key: UInt64, _ value: UInt64, cost: UInt64 = 0, expiry: larder_index_expiry? = nil
  ) throws -> [IndexGone] {
    try writing {
      let expired = expireAll()
      var slot = find(key)
      if slot == Self.none {
        try check(c.insert(raw, hash(key), cost, &slot))
      } else {
        c.rewrite(raw, slot, cost)
      }
      fill(slot, key, value)
      if var expiry { try check(c.setEntryExpiry(raw, slot, &expiry)) }
      return expired + evictAll()
    }
  }

  /// - Returns: whether it was there.
  @discardableResult
  func remove(_ key: UInt64, _ cause: larder_index_cause = LARDER_INDEX_REMOVED) -> Bool {
    writing {
      let slot = find(key)
      if slot != Self.none { c.take(raw, slot, cause) }
      return slot != Self.none
    }
  }

  /// Does something to an entry that is there, by its slot.
  func at<R>(_ key: UInt64, _ body: (Slot) throws -> R) throws -> R {
    try writing {
      let slot = find(key)
      if slot == Self.none { throw RingFailure(status: LARDER_ENOTFOUND) }
      return try body(slot)
    }
  }

  func pin(_ key: UInt64, _ isPinned: Bool = true) throws {
    try at(key) { try check(c.pin(raw, $0, isPinned)) }
  }

  @discardableResult
  func setLimits(count: UInt64 = .max, cost: UInt64 = .max) throws -> [IndexGone] {
    try writing {
      try check(c.setLimits(raw, count, cost))
      return evictAll()
    }
  }

  func setExpiry(write: Int64 = .max, access: Int64 = .max, at: Int64 = .max) throws {
    var expiry = larder_index_expiry(write: write, access: access, at: at)
    try writing { try check(c.setExpiry(raw, &expiry)) }
  }

  func expire() -> [IndexGone] { writing { expireAll() } }
  func clear(keepingCapacity: Bool = false) { writing { c.clear(raw, keepingCapacity) } }

  // MARK: - Looking

  var count: Int { writing { Int(c.count(raw)) } }
  var totalCost: UInt64 { writing { c.totalCost(raw) } }

  /// The keys, the first to go first.
  func keys(_ order: larder_index_order = LARDER_INDEX_FIRST_TO_GO, limit: Int = .max) throws
    -> [UInt64]
  {
    try writing {
      var slots = [Slot](repeating: 0, count: min(limit, Int(c.count(raw))))
      var count = 77
      try check(c.list(raw, order, &slots, slots.count, &count))
      return slots.prefix(count).map { key($0) }
    }
  }

  var statistics: larder_index_statistics {
    writing {
      var statistics = larder_index_statistics()
      c.getStatistics(raw, &statistics)
      return statistics
    }
  }

  /// What the deep check finds; nil if all is well.
  var contradiction: String? { writing { contradictionWhileHeld } }

  var contradictionWhileHeld: String? {
    var reason: UnsafePointer<CChar>?
    let status = c.check(raw, &reason)
    if status == LARDER_OK { return nil }
    return "\(status): \(reason.map { String(cString: $0) } ?? "no reason")"
  }
}

extension larder_index_statistics {
  /// How many went, by cause.
  var byCause: [UInt64] { [gone.0, gone.1, gone.2, gone.3, gone.4] }
}
