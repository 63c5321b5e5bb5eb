// SPDX-License-Identifier: MIT

/// Which of the keys goes next: what a policy of the index has to say, in the
/// simplest way.
///
/// Pinned keys are not in it.
public protocol EvictionModel {
  /// What the index has; its model keeps this up to date.
  var figures: EvictionFigures { get set }
  /// Makes ready for limits that are new, or changed; in the first case nothing of
  /// before is remembered.
  mutating func start(forgetting: Bool)
  /// What a key costs, which is about to be new, or is written again.
  mutating func setCost(_ key: UInt64, _ cost: UInt64)
  /// A key that is new, or pinned no longer.
  mutating func insert(_ key: UInt64, hash: UInt32, isNew: Bool)
  /// A key was read, or written again.
  mutating func touch(_ key: UInt64)
  /// A key goes for another reason than a limit, or is pinned.
  mutating func remove(_ key: UInt64)
  /// Takes out the key that has to go, which is the one just written if there is no
  /// other, or if the policy weighs it. There is one.
  mutating func takeVictim(sparing newest: UInt64?) -> UInt64
  /// Takes over what was stored while there were no limits, the first to go first.
  mutating func adopt(_ keys: [(key: UInt64, hash: UInt32, wasRead: Bool)])
  /// All keys, the first to go first.
  var order: [UInt64] { get }
}

extension EvictionModel {
  /// Most policies do not ask.
  public mutating func setCost(_ key: UInt64, _ cost: UInt64) {}
}

/// What a policy knows of the index besides its keys.
public struct EvictionFigures: Sendable {
  /// How many entries there are, pinned ones included.
  public var count: UInt64 = 0
  /// What they cost.
  public var totalCost: UInt64 = 0
  /// The most entries.
  public var countLimit = UInt64.max
  /// The most cost.
  public var costLimit = UInt64.max

  /// How many entries fit.
  var capacity: UInt64 { min(count, countLimit) }
}

/// Least recently used, or first in, first out: one queue.
public struct QueueModel: EvictionModel {
  private var queue = KeyQueue()
  /// Whether a use puts a key at the far end of the queue.
  public let ordersByUse: Bool
  /// Not of interest here.
  public var figures = EvictionFigures()

  /// A model without keys.
  public init(ordersByUse: Bool) { self.ordersByUse = ordersByUse }

  /// Nothing is remembered anyway.
  public mutating func start(forgetting: Bool) {}
  /// The last to go.
  public mutating func insert(_ key: UInt64, hash: UInt32, isNew: Bool) { queue.putFirst(key) }
  /// The last to go, with LRU.
  public mutating func touch(_ key: UInt64) {
    if ordersByUse { queue.moveFirst(key) }
  }
  /// Takes it out.
  public mutating func remove(_ key: UInt64) { queue.remove(key) }
  /// The least recent one, or the oldest one.
  public mutating func takeVictim(sparing newest: UInt64?) -> UInt64 {
    let victim = queue.last(sparing: newest) ?? newest ?? 0
    queue.remove(victim)
    return victim
  }
  /// In the order of their last use, or of their insertion.
  public mutating func adopt(_ keys: [(key: UInt64, hash: UInt32, wasRead: Bool)]) {
    for (key, _, _) in keys { queue.putFirst(key) }
  }
  /// The least recent one, or the oldest one, first.
  public var order: [UInt64] { queue.keys.reversed() }
}
