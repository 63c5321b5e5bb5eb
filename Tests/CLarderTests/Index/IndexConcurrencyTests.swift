// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Synchronization
import Testing

/// Eight threads at once. What each of them does is random, and so is what they do together: what
/// is looked at are things that hold however they meet.
@Suite("Index: many threads") struct IndexConcurrencyTests {
  private static let threads = 8
  private static let rounds = effort(10_000, long: 40_000, sanitized: 4000)

  /// What happened, as the threads saw it.
  private struct Tally {
    var gets: UInt64 = 0
    var insertions: UInt64 = 0
    var rewrites: UInt64 = 0
    var gone: UInt64 = 0
    var wrong: [String] = []

    static func += (sum: inout Tally, more: Tally) {
      sum.gets += more.gets
      sum.insertions += more.insertions
      sum.rewrites += more.rewrites
      sum.gone += more.gone
      sum.wrong += more.wrong
    }
  }

  struct Plan: CustomStringConvertible, Sendable {
    var policy: larder_index_policy
    var keys: UInt64
    var limit: UInt64
    var readers: UInt32 = 0
    var expires = false

    var description: String {
      "\(IndexPlan.names[Int(policy.rawValue)]), \(keys) keys, limit \(limit), "
        + "\(readers) readers\(expires ? ", expiring" : "")"
    }
  }

  static let plans: [Plan] = IndexModelTests.policies.flatMap { policy in
    [
      Plan(policy: policy, keys: 100, limit: 40),
      // Either side of what LRU reads exclusively.
      Plan(policy: policy, keys: 2500, limit: 1100, readers: 1, expires: true),
      Plan(policy: policy, keys: 20_000, limit: .max, readers: 64),
    ]
  }

  /// A value tells which key it belongs to.
  private static func value(_ key: UInt64, _ count: Int) -> UInt64 {
    key << 32 | UInt64(truncatingIfNeeded: count & 0xFFFF)
  }

  /// One thread's part.
  private struct Worker {
    let index: Index
    let plan: Plan
    var generator: SeededGenerator
    var tally = Tally()

    mutating func random(_ bound: UInt64) -> UInt64 { ((generator.next() >> 32) * bound) >> 32 }

    mutating func work(_ rounds: Int) {
      for round in 0..<rounds {
        let key = random(4) == 0 ? random(plan.keys) : random(plan.keys / 8)
        do {
          switch random(100) {
          case 0..<60: get(key)
          case 60..<85: try set(key, round)
          case 85..<95: remove(key)
          case 95: try pin(key)
          case 96: try changeLimits()
          case 97:
            if plan.expires { index.world.now.add(random(50) == 0 ? 500 : 1, ordering: .relaxed) }
          default: try look()
          }
        } catch {
          tally.wrong.append("\(error)")
        }
        if tally.wrong.count > 3 { return }
      }
    }

    private mutating func expect(_ isRight: Bool, _ what: @autoclosure () -> String) {
      if !isRight { tally.wrong.append(what()) }
    }

    private mutating func get(_ key: UInt64) {
      let value = index.get(key)
      tally.gets += 1
      expect(value.map { $0 >> 32 == key } ?? true, "\(key) has \(value ?? 0)")
    }

    private mutating func set(_ key: UInt64, _ round: Int) throws {
      try index.writing {
        tally.gone += UInt64(index.expireAll().count)
        var slot = index.find(key)
        if slot == Index.none {
          try check(index.c.insert(index.raw, index.hash(key), 1, &slot))
          tally.insertions += 1
        } else {
          index.c.rewrite(index.raw, slot, 1)
          tally.rewrites += 1
        }
        index.fill(slot, key, IndexConcurrencyTests.value(key, round))
        if plan.expires && round % 4 == 0 {
          var expiry = larder_index_expiry(write: 300, access: 100)
          try check(index.c.setEntryExpiry(index.raw, slot, &expiry))
        }
        tally.gone += UInt64(index.evictAll().count)
        let count = index.c.count(index.raw)
        expect(count <= plan.limit, "\(count) entries")
        expect(index.c.totalCost(index.raw) == count, "cost and count differ")
      }
    }

    private mutating func remove(_ key: UInt64) {
      if index.remove(key) { tally.gone += 1 }
    }

    /// Only for a moment, or all would be pinned in the end.
    private mutating func pin(_ key: UInt64) throws {
      try index.writing {
        let slot = index.find(key)
        if slot == Index.none { return }
        try check(index.c.pin(index.raw, slot, true))
        try check(index.c.pin(index.raw, slot, false))
      }
    }

    private mutating func changeLimits() throws {
      let limit = plan.limit == .max ? .max : plan.limit - random(plan.limit / 4)
      tally.gone += UInt64(try index.setLimits(count: limit).count)
    }

