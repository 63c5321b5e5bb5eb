// SPDX-License-Identifier: MIT

/// W-TinyLFU by weight, whose window adapts by two lists of what went, with three
/// queues.
///
/// The arithmetic of shares and of the sketch is that of `index/policy/adaptive.c`,
/// so that the same keys go.
public struct AdaptiveModel: EvictionModel {
  private static let one: UInt64 = 1 << 32
  private static let least = one / 100
  private static let most = one / 10 * 9
  private static let rivals = 16

  private var window = WeighedQueue()
  private var probation = WeighedQueue()
  private var protected = WeighedQueue()
  private var hashes: [UInt64: UInt32] = [:]
  private var costs: [UInt64: UInt64] = [:]
  private var sketch = SketchModel()
  private var windowGhost = GhostModel()
  private var mainGhost = GhostModel()
  /// Of all entries, in units of 2^-32.
  private var share = one / 10
  private var refused = 0
  /// Used again since they were stored, or back from where they went.
  private var usedAgain: Set<UInt64> = []
  /// Told of in this turn, and what came in it: an eighth of the capacity ends it.
  private var told: Set<UInt64> = []
  private var came: UInt64 = 0
  /// What the index has.
  public var figures = EvictionFigures()

  /// A model without keys.
  public init() {}

  /// Lower limits take memory away.
  public mutating func start(forgetting: Bool) {
    if forgetting {
      sketch.clear()
      windowGhost.clear()
      mainGhost.clear()
      share = Self.one / 10
      if figures.countLimit >= 10_000 {
        share = max(Self.least, Self.one * 1000 / min(figures.countLimit, Self.one))
      }
      refused = 0
      usedAgain = []
      beginTurn()
      return
    }
    let limit = figures.countLimit
    if limit < sketch.entries { sketch.resize(limit) }
    if limit / 4 < windowGhost.room { windowGhost.resize(limit / 4) }
    if limit / 4 < mainGhost.room { mainGhost.resize(limit / 4) }
  }

  /// Nothing was told of in it yet.
  private mutating func beginTurn() {
    came = 0
    told = []
  }

  // MARK: - Weights

  private var weighsCosts: Bool { figures.costLimit != .max }

  private func weight(of key: UInt64) -> UInt64 { weighsCosts ? (costs[key] ?? 0) + 1 : 1 }

  private func weight(of queue: WeighedQueue) -> UInt64 {
    UInt64(queue.keys.count) + (weighsCosts ? queue.cost : 0)
  }

  /// Called before an entry with this cost is inserted or touched.
  public mutating func setCost(_ key: UInt64, _ cost: UInt64) {
    let old = costs.updateValue(cost, forKey: key) ?? 0
    if window.keys.contains(key) {
      window.cost = window.cost - old + cost
    } else if probation.keys.contains(key) {
      probation.cost = probation.cost - old + cost
    } else if protected.keys.contains(key) {
      protected.cost = protected.cost - old + cost
    }
  }

  // MARK: - The borders

  private var target: UInt64 {
    let total = weight(of: window) + weight(of: probation) + weight(of: protected)
    let (high, low) = total.multipliedFullWidth(by: share)
    return max(1, high << 32 | low >> 32)
  }

  /// At most 16 at a time.
  private mutating func shrinkWindow(to target: UInt64) {
    for _ in 0..<16 where weight(of: window) > target {
      if let key = window.takeLast(costs) { probation.putFirst(key, costs) }
    }
  }

  /// The protected part is four fifths of main.
  private mutating func shrinkProtected() {
    for _ in 0..<16 where weight(of: protected) > 4 * weight(of: probation) {
      if let key = protected.takeLast(costs) { probation.putFirst(key, costs) }
    }
  }

  /// One entry's share, 1 to 8 times, and at most a 400th.
  private func step(_ total: UInt64, own: UInt64, other: UInt64) -> UInt64 {
    let times = other <= own ? Self.one : other >= own * 8 ? Self.one * 8 : Self.one * other / own
    return min(times / total, Self.one / 400)
  }

