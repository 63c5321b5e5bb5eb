// SPDX-License-Identifier: MIT

#if ServiceLifecycle
  import LarderCore
  public import ServiceLifecycle

  /// Keeps stores open as long as a server runs, and closes them when it shuts down.
  ///
  /// ```swift
  /// let stores = StoreService([users, sessions], stepLimit: .seconds(5))
  /// let group = ServiceGroup(
  ///   services: [stores, server], gracefulShutdownSignals: [.sigterm], logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// A group shuts its services down in reverse order: name the stores before what uses them.
  ///
  /// **Concurrency.** A value; safe to pass between threads. To be run once.
  ///
  /// **Durability.** When `run()` returns without an error, everything that was written survives a
  /// power cut.
  public struct StoreService: Service {
    /// The stores.
    public let stores: [any ServiceStore]

    /// How long each of the three steps may take; all stores take them at the same time.
    public let stepLimit: Duration

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - stores: What to close at the end. They are open already.
    ///   - stepLimit: How long flushing, syncing and closing may take, each; 10 seconds by default.
    ///     A store that takes longer is left to itself, as it would be by a kill, and the shutdown
    ///     goes on: it takes three times as long at most.
    /// - Complexity: O(1).
    public init(_ stores: [any ServiceStore], stepLimit: Duration = .seconds(10)) {
      self.stores = stores
      self.stepLimit = stepLimit
    }

    /// Waits until the service group shuts down, or the task is cancelled; then flushes, syncs and
    /// closes the stores.
    ///
    /// - Throws: The first failure, when every store is closed that can be: `.timedOut` for a step
    ///   beyond its limit.
    public func run() async throws {
      // Throws if the task is cancelled, which ends the wait as well.
      try? await gracefulShutdown()
      // Not as part of a task that may be cancelled: flushing would be, too.
      let shutdown = Task.detached { await shutDown() }
      if let failure = await shutdown.value { throw failure }
    }

    private enum Step: String, CaseIterable {
      case checkpoint, sync, close
    }

    private func shutDown() async -> (any Error)? {
      var left = Array(stores.enumerated())
      var failure: (any Error)?
      for step in Step.allCases {
        let failures = await withTaskGroup(of: (Int, (any Error)?).self) { group in
          for (number, store) in left {
            group.addTask { (number, await fails(step, store, number)) }
          }
          return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        failure = failure ?? failures.min { $0.key < $1.key }?.value
        // What hangs once does so again.
        left.removeAll { (failures[$0.offset] as? TimedOut) != nil }
      }
      return (failure as? TimedOut)?.error ?? failure
    }

    /// A step of ours beyond its limit, and not what a store says of itself.
    private struct TimedOut: Error {
      let error: LarderError
    }

    private func fails(
      _ step: Step, _ store: any ServiceStore, _ number: Int
    ) async -> (any Error)? {
      let (results, continuation) = AsyncStream.makeStream(of: (any Error)?.self)
      let work = Task.detached {
        do {
          switch step {
          case .checkpoint: try await store.checkpoint()
          case .sync: try await store.sync()
          case .close: try await store.close()
          }
          continuation.yield(nil)
        } catch {
          continuation.yield(error)
        }
      }
      let timer = Task.detached {
        try await Task.sleep(for: stepLimit)
        continuation.yield(
          TimedOut(
            error: LarderError(
              .timedOut,
              "To \(step.rawValue) store \(number + 1) of \(stores.count), a \(type(of: store)), "
                + "took longer than \(stepLimit). It was left as after a kill.")))
      }
      defer {
        work.cancel()
        timer.cancel()
      }
      for await failure in results { return failure }
      return nil
    }
  }
#endif
