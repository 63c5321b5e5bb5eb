// SPDX-License-Identifier: MIT

/// What an index has to hold after a sequence of calls, in the simplest way to say
/// it: a dictionary of entries, and a policy that keeps their keys in arrays.
///
/// It is told the time, and everything happens at once: there are no buffers, no
/// heap, no lists between places.
public struct IndexModel {
  /// Why an entry went. The numbers are those of the index.
  public enum Cause: Int, CaseIterable, Sendable {
    /// By the caller's wish.
    case removed
    /// For another value.
    case replaced
    /// Its time was over.
    case expired
    /// For the limit of entries.
    case evictedForCount
    /// For the limit of cost.
    case evictedForCost
  }

  /// One entry.
  public struct Entry {
    let hash: UInt32
    /// What it costs.
    public var cost: UInt64
    /// What was stored.
    public var value: UInt64
    /// Whether it stays whatever the limits are.
    public var isPinned = false
    var wasRead = false
    var ownExpiry: Expiry?
    /// nil if nothing could expire then.
    var written: Int64?
    /// From when on it counts as gone.
    public var deadline = Int64.max
  }

  /// By their keys.
  public internal(set) var entries: [UInt64: Entry] = [:]
  /// What all of them cost.
  public internal(set) var totalCost: UInt64 = 0
  /// How many went, by cause; a value that was written over has been replaced.
  public internal(set) var gone = [UInt64](repeating: 0, count: Cause.allCases.count)
  /// How many came.
  public internal(set) var insertions: UInt64 = 0
  /// The most entries.
  public private(set) var countLimit: UInt64
  /// The most cost.
  public private(set) var costLimit: UInt64
  /// What an entry gets that has no expiry of its own.
  var expiry = Expiry()
  /// Whether any entry could ever expire.
  var isTimed = false
  /// No deadline is before this.
  var earliest = Int64.max
  private var policy: any EvictionModel
  /// Without limits, all keys in the order of their stamps; with limits, empty.
  private var unlimited: [UInt64] = []
  /// With limits, the pinned keys, which the policy does not see.
  private var pinned = KeyQueue()
  /// Whether a use changes the order of an index without limits.
  private let ordersByUse: Bool
  /// Whether reads are noted.
  private let hearsReads: Bool
  /// The entry that was written last while the index is held, if it is still there.
  private var newest: UInt64?

  /// An index without entries.
  public init(policy: any EvictionModel, countLimit: UInt64 = .max, costLimit: UInt64 = .max) {
    self.policy = policy
    self.countLimit = countLimit
    self.costLimit = costLimit
    let queue = policy as? QueueModel
    ordersByUse = queue?.ordersByUse == true
    hearsReads = queue?.ordersByUse != false
    updateFigures()
    if isLimited { self.policy.start(forgetting: true) }
  }

  /// Whether there is a limit.
  public var isLimited: Bool { countLimit != .max || costLimit != .max }
  /// How many entries there are.
  public var count: UInt64 { UInt64(entries.count) }

  private mutating func updateFigures() {
    policy.figures = EvictionFigures(
      count: count, totalCost: totalCost, countLimit: countLimit, costLimit: costLimit)
  }

  // MARK: - Changing

  /// Adds an entry that is not there.
  public mutating func insert(
    _ key: UInt64, hash: UInt64, cost: UInt64, value: UInt64, now: Int64
  ) {
    var entry = Entry(hash: UInt32(hash >> 32), cost: cost, value: value)
    beginLife(of: &entry, now)
    entries[key] = entry
    totalCost += cost
    insertions += 1
    newest = key
    updateFigures()
    policy.setCost(key, cost)
    if isLimited {
      policy.insert(key, hash: entry.hash, isNew: true)
    } else {
      unlimited.append(key)
    }
  }

  /// Writes an entry that is there.
  public mutating func rewrite(_ key: UInt64, cost: UInt64, value: UInt64, now: Int64) {
    guard var entry = entries[key] else { return }
    totalCost = totalCost - entry.cost + cost
    updateFigures()
    policy.setCost(key, cost)
    entry.cost = cost
    entry.value = value
    entry.ownExpiry = nil
    beginLife(of: &entry, now)
    entries[key] = entry
    gone[Cause.replaced.rawValue] += 1
    newest = key
    use(key)
  }

