// SPDX-License-Identifier: MIT

/// W-TinyLFU whose window adapts by two lists of what went, with three queues.
///
/// The arithmetic of shares, of chance and of the sketch is that of
/// `index/policy/adaptive.c`, so that the same keys go.
public struct AdaptiveModel: EvictionModel {
  private static let one: UInt64 = 1 << 32
  private static let least = one / 100
  private static let most = one / 10 * 9

  private var window = KeyQueue()
  private var probation = KeyQueue()
  private var protected = KeyQueue()
  private var hashes: [UInt64: UInt32] = [:]
  private var sketch = SketchModel()
  private var windowGhost = GhostModel()
  private var mainGhost = GhostModel()
  /// Of all entries, in units of 2^-32.
  private var share = least
  private var chance: UInt64 = 1
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
      share = Self.least
      chance = 1
      return
    }
    let limit = figures.countLimit
    if limit < sketch.entries { sketch.resize(limit) }
    if limit / 4 < windowGhost.room { windowGhost.resize(limit / 4) }
    if limit / 4 < mainGhost.room { mainGhost.resize(limit / 4) }
  }

  // MARK: - The border

  private var total: UInt64 { UInt64(window.count + probation.count + protected.count) }
  private var target: Int { Int(max(1, (total * share) >> 32)) }

  /// At most 16 at a time.
  private mutating func shrinkWindow(to target: Int) {
    for _ in 0..<16 where window.count > target {
      if let key = window.takeLast() { probation.putFirst(key) }
    }
  }

  /// One entry's share, 1 to 8 times.
  private func step(own: UInt64, other: UInt64) -> UInt64 {
    if other <= own { return Self.one / total }
    if other >= own * 8 { return Self.one * 8 / total }
    return Self.one * other / own / total
  }

  /// What comes back moves the border.
  private mutating func adapt(_ hash: UInt32) {
    let (inWindow, inMain) = (windowGhost.count, mainGhost.count)
    if total == 0 { return }
    if windowGhost.take(hash) {
      share = min(Self.most, share + step(own: inWindow, other: inMain))
    } else if mainGhost.take(hash) {
      let step = step(own: inMain, other: inWindow)
      share = share - Self.least > step ? share - step : Self.least
      shrinkWindow(to: target)
    }
  }

  // MARK: - Keys

  /// Into the window.
  public mutating func insert(_ key: UInt64, hash: UInt32, isNew: Bool) {
    hashes[key] = hash
    if figures.count > sketch.entries, sketch.entries > 0 || isHalfFull {
      sketch.resize(min(2 * figures.count, figures.countLimit))
    }
    sketch.add(hash)
    adapt(hash)
    window.putFirst(key)
    shrinkWindow(to: target + 1)
  }

  private var isHalfFull: Bool {
    figures.count >= figures.countLimit / 2 || figures.totalCost >= figures.costLimit / 2
  }

  /// First in the window, or in the protected part of main.
  public mutating func touch(_ key: UInt64) {
    sketch.add(hashes[key] ?? 0)
    if window.contains(key) {
      window.moveFirst(key)
      return
    }
    remove(key)
    protected.putFirst(key)
    limitProtected()
  }

  /// The protected part is four fifths of main.
  private mutating func limitProtected() {
    if protected.count * 5 > (protected.count + probation.count) * 4,
      let key = protected.takeLast()
    {
      probation.putFirst(key)
    }
  }

  /// From whichever queue it is in.
  public mutating func remove(_ key: UInt64) {
    if window.contains(key) {
      window.remove(key)
    } else if probation.contains(key) {
      probation.remove(key)
    } else {
      protected.remove(key)
    }
  }

  /// The last of the window or the last of main: whichever was used less.
  public mutating func takeVictim(sparing newest: UInt64?) -> UInt64 {
    let victim = probation.last(sparing: newest) ?? protected.last(sparing: newest)
    let isWindowLarge = window.count > target
    let candidate = victim == nil || isWindowLarge ? window.last(sparing: newest) : nil
    guard let victim else {
      let key = candidate ?? newest ?? 0
      remove(key)
      return key
    }
    if let candidate {
      window.remove(candidate)
      if !isAdmitted(candidate, for: victim) {
        windowGhost.remember(hashes[candidate] ?? 0, limit: figures.capacity / 4, figures)
        return candidate
      }
      probation.putFirst(candidate)
    }
    mainGhost.remember(hashes[victim] ?? 0, limit: figures.capacity / 4, figures)
    remove(victim)
    return victim
  }

  private mutating func isAdmitted(_ candidate: UInt64, for victim: UInt64) -> Bool {
    let uses = sketch.estimate(hashes[candidate] ?? 0)
    if uses > sketch.estimate(hashes[victim] ?? 0) { return true }
    if uses < 6 { return false }
    chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return chance >> (64 - 7) == 0
  }

  /// The newest into the window, of the others what was read into the protected part.
  public mutating func adopt(_ keys: [(key: UInt64, hash: UInt32, wasRead: Bool)]) {
    let old = keys.count - Int((UInt64(keys.count) * share) >> 32)
    for (place, entry) in keys.enumerated() {
      hashes[entry.key] = entry.hash
      if place >= old {
        window.putFirst(entry.key)
      } else if entry.wasRead {
        protected.putFirst(entry.key)
      } else {
        probation.putFirst(entry.key)
      }
    }
    for _ in keys { limitProtected() }
  }

  /// Probation goes first, what is protected last.
  public var order: [UInt64] {
    probation.keys.reversed() + window.keys.reversed() + protected.keys.reversed()
  }
}
