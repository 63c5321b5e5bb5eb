// SPDX-License-Identifier: MIT

import Foundation
import Synchronization

/// Waits for what another process appends, for all who follow a log that was opened for reading:
/// one thread, which sleeps in the C core and wakes them, for as long as somebody waits.
final class LogWatch: Sendable {
  /// Blocks until the log's next number is another than the one given, for so long at most; nil:
  /// for ever. Gives the number then; nil if it cannot be read, which the waiters are to find out.
  typealias Wait = @Sendable (_ seen: UInt64, _ limit: Duration?) -> UInt64?

  /// How long the thread stays when nobody waits: most followers come back for the next message.
  private static let linger = Duration.milliseconds(100)

  private let isRunning = Mutex(false)

  init() {}

  /// Watches, unless it does already. To be called by a waiter that has registered, before it looks
  /// a last time.
  ///
  /// - Parameters:
  ///   - signal: What they wait for. Notified whenever the number has changed.
  ///   - seen: The log's next number as the waiter saw it before it registered.
  func begin(_ signal: ChangeSignal, seen: UInt64, wait: @escaping Wait) {
    let runs = isRunning.withLock { isRunning in
      defer { isRunning = true }
      return isRunning
    }
    if !runs { Thread.detachNewThread { self.run(signal, seen, wait) } }
  }

  private func run(_ signal: ChangeSignal, _ first: UInt64, _ wait: Wait) {
    var seen = first
    while true {
      let isWanted = signal.hasWaiters
      let now = wait(seen, isWanted ? nil : Self.linger)
      if now != seen { signal.notify() }
      guard let now, now != seen || isWanted || signal.hasWaiters else { break }
      seen = now
    }
    end(signal)
  }

  /// Who registers from now on finds that it does not run any more, and begins again; who has
  /// registered meanwhile, and found that it does, looks again and comes back.
  private func end(_ signal: ChangeSignal) {
    isRunning.withLock { $0 = false }
    signal.notify()
  }
}