  /// Reads an entry that is there.
  public mutating func touch(_ key: UInt64, now: Int64) {
    extendLife(of: key, now)
    use(key)
  }

  private mutating func use(_ key: UInt64) {
    guard let entry = entries[key] else { return }
    if isLimited {
      if !entry.isPinned { policy.touch(key) }
    } else if ordersByUse {
      unlimited.removeAll { $0 == key }
      unlimited.append(key)
    } else if hearsReads {
      entries[key]?.wasRead = true
    }
  }

  /// Takes out an entry that is there.
  public mutating func take(_ key: UInt64, _ cause: Cause) {
    guard let entry = entries[key] else { return }
    if !isLimited {
      unlimited.removeAll { $0 == key }
    } else if entry.isPinned {
      pinned.remove(key)
    } else {
      policy.remove(key)
    }
    forget(key, cause)
  }

  private mutating func forget(_ key: UInt64, _ cause: Cause) {
    let entry = entries.removeValue(forKey: key)
    totalCost -= entry?.cost ?? 0
    gone[cause.rawValue] += 1
    if newest == key { newest = nil }
    updateFigures()
  }

  /// Takes out one entry if a limit is exceeded, and says which and why.
  public mutating func evict() -> (key: UInt64, cause: Cause)? {
    if let newest, let entry = entries[newest], entry.cost > costLimit, !entry.isPinned {
      take(newest, .evictedForCost)
      return (newest, .evictedForCost)
    }
    let cause: Cause
    if count > countLimit {
      cause = .evictedForCount
    } else if totalCost > costLimit {
      cause = .evictedForCost
    } else {
      return nil
    }
    if entries.values.allSatisfy({ $0.isPinned }) { return nil }
    let key = policy.takeVictim(sparing: newest)
    forget(key, cause)
    return (key, cause)
  }

  /// Says that nobody holds the index any more.
  public mutating func endHold() { newest = nil }

  /// Takes out everything.
  public mutating func clear() {
    for (key, entry) in entries where isLimited && !entry.isPinned {
      policy.remove(key)
    }
    gone[Cause.removed.rawValue] += count
    entries = [:]
    unlimited = []
    pinned = KeyQueue()
    totalCost = 0
    newest = nil
    updateFigures()
    if isLimited { policy.start(forgetting: true) }
  }

  /// Sets the limits; what is over them goes with `evict`.
  public mutating func setLimits(count: UInt64, cost: UInt64) {
    let wasLimited = isLimited
    let order = order
    countLimit = count
    costLimit = cost
    updateFigures()
    if isLimited {
      policy.start(forgetting: !wasLimited)
      if !wasLimited { adopt(order) }
    } else if wasLimited {
      for key in order {
        if entries[key]?.isPinned == false { policy.remove(key) }
        entries[key]?.wasRead = false
      }
      pinned = KeyQueue()
      unlimited = order
    }
  }

  private mutating func adopt(_ order: [UInt64]) {
    unlimited = []
    var adopted: [(key: UInt64, hash: UInt32, wasRead: Bool)] = []
    for key in order {
      guard let entry = entries[key] else { continue }
      if entry.isPinned {
        pinned.putFirst(key)
      } else {
        adopted.append((key, entry.hash, entry.wasRead))
      }
    }
    policy.adopt(adopted)
  }

  /// Takes an entry out of the order, or puts it back.
  public mutating func pin(_ key: UInt64, _ isPinned: Bool) {
    guard let entry = entries[key], entry.isPinned != isPinned else { return }
    entries[key]?.isPinned = isPinned
    if !isLimited { return }
    if isPinned {
      policy.remove(key)
      pinned.putFirst(key)
    } else {
      pinned.remove(key)
      policy.insert(key, hash: entry.hash, isNew: false)
    }
  }

  // MARK: - Asking

  /// All keys, the first to go first, and pinned ones last.
  ///
  /// Without limits, those that were read since they were stored come after those
  /// that were not.
  public var order: [UInt64] {
    if isLimited { return policy.order + pinned.keys.reversed() }
    func rank(_ entry: Entry?) -> Int {
      (entry?.isPinned == true ? 2 : 0) + (entry?.wasRead == true ? 1 : 0)
    }
    return (0...3).flatMap { wanted in unlimited.filter { rank(entries[$0]) == wanted } }
  }
}