  /// What comes back moves the border. Returns whether it does.
  private mutating func adapt(_ hash: UInt32) -> Bool {
    let (inWindow, inMain) = (windowGhost.count, mainGhost.count)
    let total = UInt64(window.keys.count + probation.keys.count + protected.keys.count)
    if total == 0 { return false }
    if windowGhost.take(hash) {
      share = min(Self.most, share + step(total, own: inWindow, other: inMain))
      return true
    }
    guard mainGhost.take(hash) else { return false }
    let step = step(total, own: inMain, other: inWindow)
    share = share - Self.least > step ? share - step : Self.least
    shrinkWindow(to: target)
    return true
  }

  // MARK: - Keys

  /// Into the window; or into the protected part, if it comes back and would win.
  public mutating func insert(_ key: UInt64, hash: UInt32, isNew: Bool) {
    hashes[key] = hash
    came += 1
    if came >= figures.capacity / 8 { beginTurn() }
    if isNew { told.remove(key) }
    let mayGrow = figures.count > sketch.entries && sketch.entries < figures.countLimit
    if mayGrow, sketch.entries > 0 || isHalfFull {
      sketch.resize(min(2 * figures.count, figures.countLimit))
    }
    sketch.add(hash)
    let rival = probation.keys.last
    let comesBack = adapt(hash)
    if isNew { usedAgain.remove(key) }
    if comesBack { usedAgain.insert(key) }
    if comesBack, let rival, beats(key, rival, in: probation.keys) {
      protected.putFirst(key, costs)
      shrinkProtected()
      return
    }
    window.putFirst(key, costs)
    let isOver = figures.count > figures.countLimit || figures.totalCost > figures.costLimit
    if !isOver { shrinkWindow(to: target + weight(of: key)) }
  }

  private var isHalfFull: Bool {
    figures.count >= figures.countLimit / 2 || figures.totalCost >= figures.costLimit / 2
  }

  /// First in the window, or in the protected part of main.
  public mutating func touch(_ key: UInt64) {
    if told.contains(key) { return }
    sketch.add(hashes[key] ?? 0)
    usedAgain.insert(key)
    if window.keys.contains(key) {
      window.keys.moveFirst(key)
      return
    }
    told.insert(key)
    remove(key)
    protected.putFirst(key, costs)
    shrinkProtected()
  }

  /// From whichever queue it is in.
  public mutating func remove(_ key: UInt64) {
    if window.keys.contains(key) {
      window.remove(key, costs)
    } else if probation.keys.contains(key) {
      probation.remove(key, costs)
    } else {
      protected.remove(key, costs)
    }
  }

  // MARK: - The contest

  private func uses(_ key: UInt64) -> UInt64 { UInt64(sketch.estimate(hashes[key] ?? 0)) }

  /// Whether a key was used oftener, for its weight, than the rival and those before it in the
  /// queue that weigh as much.
  private func beats(_ key: UInt64, _ rival: UInt64, in queue: KeyQueue) -> Bool {
    var (weight, uses): (UInt64, UInt64) = (0, 0)
    for other in queue.from(rival).prefix(Self.rivals) where weight < self.weight(of: key) {
      weight += self.weight(of: other)
      uses += self.uses(other)
    }
    return weight * self.uses(key) > self.weight(of: key) * uses
  }

  /// Whether the key that was just written stays although the index is too heavy.
  private func stays(_ newest: UInt64, _ rival: UInt64, in queue: KeyQueue) -> Bool {
    let needed = figures.totalCost - figures.costLimit
    var (weight, uses): (UInt64, UInt64) = (0, 0)
    for other in queue.from(rival).prefix(Self.rivals) where weight <= needed && other != newest {
      weight += self.weight(of: other)
      if other == rival, weight > needed { return true }
      uses += usedAgain.contains(other) ? self.uses(other) : 0
    }
    return uses == 0 || weight * self.uses(newest) > self.weight(of: newest) * uses
  }

