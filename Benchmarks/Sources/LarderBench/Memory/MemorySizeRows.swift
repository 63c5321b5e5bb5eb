// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import LarderCore

// The rows on what it takes, and on what becomes of time when there is more.
extension MemoryArea {
  static var bytes: Row {
    bytes("memory.bytes", "default policy, no limits", .cache, goal: .ratio(1.3), takesLong: false)
  }

  /// With a limit there are links, and what the policy remembers of entries that are gone.
  static var bytesBounded: [Row] {
    [
      bytes("memory.bytes.bounded.lru", ".lru, countLimit as many", .boundedLRU, goal: .none),
      bytes(
        "memory.bytes.bounded.adaptive", ".adaptive, countLimit as many", .boundedAdaptive,
        goal: .none),
    ]
  }

  private static func bytes(
    _ id: String, _ settings: String, _ subject: ResidentBytes.Subject, goal: Goal,
    takesLong: Bool = true
  ) -> Row {
    Row(
      id: id,
      ours: """
        resident bytes per entry after as many sets into a new MemoryCache<Int, Int>, \(settings); \
        in a process of its own, by /proc/self/statm; of five numbers of entries the one with the \
        highest ratio
        """,
      rival: Rival(
        name: "Dictionary",
        settings: "a Dictionary<Int, Int> behind a Mutex, in a process of its own, the same way",
        absence: ResidentBytes.absence),
      goal: goal, unit: "bytes",
      effort: Effort(fewest: Effort.judged, most: Effort.judged, seconds: 1, warmsUp: false),
      takesLong: takesLong
    ) { _ in
      let sizes = WorstSize(subject)
      return Contest(
        ours: {
          guard ResidentBytes.absence == nil else { return .nan }
          return try sizes.ours()
        },
        rival: { try sizes.rival() }, remarks: { sizes.remarks })
    }
  }

  static var growth: Row {
    Row(
      id: "memory.growth",
      ours: """
        how much longer value(forKey:) takes at 10,000,000 entries than at 10,000, \
        MemoryCache<Int, Int>, default policy, no limits, random order
        """,
      rival: Rival(
        name: "Dictionary + Mutex", settings: "its own growth, the same keys in the same order"),
      goal: .ratio(1), unit: "times"
    ) { bench in
      let keys = Keys.integers(10_000_000)
      var generator = SplitMix(seed: 5)
      // More than any cache of a processor holds, and less than all: the list itself is read too.
      let draws = (0..<2_000_000).map { _ in keys[Int.random(in: 0..<keys.count, using: &generator)]
      }
      let ours = TwoSizes(bench, keys, draws) { cache() }
      let theirs = TwoSizes(bench, keys, draws) { LockedDictionary<Int, Int>() }
      return Contest(
        ours: { try ours.sample() }, rival: { try theirs.sample() },
        remarks: { Growth.remarks("10,000 entries", ours.growth, theirs.growth) })
    }
  }

  static var allocations: Row {
    Row(
      id: "memory.hit.allocations",
      ours: """
        calls of malloc and its kin during value(forKey:) of MemoryCache<Int, Int>: default \
        policy, each policy with a limit, and with expiry after access
        """,
      rival: rivals_allocations_countable()
        ? nil : Rival(name: "–", settings: "–", absence: "malloc cannot be counted here"),
      goal: .count(0, of: "allocations"), isExact: true
    ) { bench in
      let keys = Keys.integers(count)
      let limited = [EvictionPolicy.lru, .fifo, .s3fifo, .adaptive].map { policy in
        cache {
          $0.policy = policy
          $0.countLimit = count
        }
      }
      let caches = [cache(), cache { $0.expiration = .afterAccess(.seconds(3600)) }] + limited
      for cache in caches { cache.fill(with: keys) }
      let order = Keys.shuffled(keys)
      return Contest(ours: {
        guard rivals_allocations_countable() else { return .nan }
        var found = 0
        rivals_allocations_start()
        order.withUnsafeBufferPointer { keys in
          for cache in caches { found &+= sum(of: keys, in: cache) }
        }
        let allocations = rivals_allocations_stop()
        consume(found)
        return Double(allocations) / Double(caches.count * count)
      })
    }
  }
}

/// A small store and a large one of a kind.
private struct TwoSizes<Store: KeyedStore<Int, Int>> {
  let growth = Growth()
  private let bench: Bench
  private let small: Store
  private let large: Store
  private let smallRounds: Rounds<Int>
  private let largeRounds: Rounds<Int>

  init(_ bench: Bench, _ keys: [Int], _ draws: [Int], _ make: () -> Store) {
    self.bench = bench
    small = make()
    large = make()
    small.fill(with: Array(keys.prefix(10_000)))
    large.fill(with: keys)
    let many = (0..<10).flatMap { Keys.shuffled(Array(keys.prefix(10_000)), seed: $0) }
    smallRounds = Rounds(many, values: many.map(value(of:)), size: many.count)
    largeRounds = Rounds(draws, values: draws.map(value(of:)), size: 20_000)
  }

  func sample() throws -> Double {
    try growth.sample(
      small: { try bench.read(smallRounds, in: small) },
      // Nothing would be left in the processor's caches of what is read before.
      large: { try bench.read(largeRounds, in: large, warmUp: false) })
  }
}
