// SPDX-License-Identifier: MIT

#if Remote
  import Dispatch
  import NIOCore

  /// The event loop of a simulated cluster's connections: everything is on its thread.
  ///
  /// Unchecked: there is only one.
  final class SimulatedEventLoop: EventLoop, @unchecked Sendable {
    private final class Timer: @unchecked Sendable { var isCancelled = false }

    static let shared = SimulatedEventLoop()

    private let loop = VirtualLoop.shared

    var inEventLoop: Bool { true }
    var now: NIODeadline { .uptimeNanoseconds(loop.now) }

    func execute(_ task: @escaping @Sendable () -> Void) { loop.execute(task) }

    func scheduleTask<T>(
      in time: TimeAmount, _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
      let promise = makePromise(of: T.self)
      let timer = Timer()
      loop.after(UInt64(max(0, time.nanoseconds))) { [loop] in
        if timer.isCancelled { return }
        loop.inOrder { promise.assumeIsolated().completeWith(Result { try task() }) }
      }
      return Scheduled(promise: promise) { timer.isCancelled = true }
    }

    func scheduleTask<T>(
      deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
      scheduleTask(in: deadline - now, task)
    }

    func shutdownGracefully(
      queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void
    ) {
      callback(nil)
    }
  }
#endif
