// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// Redraws a progress line from a thread of its own, for a call that does not tell how far it is.
package final class ProgressTicker: Sendable {
  private let isStopped = Mutex(false)
  private let finished = DispatchGroup()

  package init(_ text: @escaping @Sendable () -> String) {
    guard StandardError.isTerminal else { return }
    let thread = Thread { [self] in
      var line = ProgressLine()
      while !isStopped.withLock({ $0 }) {
        if line.isDue { line.draw(text()) }
        Thread.sleep(forTimeInterval: 0.05)
      }
      line.erase()
      finished.leave()
    }
    finished.enter()
    thread.start()
  }

  /// Erases the line; returns when that is done.
  package func stop() {
    isStopped.withLock { $0 = true }
    finished.wait()
  }
}
