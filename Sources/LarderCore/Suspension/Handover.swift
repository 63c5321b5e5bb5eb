// SPDX-License-Identifier: MIT

import Synchronization

/// What one thread or task gives to another, which alone holds it from then on.
///
/// A closure holds what it captures until it has ended, which is after whoever waits for it may go
/// on: what is taken from a handover can be released before. It is handed over by a lock: Thread
/// Sanitizer does not see that a continuation does so, where it is resumed before it is awaited.
package final class Handover<Value: Sendable>: Sendable {
  private let value: Mutex<Value?>

  package init() { value = Mutex(nil) }
  package init(_ value: Value) { self.value = Mutex(value) }

  package func give(_ value: Value) { self.value.withLock { $0 = value } }

  /// - Returns: nil if it was taken, or nothing was given.
  package func take() -> Value? { value.withLock { $0.take() } }
}
