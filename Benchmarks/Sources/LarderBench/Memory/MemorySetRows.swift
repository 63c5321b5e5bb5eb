// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import LarderCore

// The rows that write.
extension MemoryArea {
  static var setOverwrite: Row {
    Row(
      id: "memory.set.overwrite",
      ours: """
        MemoryCache<Int, Int>.set of keys that are there, default policy, no limits; 200,000 keys \
        in random order
        """,
      rival: .lockedDictionary, goal: .ratio(1.5)
    ) { bench in overwrites(bench, theirs: LockedDictionary<Int, Int>()) }
  }

  static var setFoundation: Row {
    Row(
      id: "memory.set.nscache",
      ours: "MemoryCache<Int, Int>.set of keys that are there; as memory.set.overwrite",
      rival: .foundationCache, goal: .none
    ) { bench in overwrites(bench, theirs: FoundationCache()) }
  }

  private static func overwrites<Theirs: KeyedStore<Int, Int>>(
    _ bench: Bench, theirs: Theirs
  ) -> Contest {
    let keys = Keys.integers(count)
    let ours = cache()
    ours.fill(with: keys)
    theirs.fill(with: keys)
    let order = Keys.shuffled(keys)
    // Nothing is read: the sum to expect is 0.
    let nothing = [Int](repeating: 0, count: count)
    let ourRounds = Rounds(order, values: nothing, size: piece)
    let theirRounds = Rounds(order, values: nothing, size: piece)
    return Contest(
      ours: {
        ourRounds.warmUp { fill(ours, with: $0) }
        return try ourRounds.sample { keys in
          (0, bench.time(keys.count, loop: .swift) { fill(ours, with: keys) })
        }
      },
      rival: {
        theirRounds.warmUp { fill(theirs, with: $0) }
        return try theirRounds.sample { keys in
          (0, bench.time(keys.count, loop: .swift) { fill(theirs, with: keys) })
        }
      })
  }

  static var setGrow: Row {
    grows(
      "grow", "a new MemoryCache<Int, Int>, default policy, no limits", goal: .ratio(0.5)
    ) { _ in }
  }

  static var setEvict: Row {
    grows(
      "evict", "a new MemoryCache<Int, Int>, default policy, countLimit 10,000", goal: .ratio(0.8)
    ) { $0.countLimit = 10_000 }
  }

  static var setExpiring: Row {
    grows(
      "expiring", "a new MemoryCache<Int, Int>, default policy, no limits, expiration 300 s",
      goal: .ratio(1.5)
    ) { $0.expiration = .seconds(300) }
  }

  /// Both sides know at the start how many there will be.
  static var setReserved: Row {
    grows(
      "reserved", "a new MemoryCache<Int, Int>, default policy, countLimit 200,000",
      rival: Rival(
        name: "Dictionary + Mutex, reserved",
        settings: "as above, with reserveCapacity(200,000)"),
      reserved: count, goal: .ratio(1)
    ) { $0.countLimit = count }
  }

  static var setEvictByPolicy: [Row] {
    let policies: [(String, EvictionPolicy)] = [
      ("lru", .lru), ("s3fifo", .s3fifo), ("fifo", .fifo),
    ]
    return policies.map { name, policy in
      grows(
        "evict.\(name)", "a new MemoryCache<Int, Int>, .\(name), countLimit 10,000", goal: .none
      ) {
        $0.policy = policy
        $0.countLimit = 10_000
      }
    }
  }

  private static func grows(
    _ id: String, _ what: String, rival: Rival = .lockedDictionary, reserved: Int = 0, goal: Goal,
    _ change: @escaping (inout Configuration) -> Void
  ) -> Row {
    Row(
      id: "memory.set.\(id)",
      ours: "\(what): 200,000 new keys are set; making it is inside the time, freeing it is not",
      rival: rival, goal: goal
    ) { bench in
      let keys = Keys.integers(count)
      return Contest(
        ours: { newStore(bench, keys) { cache(change) } },
        rival: { newStore(bench, keys) { LockedDictionary<Int, Int>(capacity: reserved) } })
    }
  }

  private static func newStore<Store: KeyedStore<Int, Int>>(
    _ bench: Bench, _ keys: [Int], _ make: () -> Store
  ) -> Double {
    var store: Store?
    let time = bench.time(keys.count, loop: .swift) {
      let new = make()
      new.fill(with: keys)
      store = new
    }
    withExtendedLifetime(store) {}
    return time
  }

  static var mixedZipf: Row {
    Row(
      id: "memory.mixed.zipf",
      ours: """
        MemoryCache<Int, Int>, default policy, countLimit 20,000: nine value(forKey:), one set, of \
        200,000 keys drawn by Zipf 0.99, so that entries come and go
        """,
      rival: Rival(
        name: "Dictionary + Mutex",
        settings: "as above, the same calls in the same order; it keeps all 200,000 and evicts none"
      ),
      goal: .none
    ) { bench in
      let keys = Keys.integers(count)
      let order = zipf(of: keys, draws: 500_000)
      let ours = cache { $0.countLimit = 20_000 }
      let theirs = LockedDictionary<Int, Int>()
      ours.fill(with: keys)
      theirs.fill(with: keys)
      var ourStart = 0
      var theirStart = 0
      return Contest(
        ours: { mixed(bench, order, from: &ourStart, in: ours) },
        rival: { mixed(bench, order, from: &theirStart, in: theirs) })
    }
  }

  private static func mixed<Store: KeyedStore<Int, Int>>(
    _ bench: Bench, _ order: [Int], from start: inout Int, in store: Store
  ) -> Double {
    var time = 0.0
    for _ in 0..<2 {  // The first only brings back what the other side has driven out.
      time = order[start..<start + piece].withUnsafeBufferPointer { keys in
        bench.time(keys.count, loop: .swift) { consume(mix(keys, in: store)) }
      }
      start = (start + piece) % order.count
    }
    return time
  }

  /// How long one caller may have to wait because the store grows.
  static var setLongest: Row {
    Row(
      id: "memory.set.longest",
      ours: """
        the longest single set of 1,000,000 that fill a new MemoryCache<Int, Int>, default policy, \
        no limits; what other programs interrupt is in it
        """,
      rival: .lockedDictionary, goal: .none, unit: "ns at worst"
    ) { _ in
      let keys = Keys.integers(1_000_000)
      return Contest(
        ours: { longestSet(of: keys, in: cache()) },
        rival: { longestSet(of: keys, in: LockedDictionary<Int, Int>()) })
    }
  }

  private static func longestSet<Store: KeyedStore<Int, Int>>(
    of keys: [Int], in store: Store
  ) -> Double {
    var longest: UInt64 = 0
    var before = rivals_now_ns()
    for key in keys {
      store.put(value(of: key), under: key)
      let now = rivals_now_ns()
      longest = max(longest, now - before)
      before = now
    }
    return Double(longest)
  }
}
