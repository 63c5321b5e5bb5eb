// SPDX-License-Identifier: MIT

#if Metrics
  public import LarderCore
  public import Metrics
  #if ServiceLifecycle
    import ServiceLifecycle
  #endif
  import Synchronization

  #if LARDER_TSAN
    typealias Mutex = WatchedMutex
  #endif

  /// Reports the statistics of stores as metrics, from time to time.
  ///
  /// ```swift
  /// let metrics = StoreMetrics(interval: .seconds(15))
  /// metrics.add(users, name: "users")
  /// metrics.add(destination.log, name: "server log")
  /// await metrics.run()
  /// ```
  ///
  /// A read, a write or a load costs nothing more for it: the stores count anyway, and only a
  /// sample looks at what they counted. Counters grow by what happened since the last sample;
  /// together they are what `CacheStatistics` and the others say.
  ///
  /// A store that nobody else refers to any more is forgotten, and one that is closed is not
  /// reported.
  ///
  /// **Concurrency.** Safe to use from any number of threads and tasks at a time.
  public final class StoreMetrics: Sendable {
    private let factory: any MetricsFactory
    private let interval: Duration
    private let clock: CacheClock
    private let sources = Mutex<[StoreSource]>([])

    /// Makes one that reports nothing yet.
    ///
    /// - Parameters:
    ///   - factory: Where the metrics go; nil, the default: where `MetricsSystem.factory` says now.
    ///   - interval: How often ``run()`` takes a sample; 10 seconds by default, a millisecond at
    ///     least.
    ///   - clock: By which it waits; the system's by default.
    /// - Complexity: O(1).
    public init(
      factory: (any MetricsFactory)? = nil, interval: Duration = .seconds(10),
      clock: CacheClock = .system
    ) {
      self.factory = factory ?? MetricsSystem.factory
      self.interval = max(interval, .milliseconds(1))
      self.clock = clock
    }

    /// Adds what is counted elsewhere, `LogDestination.lostCount` for example, as `larder_lost`.
    ///
    /// - Parameters:
    ///   - name: The dimension `name`.
    ///   - tier: The dimension `tier`.
    ///   - count: How many were lost so far; nil, and it is forgotten.
    /// - Complexity: O(1).
    public func addLostCount(
      name: String, tier: String = "log", _ count: @escaping @Sendable () -> UInt64?
    ) {
      add(name) { count().map { [.counter("lost", $0, tier)] } ?? .gone }
    }

    func add(_ name: String, _ figures: @escaping @Sendable () -> StoreSource.Figures) {
      sources.withLock { $0.append(StoreSource(name: name, figures: figures)) }
    }

    /// Reports all stores once.
    ///
    /// - Complexity: O(stores).
    public func sample() {
      sources.withLock { sources in
        for index in sources.indices { sources[index].report(to: factory) }
        sources.removeAll { $0.isGone }
      }
    }

    /// Takes a sample at each interval, until the task is cancelled, and a last one then.
    ///
    /// With the trait `ServiceLifecycle` this is a service, which ends when its group shuts down.
    public func run() async {
      #if ServiceLifecycle
        await cancelWhenGracefulShutdown { await self.sampleUntilCancelled() }
      #else
        await sampleUntilCancelled()
      #endif
    }

    private func sampleUntilCancelled() async {
      while !Task.isCancelled {
        sample()
        try? await clock.sleep(for: interval)
      }
      sample()
    }
  }
#endif
