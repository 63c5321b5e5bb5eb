// SPDX-License-Identifier: MIT

#if Metrics
  import Foundation
  import Larder
  import LarderMetrics
  import LarderTestSupport
  import Metrics
  import MetricsTestKit
  import Testing

  @Suite("Statistics as metrics") struct StoreMetricsTests {
    private let directory: TemporaryDirectory
    private let factory = TestMetrics()
    private let metrics: StoreMetrics

    init() throws {
      directory = try TemporaryDirectory()
      metrics = StoreMetrics(factory: factory)
    }

    private func total(_ label: String, _ tier: String, cause: String? = nil) -> UInt64 {
      let dimensions = [("name", "test"), ("tier", tier)] + (cause.map { [("cause", $0)] } ?? [])
      return UInt64(factory.counterTotal(label: "larder_" + label, dimensions: dimensions))
    }

    private func gauge(_ label: String, _ tier: String) throws -> Double? {
      try factory.expectMeter("larder_" + label, [("name", "test"), ("tier", tier)]).lastValue
    }

    @Test func aMemoryCachesCountersAreItsStatisticsUnderLoad() throws {
      let cache = MemoryCache<Int, Int>(countLimit: 100)
      metrics.add(cache, name: "test")
      let metrics = metrics
      onDiskThreads(4) { thread in
        for turn in 0..<5000 {
          let key = (turn * (thread + 1)) % 300
          if cache.value(forKey: key) == nil { _ = try? cache.value(forKey: key) { key } }
          if turn.isMultiple(of: 1000) { metrics.sample() }
        }
      }
      metrics.sample()
      let statistics = cache.statistics
      #expect(statistics.hits > 0 && statistics.misses > 0 && statistics.evictions > 0)
      #expect(total("hits", "memory") == statistics.hits)
      #expect(total("misses", "memory") == statistics.misses)
      #expect(total("evictions", "memory", cause: "count") == statistics.evictedForCount)
      #expect(total("loads", "memory") == statistics.loads)
      let nanoseconds = UInt64(statistics.loadTime / Duration.nanoseconds(1))
      #expect(total("load_nanoseconds", "memory") == nanoseconds)
      #expect(try gauge("entries", "memory") == Double(statistics.count))
      #expect(try gauge("bytes", "memory") == Double(statistics.memoryBytes))
    }

    @Test func aResetIsNoNegativeCount() throws {
      let cache = MemoryCache<Int, Int>(countLimit: 100)
      metrics.add(cache, name: "test")
      for key in 0..<10 { _ = cache.value(forKey: key) }
      metrics.sample()
      cache.resetStatistics()
      for key in 0..<3 { _ = cache.value(forKey: key) }
      metrics.sample()
      metrics.sample()
      #expect(total("misses", "memory") == 13)
    }

    @Test func aCacheHasFiguresOfEachTier() async throws {
      let cache = try Cache<Int, Data>(at: .path(directory.file("cache").path), coder: .data)
      metrics.add(cache, name: "test")
      for key in 0..<50 {
        _ = try await cache.value(forKey: key) { Data(count: 1000) }
        _ = try await cache.value(forKey: key)
      }
      try await cache.drain()
      cache.memoryCache.removeAll()
      _ = try await cache.value(forKey: 1)
      try await cache.diskCache?.checkpoint()
      metrics.sample()
      let statistics = cache.statistics
      let tier = try #require(statistics.tiers.first)
      let disk = try #require(try cache.diskCache?.statistics)
      #expect(total("hits", "memory") == statistics.memory.hits && statistics.memory.hits > 0)
      #expect(total("hits", tier.name) == tier.hits && tier.hits > 0)
      #expect(total("misses", tier.name) == tier.misses && tier.misses > 0)
      #expect(total("writes", tier.name) == tier.writes)
      #expect(total("loads", "all") == 50 && statistics.loads == 50)
      #expect(total("promotions", "all") == statistics.promotions)
      let name = try #require(cache.diskCache?.name)
      #expect(total("flushes", name) == disk.checkpoints && disk.checkpoints > 0)
      let nanoseconds = UInt64(disk.checkpointTime / Duration.nanoseconds(1))
      #expect(total("flush_nanoseconds", name) == nanoseconds && nanoseconds > 0)
      #expect(try gauge("entries", name) == 50)
      #expect(try gauge("cost", name) == 50_000)
      #expect(try gauge("journal_capacity_bytes", name) == Double(disk.journalCapacity))
      try await cache.close()
      metrics.sample()
      #expect(total("loads", "all") == 50)
    }

    @Test func diskCachesEntriesAndArchivesAreReportedAlike() async throws {
      struct Item: Codable, Identifiable, Sendable { var id: Int }
      let disk = try DiskCache<Int, String>(at: .path(directory.file("disk").path))
      let entries = try EntryCache<String>(
        at: .path(directory.file("entries").path), valueCount: 1, version: 1)
      let archive = try Archive<Item>(at: .path(directory.file("archive").path))
      metrics.add(disk, name: "disk")
      metrics.add(entries, name: "entries")
      metrics.add(archive, name: "archive")
      try await disk.set("a", forKey: 1)
      try await entries.setValues([Data("a".utf8)], forKey: "1")
      try await archive.insert(Item(id: 1))
      metrics.sample()
      for name in ["disk", "entries", "archive"] {
        let meter = try factory.expectMeter("larder_entries", [("name", name), ("tier", "disk")])
        #expect(meter.lastValue == 1, "\(name)")
      }
    }

    @Test func aLogIsReportedWithWhatWasLost() throws {
      let log = try MessageLog(
        at: .url(directory.file("log")), capacity: 4096, whenFull: .overwriteOldest,
        coder: .string)
      let lost = Locked<UInt64?>(3)
      metrics.add(log, name: "test")
      metrics.addLostCount(name: "test") { lost.withLock { $0 } }
      for number in 0..<500 { try log.append("message \(number)") }
      metrics.sample()
      let statistics = try log.statistics
      #expect(total("messages", "log") == 500 && total("lost", "log") == 3)
      #expect(total("overwritten", "log") == statistics.overwritten && statistics.overwritten > 0)
      #expect(try gauge("entries", "log") == Double(statistics.count))
      #expect(try gauge("bytes", "log") == Double(statistics.size))
      lost.withLock { $0 = nil }
      try log.append("one more")
      metrics.sample()
      #expect(total("messages", "log") == 501 && total("lost", "log") == 3)
    }

    @Test func aStoreThatIsGoneIsForgotten() throws {
      var cache: MemoryCache<Int, Int>? = MemoryCache(countLimit: 1)
      weak let found = cache
      if let cache { metrics.add(cache, name: "test") }
      _ = cache?.value(forKey: 1)
      metrics.sample()
      cache = nil
      #expect(found == nil)
      metrics.sample()
      #expect(total("misses", "memory") == 1)
    }

    @Test func aSampleIsTakenAtEachInterval() async throws {
      let sleepers = Sleepers()
      let clock = CacheClock(
        now: { .zero }, date: { Date(timeIntervalSince1970: 0) },
        sleep: { try await sleepers.sleep($0) })
      let metrics = StoreMetrics(factory: factory, interval: .seconds(10), clock: clock)
      let samples = Locked<UInt64>(0)
      metrics.addLostCount(name: "test") {
        samples.withLock { count in
          count += 1
          return count
        }
      }
      let task = Task { await metrics.run() }
      for expected in 1...3 {
        while sleepers.count == 0 { await Task.yield() }
        #expect(samples.withLock { $0 } == UInt64(expected))
        sleepers.move(by: .seconds(10))
        while samples.withLock({ $0 }) == UInt64(expected) { await Task.yield() }
      }
      task.cancel()
      await task.value
      #expect(total("lost", "log") == samples.withLock { $0 })
      #expect(samples.withLock { $0 } == 5)
    }
  }
#endif