    private mutating func look() throws {
      switch random(40) {
      case 0:
        let contradiction = index.contradiction
        expect(contradiction == nil, contradiction ?? "")
      case 1:
        let keys = try index.keys(limit: 100)
        expect(Set(keys).count == keys.count, "a key is listed twice")
      case 2...5:
        _ = index.statistics
      default:
        // A reader sees nothing half done.
        let token = index.c.readBegin(index.raw)
        let count = index.c.count(index.raw)
        expect(count <= plan.limit, "\(count) entries")
        expect(index.c.totalCost(index.raw) == count, "cost and count differ")
        _ = index.c.isDue(index.raw)
        index.c.readEnd(index.raw, token, Index.quiet)
      }
    }
  }

  @Test(arguments: plans)
  func whateverThreadsDoTogetherEachKeyHasItsValueAndLimitsHold(plan: Plan) throws {
    let index = try Index(plan.policy, count: plan.limit) { $0.readers = plan.readers }
    let sum = Locked(Tally())
    let seed = SeededGenerator(seed: 4).seed
    onThreads(Self.threads) { thread in
      var worker = Worker(
        index: index, plan: plan, generator: SeededGenerator(seed: seed &+ UInt64(thread) << 32))
      worker.work(Self.rounds)
      let tally = worker.tally
      sum.withLock { $0 += tally }
    }
    let tally = sum.withLock { $0 }
    #expect(tally.wrong == [], "\(plan), seed \(seed)")
    let statistics = index.statistics
    #expect(statistics.hits > 0 && statistics.misses > 0)
    #expect(statistics.hits + statistics.misses == tally.gets)
    #expect(statistics.insertions == tally.insertions)
    #expect(statistics.byCause.reduce(0, +) == tally.gone + tally.rewrites)
    #expect(tally.insertions - tally.gone == UInt64(index.count))
    #expect(index.contradiction == nil)
  }

  @Test func aWriterIsAloneAndReadersAreNot() throws {
    // More than LRU reads exclusively.
    let index = try Index(LARDER_INDEX_LRU) { $0.readers = 8 }
    for key in 0..<2000 as Range<UInt64> { try index.set(key, key) }
    let inside = Atomic<Int>(0)
    let wrong = Atomic<Int>(0)
    let together = Atomic<Bool>(false)
    let shared = UnsafeMutablePointer<Int>.allocate(capacity: 2)
    shared.initialize(repeating: 0, count: 2)
    defer { shared.deallocate() }
    nonisolated(unsafe) let pair = shared
    let rounds = Self.rounds / 64 * 16
    onThreads(Self.threads) { thread in
      for round in 0..<rounds {
        if round % 16 == thread {
          index.writing {
            if inside.load(ordering: .relaxed) != 0 { wrong.add(1, ordering: .relaxed) }
            pair[0] += 1
            pair[1] += 1
          }
        } else {
          let token = index.c.readBegin(index.raw)
          if inside.add(1, ordering: .relaxed).newValue > 1 {
            together.store(true, ordering: .relaxed)
          }
          if pair[0] != pair[1] { wrong.add(1, ordering: .relaxed) }
          inside.subtract(1, ordering: .relaxed)
          index.c.readEnd(index.raw, token, Index.quiet)
        }
      }
    }
    #expect(wrong.load(ordering: .relaxed) == 0)
    #expect(pair[0] == Self.threads * (rounds / 16))
    // Two that hold it for reading at once, seen for certain.
    let first = index.c.readBegin(index.raw)
    onThreads(1) { _ in
      let second = index.c.readBegin(index.raw)
      together.store(true, ordering: .relaxed)
      index.c.readEnd(index.raw, second, Index.quiet)
    }
    index.c.readEnd(index.raw, first, Index.quiet)
    let wereTogether = together.load(ordering: .relaxed)
    #expect(wereTogether)
  }

  @Test(arguments: IndexModelTests.policies)
  func readersFindWhatIsThereWhileItGrows(policy: larder_index_policy) throws {
    let index = try Index(policy)
    let count = Self.rounds
    let written = Atomic<Int>(0)
    let lost = Atomic<Int>(0)
    onThreads(4) { thread in
      if thread == 0 {
        for key in 0..<count {
          // Without memory the test could not go on anyway.
          _ = try? index.set(UInt64(key), UInt64(key))
          written.store(key + 1, ordering: .releasing)
        }
        return
      }
      var generator = SeededGenerator(seed: UInt64(thread))
      while true {
        let there = written.load(ordering: .acquiring)
        if there == 0 { continue }
        let key = generator.next() % UInt64(there)
        if index.get(key) != key { lost.add(1, ordering: .relaxed) }
        if there == count { return }
      }
    }
    #expect(lost.load(ordering: .relaxed) == 0)
    #expect(index.count == count)
    #expect(index.contradiction == nil)
  }

  @Test func threadsThatComeTogetherGetTheSameHashes() {
    let hashes = Locked<Set<UInt64>>([])
    onThreads(Self.threads) { _ in
      let hash = larder_index_hash_u64(7) &+ larder_index_hash_bytes("seven", 5)
      hashes.withLock { _ = $0.insert(hash) }
    }
    #expect(hashes.withLock { $0.count } == 1)
  }
}
