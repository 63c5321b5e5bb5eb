// SPDX-License-Identifier: MIT
import Foundation

/// Waits until a condition holds that another thread, task or process makes true.
///
/// There is no limit that a busy machine could miss: what waits in vain is found by who runs the
/// tests, with the stacks of all threads.
public func until(
  isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async rethrows {
  var looks = 0
  while try await !condition() {
    looks += 1
    if looks < 100 { await Task.yield() } else { try? await Task.sleep(for: pause(after: looks)) }
  }
}

/// The same for a test that keeps its thread.
public func blockUntil(_ condition: () throws -> Bool) rethrows {
  var looks = 0
  while try !condition() {
    looks += 1
    Thread.sleep(forTimeInterval: pause(after: looks) / .seconds(1))
  }
}

/// After a second fewer looks will do: a test that waits in vain is to be seen to do nothing.
private func pause(after looks: Int) -> Duration {
  .milliseconds(looks < 1000 ? 1 : 50)
}