  /// The key lost: it goes, and what it lost to has its turn again later.
  private mutating func refuse(_ key: UInt64, _ rival: UInt64) -> UInt64 {
    windowGhost.remember(hashes[key] ?? 0, limit: figures.capacity / 4, figures)
    refused += 1
    if refused % 4 == 0, probation.keys.contains(rival) { probation.keys.moveFirst(rival) }
    remove(key)
    return key
  }

  /// The one just written, if it is too heavy; or the last of the window or of main, whichever was
  /// used less for its weight.
  public mutating func takeVictim(sparing newest: UInt64?) -> UInt64 {
    let target = target
    var inWindow = weight(of: window)
    let ofProbation = probation.keys.last(sparing: newest)
    let victim = ofProbation ?? protected.keys.last(sparing: newest)
    let candidate = window.keys.last(sparing: newest)
    let main = ofProbation != nil ? probation.keys : protected.keys
    if let newest, figures.totalCost > figures.costLimit, holds(newest),
      weight(of: newest) > target
    {
      if let candidate, !usedAgain.contains(candidate),
        weight(of: candidate) > figures.totalCost - figures.costLimit
      {
        return refuse(candidate, candidate)
      }
      guard let rival = victim ?? candidate else {
        remove(newest)
        return newest
      }
      if !stays(newest, rival, in: victim != nil ? main : window.keys) {
        return refuse(newest, rival)
      }
      if window.keys.contains(newest) { inWindow -= weight(of: newest) }
    }
    guard let victim else {
      let key = candidate ?? newest ?? 0
      remove(key)
      return key
    }
    if let candidate, inWindow > target {
      if !beats(candidate, victim, in: main) { return refuse(candidate, victim) }
      window.remove(candidate, costs)
      probation.putFirst(candidate, costs)
    }
    mainGhost.remember(hashes[victim] ?? 0, limit: figures.capacity / 4, figures)
    remove(victim)
    return victim
  }

  /// Whether it is in a queue: pinned ones are not.
  private func holds(_ key: UInt64) -> Bool {
    window.keys.contains(key) || probation.keys.contains(key) || protected.keys.contains(key)
  }

  /// The newest into the window, of the others what was read into the protected part.
  public mutating func adopt(_ keys: [(key: UInt64, hash: UInt32, wasRead: Bool)]) {
    let old = keys.count - Int((UInt64(keys.count) * share) >> 32)
    for (place, entry) in keys.enumerated() {
      hashes[entry.key] = entry.hash
      if entry.wasRead { usedAgain.insert(entry.key) }
      if place >= old {
        window.putFirst(entry.key, costs)
      } else if entry.wasRead {
        protected.putFirst(entry.key, costs)
      } else {
        probation.putFirst(entry.key, costs)
      }
    }
    for _ in keys { shrinkProtected() }
  }

  /// Probation goes first, what is protected last.
  public var order: [UInt64] {
    [probation, window, protected].flatMap { $0.keys.keys.reversed() }
  }
}

/// A queue that knows what its keys cost together.
private struct WeighedQueue {
  var keys = KeyQueue()
  var cost: UInt64 = 0

  mutating func putFirst(_ key: UInt64, _ costs: [UInt64: UInt64]) {
    keys.putFirst(key)
    cost += costs[key] ?? 0
  }

  mutating func remove(_ key: UInt64, _ costs: [UInt64: UInt64]) {
    keys.remove(key)
    cost -= costs[key] ?? 0
  }

  mutating func takeLast(_ costs: [UInt64: UInt64]) -> UInt64? {
    guard let key = keys.takeLast() else { return nil }
    cost -= costs[key] ?? 0
    return key
  }
}
