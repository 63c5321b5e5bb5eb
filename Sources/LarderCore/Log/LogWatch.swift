// SPDX-License-Identifier: MIT

internal import CLarderSystem
import Synchronization

/// Looks for what another process appends, for all who follow a log that was opened for reading:
/// one task that sleeps, looks and wakes them, for as long as somebody waits.
final class LogWatch: Sendable {
  private let sleep: @Sendable (Duration) async -> Void
  private let isRunning = Mutex(false)

  /// - Parameter sleep: Another than the system's, for a test that does not want to wait.
  init(sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }) {
    self.sleep = sleep
  }

  /// Watches, unless it does already. To be called by a waiter that has registered, before it looks
  /// a last time.
  ///
  /// - Parameters:
  ///   - signal: What they wait for. Notified whenever the number has changed.
  ///   - seen: The log's next number as the waiter saw it before it registered.
  ///   - look: Gives the number now; nil if it cannot be read, which the waiters are to find out.
  func begin(
    _ signal: ChangeSignal, seen: UInt64, look: @escaping @Sendable () -> UInt64?
  ) {
    let runs = isRunning.withLock { isRunning in
      defer { isRunning = true }
      return isRunning
    }
    if !runs { Task.detached { await self.run(signal, seen, look) } }
  }

  private func run(
    _ signal: ChangeSignal, _ first: UInt64, _ look: @Sendable () -> UInt64?
  ) async {
    var seen: UInt64? = first
    var quiet: Duration = .zero
    while goesOn(signal) {
      let pause = Duration.nanoseconds(larder_os_look_again_ns(quiet.inNanoseconds))
      await sleep(pause)
      let now = look()
      if now == nil || now != seen { signal.notify() }
      quiet = now == seen ? quiet + pause : .zero
      seen = now
    }
  }

  /// Who registers from now on finds that it does not run any more, and begins again.
  private func goesOn(_ signal: ChangeSignal) -> Bool {
    isRunning.withLock { isRunning in
      isRunning = signal.hasWaiters
      return isRunning
    }
  }
}
