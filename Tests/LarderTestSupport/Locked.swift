// SPDX-License-Identifier: MIT
import Foundation

/// A value behind a lock that Thread Sanitizer knows.
///
/// It does not know `Synchronization.Mutex`, a futex inside Swift's standard library, and would
/// report every access. Unchecked, because the value is only touched under the lock.
public final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  /// Puts a value behind a lock of its own.
  public init(_ value: Value) { self.value = value }

  /// Runs the body with the value, while no other body runs.
  public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
