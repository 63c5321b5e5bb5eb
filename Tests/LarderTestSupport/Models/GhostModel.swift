// SPDX-License-Identifier: MIT

/// Hashes of entries that went lately, in the order in which they went.
///
/// Each has a stamp, by which the oldest are forgotten. They lie in buckets, as in
/// `index/policy/ghost.h`: rings of seven, in which a hash takes the place of the one that
/// came seven before.
struct GhostModel {
  private struct Place {
    var hash: UInt32 = 0
    /// Long ago if nothing was there, or if it was taken out.
    var stamp = -longAgo
  }

  private static let longAgo = 1 << 30

  private var buckets: [[Place]] = []
  /// Where the next hash goes in each.
  private var next: [Int] = []
  /// For how many hashes there is memory.
  private(set) var room: UInt64 = 0
  /// The last stamp, and the one up to which all are forgotten.
  private var stamp = 0
  private var horizon = 0

  /// The stamps of the hashes that are there.
  private var alive: Set<Int> = []

  private func isThere(_ place: Place) -> Bool { alive.contains(place.stamp) }

  /// How many hashes there are.
  var count: UInt64 { UInt64(alive.count) }

  /// The number of stamps that are told apart: a power of two.
  private var span: Int {
    var span = 64
    while span <= Int(room + room / 4) { span *= 2 }
    return span
  }

  private func bucket(of hash: UInt32) -> Int { Int((UInt64(hash) * UInt64(buckets.count)) >> 32) }

  /// Changes the room; the oldest go if not all fit.
  mutating func resize(_ wanted: UInt64) {
    if wanted == room { return }
    let old = buckets.joined().filter { isThere($0) }.sorted { $0.stamp < $1.stamp }
    self = GhostModel()
    if wanted == 0 { return }
    room = wanted
    buckets = Array(repeating: Array(repeating: Place(), count: 7), count: Int(room / 3) + 1)
    next = Array(repeating: 0, count: buckets.count)
    for place in old { put(place.hash, limit: room) }
  }

  /// Forgets everything.
  mutating func clear() { self = GhostModel() }

  private mutating func forgetOldest() {
    horizon += 1
    alive.remove(horizon)
  }

  /// Puts a hash behind the others, of which so many may be there then.
  mutating func put(_ hash: UInt32, limit: UInt64) {
    let limit = min(limit, room)
    while count > 0, count >= limit || stamp - horizon >= span { forgetOldest() }
    if limit == 0 { return }
    if count == 0 { horizon = stamp }
    let bucket = bucket(of: hash)
    let place = next[bucket]
    next[bucket] = (place + 1) % 7
    alive.remove(buckets[bucket][place].stamp)
    stamp += 1
    alive.insert(stamp)
    buckets[bucket][place] = Place(hash: hash, stamp: stamp)
  }

  /// The same, with more room if the limit wants it: at once so much as the limit of
  /// entries will want, or twice as much.
  mutating func remember(_ hash: UInt32, limit: UInt64, _ figures: EvictionFigures) {
    if limit > room { resize(figures.count < figures.countLimit ? 2 * limit : limit) }
    put(hash, limit: limit)
  }

  /// Takes a hash out, and says whether it was there.
  mutating func take(_ hash: UInt32) -> Bool {
    if count == 0 { return false }
    let bucket = bucket(of: hash)
    for place in 0..<7 {
      let found = buckets[bucket][place]
      if found.hash != hash || !isThere(found) { continue }
      alive.remove(found.stamp)
      buckets[bucket][place].stamp = horizon - Self.longAgo
      return true
    }
    return false
  }
}
