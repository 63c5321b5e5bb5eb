// SPDX-License-Identifier: MIT

#if Metrics
  public import Larder
  public import LarderCore

  extension StoreMetrics {
    /// Adds a cache in memory, as the tier `memory`.
    ///
    /// - Parameters:
    ///   - cache: The cache.
    ///   - name: The dimension `name`.
    /// - Complexity: O(1).
    public func add<Key, Value>(_ cache: MemoryCache<Key, Value>, name: String) {
      add(name) { [weak cache] in
        guard let statistics = cache?.statistics else { return .gone }
        return .some(Self.reads(of: statistics) + Self.loads(of: statistics))
      }
    }

    /// Adds a cache on disk, as the tier `disk`.
    ///
    /// - Parameters:
    ///   - cache: The cache.
    ///   - name: The dimension `name`.
    /// - Complexity: O(1).
    public func add<Key, Value>(_ cache: DiskCache<Key, Value>, name: String) {
      add(name) { [weak cache] in Self.whole(cache.map { try? $0.statistics }) }
    }

    /// Adds a cache of entries, as the tier `disk`.
    ///
    /// - Parameters:
    ///   - cache: The cache.
    ///   - name: The dimension `name`.
    /// - Complexity: O(1).
    public func add<Key>(_ cache: EntryCache<Key>, name: String) {
      add(name) { [weak cache] in Self.whole(cache.map { try? $0.statistics }) }
    }

    /// Adds an archive, as the tier `disk`.
    ///
    /// - Parameters:
    ///   - archive: The archive.
    ///   - name: The dimension `name`.
    /// - Complexity: O(1).
    public func add<Element>(_ archive: Archive<Element>, name: String) {
      add(name) { [weak archive] in Self.whole(archive.map { try? $0.statistics }) }
    }

    /// Adds a cache of several tiers: `memory`, the name of each tier below it, and `all` for what
    /// belongs to none.
    ///
    /// - Parameters:
    ///   - cache: The cache.
    ///   - name: The dimension `name`.
    /// - Complexity: O(1).
    public func add<Key, Value>(_ cache: Cache<Key, Value>, name: String) {
      add(name) { [weak cache] in
        guard let cache else { return .gone }
        let statistics = cache.statistics
        var figures = Self.reads(of: statistics.memory) + Self.loads(of: statistics)
        for tier in statistics.tiers {
          figures += [
            .counter("hits", tier.hits, tier.name), .counter("misses", tier.misses, tier.name),
            .counter("writes", tier.writes, tier.name),
            .counter("failures", tier.failures, tier.name),
          ]
        }
        // Last, as a cache that is closed has none.
        if let disk = cache.diskCache, let statistics = try? disk.statistics {
          figures += Self.contents(of: statistics, tier: disk.name)
        }
        return .some(figures)
      }
    }

    /// Adds a message log, as the tier `log`.
    ///
    /// - Parameters:
    ///   - log: The log.
    ///   - name: The dimension `name`.
    /// - Complexity: O(1).
    public func add<Message>(_ log: MessageLog<Message>, name: String) {
      add(name) { [weak log] in
        guard let log else { return .gone }
        guard let statistics = try? log.statistics else { return [] }
        let unsynced = statistics.nextSequence &- 1 &- statistics.syncedSequence
        return [
          .counter("messages", statistics.nextSequence &- 1, "log"),
          .counter("overwritten", statistics.overwritten, "log"),
          .counter("damaged", statistics.lost, "log"),
          .gauge("entries", statistics.count, "log"),
          .gauge("bytes", statistics.size, "log"),
          .gauge("capacity_bytes", statistics.dataCapacity, "log"),
          .gauge("unsynced", min(unsynced, statistics.nextSequence), "log"),
        ]
      }
    }

    // MARK: - Figures

    private static func reads(of memory: CacheStatistics) -> [StoreFigure] {
      [
        .counter("hits", memory.hits, "memory"), .counter("misses", memory.misses, "memory"),
        .counter("evictions", memory.evictedForCount, "memory", cause: "count"),
        .counter("evictions", memory.evictedForCost, "memory", cause: "cost"),
        .counter("evictions", memory.expired, "memory", cause: "expired"),
        .gauge("entries", memory.count, "memory"), .gauge("cost", memory.cost, "memory"),
        .gauge("bytes", memory.memoryBytes, "memory"),
      ]
    }

    private static func loads(of memory: CacheStatistics) -> [StoreFigure] {
      [
        .counter("loads", memory.loads, "memory"),
        .counter("load_failures", memory.loadFailures, "memory"),
        .counter("load_nanoseconds", UInt64(clamping: memory.loadTime.inNanoseconds), "memory"),
      ]
    }

    private static func loads(of cache: TieredCacheStatistics) -> [StoreFigure] {
      [
        .counter("loads", cache.loads, "all"),
        .counter("load_failures", cache.loadFailures, "all"),
        .counter("load_nanoseconds", UInt64(clamping: cache.loadTime.inNanoseconds), "all"),
        .counter("promotions", cache.promotions, "all"),
        .counter("write_failures", cache.writeFailures, "all"),
        .gauge("pending_writes", cache.pendingWrites, "all"),
      ]
    }

    /// nil in nil: the store is closed.
    private static func whole(_ statistics: StoreStatistics??) -> StoreSource.Figures {
      guard let statistics else { return .gone }
      guard let statistics else { return [] }
      return .some(
        contents(of: statistics, tier: "disk") + [
          .counter("hits", statistics.hits, "disk"), .counter("misses", statistics.misses, "disk"),
          .counter("writes", statistics.written, "disk"),
        ])
    }

    private static func contents(
      of disk: StoreStatistics, tier: String
    ) -> [StoreFigure] {
      [
        .counter("evictions", disk.evicted, tier, cause: "limit"),
        .counter("evictions", disk.expired, tier, cause: "expired"),
        .counter("damaged", disk.damaged, tier),
        .counter("flushes", disk.checkpoints, tier),
        .counter("flush_failures", disk.checkpointFailures, tier),
        .counter("flush_nanoseconds", UInt64(clamping: disk.checkpointTime.inNanoseconds), tier),
        .gauge("entries", disk.count, tier), .gauge("cost", disk.size, tier),
        .gauge("bytes", disk.logSize + disk.dataSize, tier),
        .gauge("live_bytes", disk.liveSize, tier),
        .gauge("journal_bytes", disk.journalSize, tier),
        .gauge("journal_capacity_bytes", disk.journalCapacity, tier),
        .gauge("pending_writes", disk.pendingCount, tier),
      ]
    }
  }
#endif
