// SPDX-License-Identifier: MIT

import Foundation

/// Runs a closure on threads of its own, all at once, and waits for them.
public func onDiskThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let done = DispatchSemaphore(value: 0)
  for number in 0..<count {
    let thread = Thread {
      body(number)
      done.signal()
    }
    thread.start()
  }
  for _ in 0..<count { done.wait() }
}
