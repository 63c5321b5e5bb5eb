// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

// The rows that read keys which are there.
extension MemoryArea {
  static var getRandom: Row {
    reading("random", "default policy, no limits", goal: .ratio(1))
  }

  static var getRandomLRU: Row {
    reading("random.lru", ".lru, no limits", goal: .ratio(1)) { $0.policy = .lru }
  }

  /// With a limit each read has to reach the policy, not only a stamp.
  static var getBounded: [Row] {
    let policies: [(String, EvictionPolicy, Goal)] = [
      ("adaptive", .adaptive, .ratio(1)), ("lru", .lru, .ratio(1)), ("s3fifo", .s3fifo, .none),
      ("fifo", .fifo, .none),
    ]
    return policies.map { name, policy, goal in
      reading("bounded.\(name)", ".\(name), countLimit 200,000, all keys fit", goal: goal) {
        $0.policy = policy
        $0.countLimit = count
      }
    }
  }

  static var getExpiring: Row {
    reading(
      "expiring", "default policy, no limits, all entries expire in 300 s", goal: .ratio(1)
    ) { $0.expiration = .seconds(300) }
  }

  static var getExpiringAccess: Row {
    reading(
      "expiring.access",
      "default policy, no limits, all entries expire in an hour after their last access",
      goal: .none
    ) { $0.expiration = .afterAccess(.seconds(3600)) }
  }

  /// All of them fit in the processor's nearest caches: the work shows, and not the memory.
  static var getSmall: Row {
    reading("small", "default policy, no limits", count: 10_000, goal: .none)
  }

  private static func reading(
    _ id: String, _ settings: String, count: Int = MemoryArea.count, goal: Goal,
    _ change: @escaping (inout Configuration) -> Void = { _ in }
  ) -> Row {
    Row(
      id: "memory.get.\(id)",
      ours: """
        MemoryCache<Int, Int>.value(forKey:), \(settings); \(significant(Double(count))) keys in \
        random order
        """,
      rival: .lockedDictionary, goal: goal
    ) { bench in
      reads(bench, count, ours: cache(change), theirs: LockedDictionary<Int, Int>())
    }
  }

  /// Both sides with the same keys, stored in one order and read in another.
  private static func reads<Theirs: KeyedStore<Int, Int>>(
    _ bench: Bench, _ count: Int = MemoryArea.count, ours: Cache, theirs: Theirs
  ) -> Contest {
    let keys = Keys.integers(count)
    ours.fill(with: keys)
    theirs.fill(with: keys)
    let order = Keys.shuffled(keys)
    let ourRounds = Rounds(order, values: order.map(value(of:)), size: piece)
    let theirRounds = Rounds(order, values: order.map(value(of:)), size: piece)
    return Contest(
      ours: { try bench.read(ourRounds, in: ours) },
      rival: { try bench.read(theirRounds, in: theirs) })
  }

  static var getString: Row {
    strings(
      "memory.get.string", "the keys asked for are equal to those stored, and not the same memory",
      goal: .ratio(1)
    ) { Keys.strings($0.count) }
  }

  /// The easier case, in which two strings are equal because they are one.
  static var getSameString: Row {
    strings("memory.get.string.same", "the keys asked for are those stored", goal: .none) { $0 }
  }

  private static func strings(
    _ id: String, _ how: String, goal: Goal, askedFor: @escaping ([String]) -> [String]
  ) -> Row {
    Row(
      id: id,
      ours: """
        MemoryCache<String, Int>.value(forKey:), default policy, no limits; 200,000 keys of 20 \
        bytes in random order, \(how)
        """,
      rival: .lockedDictionary, goal: goal
    ) { bench in
      let keys = Keys.strings(count)
      let ours = MemoryCache<String, Int>()
      let theirs = LockedDictionary<String, Int>()
      fill(ours, with: keys)
      fill(theirs, with: keys)
      let order = Keys.shuffled(Array(askedFor(keys).enumerated()))
      let asked = order.map { $0.element }
      let values = order.map { $0.offset }
      let ourRounds = Rounds(asked, values: values, size: piece)
      let theirRounds = Rounds(asked, values: values, size: piece)
      return Contest(
        ours: { try bench.read(ourRounds, in: ours) },
        rival: { try bench.read(theirRounds, in: theirs) })
    }
  }

  static var getZipf: Row {
    Row(
      id: "memory.get.zipf",
      ours: """
        MemoryCache<Int, Int>.value(forKey:), default policy, no limits; 200,000 keys, of which a \
        few are asked for often (Zipf 0.99)
        """,
      rival: .lockedDictionary, goal: .none
    ) { bench in
      let keys = Keys.integers(count)
      let (ours, theirs) = filled(with: keys)
      let order = zipf(of: keys, draws: 500_000)
      let ourRounds = Rounds(order, values: order.map(value(of:)), size: piece)
      let theirRounds = Rounds(order, values: order.map(value(of:)), size: piece)
      return Contest(
        ours: { try bench.read(ourRounds, in: ours) },
        rival: { try bench.read(theirRounds, in: theirs) })
    }
  }

  /// Some of `keys` often and most of them rarely; which they are has nothing to do with their
  /// order.
  static func zipf(of keys: [Int], draws: Int) -> [Int] {
    let zipf = Zipf(count: keys.count, exponent: 0.99)
    let ranked = Keys.shuffled(keys, seed: 3)
    var generator = SplitMix(seed: 4)
    return (0..<draws).map { _ in ranked[zipf.draw(&generator)] }
  }

  static var getOrLoad: Row {
    Row(
      id: "memory.get.orload",
      ours: """
        MemoryCache<Int, Int>.value(forKey:orLoad:) where nothing has to be loaded, default \
        policy, no limits; 200,000 keys in random order
        """,
      rival: .lockedDictionary, goal: .none
    ) { bench in
      let keys = Keys.integers(count)
      let (ours, theirs) = filled(with: keys)
      let order = Keys.shuffled(keys)
      let ourRounds = Rounds(order, values: order.map(value(of:)), size: piece)
      let theirRounds = Rounds(order, values: order.map(value(of:)), size: piece)
      return Contest(
        ours: {
          ourRounds.warmUp { consume(sum(of: $0, in: ours)) }
          return try ourRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .swift) {
              found = try sumOrLoad(of: keys, in: ours)
            }
            return (found, time)
          }
        },
        rival: { try bench.read(theirRounds, in: theirs) })
    }
  }

  static var getFoundation: Row {
    Row(
      id: "memory.get.nscache",
      ours: "MemoryCache<Int, Int>.value(forKey:), default policy, no limits; as memory.get.random",
      rival: .foundationCache, goal: .none
    ) { bench in reads(bench, ours: cache(), theirs: FoundationCache()) }
  }
}
