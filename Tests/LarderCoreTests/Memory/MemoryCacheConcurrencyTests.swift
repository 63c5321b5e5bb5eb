// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Many threads and tasks on one cache.
struct MemoryCacheConcurrencyTests {
  @Test func aHundredTasksAtOnce() async {
    let cache = MemoryCache<Int, Int>(countLimit: 50)
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<100 {
        group.addTask {
          cache.set(task, forKey: task)
          _ = cache.value(forKey: task)
          if task % 3 == 0 { cache.remove(forKey: task) }
          if task % 10 == 0 { cache.trim(toCount: 30) }
          _ = cache.contains(task)
        }
      }
    }
    #expect(cache.count <= 50)
    #expect(cache.contradiction() == nil)
  }

  @Test(arguments: EvictionPolicy.allCases, [Int.max, 100])
  func everyReadGivesWhatWasStoredUnderItsKey(policy: EvictionPolicy, limit: Int) {
    let cache = MemoryCache<Int, [Int]>(policy: policy, countLimit: limit)
    onThreads(4) { thread in
      var random = SeededGenerator(seed: UInt64(thread))
      for step in 0..<10_000 {
        let key = Int.random(in: 0..<300, using: &random)
        switch step % 16 {
        case 0..<6: cache.set([key, step, key], forKey: key, cost: step % 7)
        case 6: cache.remove(forKey: key)
        case 7: cache.update(forKey: key) { $0 = [key, step, key] }
        case 8:
          if step % 128 == 8 { cache.set((0..<50).map { (key: $0, value: [$0, step, $0]) }) }
        default:
          if let value = cache.value(forKey: key), value.count != 3 || value[0] != key {
            Issue.record("\(key): \(value), seed \(random.seed)")
          }
        }
        if step % 2500 == 0 {
          for entry in cache.entries() where entry.value[2] != entry.key {
            Issue.record("\(entry), seed \(random.seed)")
          }
          if step % 5000 == 0 { cache.removeAll { key, _ in key % 3 == thread } }
        }
      }
    }
    #expect(cache.count <= limit)
    #expect(cache.contradiction() == nil)
  }

  @Test func limitsHoldWhateverOthersDo() {
    let cache = MemoryCache<Int, Int>(countLimit: 64, expiration: .seconds(1000))
    let most = Locked(0)
    onThreads(4) { thread in
      for step in 0..<5000 {
        if thread == 0 {
          let count = cache.count
          most.withLock { $0 = max($0, count) }
        } else if thread == 1, step % 100 == 0 {
          cache.countLimit = step % 200 == 0 ? 32 : 64
        } else {
          cache.set(step, forKey: step * 4 + thread)
        }
      }
    }
    #expect(most.withLock { $0 } <= 64)
    #expect(cache.contradiction() == nil)
  }

  @Test func lifeAndDeathOfEntriesOnManyThreads() async {
    let clock = ManualClock()
    let alive = Counter()
    do {
      let cache = makeCache(Int.self, Tracked.self, policy: .adaptive) {
        $0.clock = clock.clock
        $0.countLimit = 200
        $0.expiration = .init(afterWrite: .seconds(5), afterAccess: .seconds(2))
        $0.autoTrimInterval = .milliseconds(1)
      }
      onThreads(4) { thread in
        var random = SeededGenerator(seed: UInt64(thread) + 77)
        for step in 0..<5000 {
          let key = Int.random(in: 0..<500, using: &random)
          if step % 3 == 0 {
            cache.set(Tracked(key, alive), forKey: key)
          } else if let value = cache.value(forKey: key), value.id != key {
            Issue.record("\(key): \(value.id), seed \(random.seed)")
          }
          if step % 50 == 0 { clock.advance(0.1) }
        }
      }
      #expect(cache.contradiction() == nil)
    }
    await until { alive.value == 0 }
  }

  @Test func readingWhileTheCacheGrowsFindsEverythingThatIsThere() {
    let cache = MemoryCache<Int, Int>()
    for key in 0..<1000 { cache.set(key, forKey: key) }
    onThreads(3) { thread in
      if thread == 0 {
        for key in 1000..<60_000 { cache.set(key, forKey: key) }
      } else {
        for step in 0..<60_000 where cache.value(forKey: step % 1000) != step % 1000 {
          Issue.record("\(step)")
        }
      }
    }
    #expect(cache.count == 60_000)
  }

  @Test func manyLoadsOfFewKeysAgreeWithWhatIsStored() async throws {
    let cache = MemoryCache<Int, Int>(countLimit: 5)
    let loads = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for step in 0..<300 {
            let key = (step * 7 + task) % 12
            let value = try await cache.value(forKey: key) {
              loads.add()
              await Task.yield()
              return key * 10
            }
            if value != key * 10 { Issue.record("\(key): \(value)") }
            if step % 11 == 0 { cache.remove(forKey: key) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(cache.statistics.loads == UInt64(loads.value))
    #expect(cache.count <= 5)
  }
}
