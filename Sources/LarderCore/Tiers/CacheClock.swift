// SPDX-License-Identifier: MIT

public import Foundation

/// What time it is, for caches.
///
/// Lives are measured by a clock that never goes back; only ``Expiration/date(_:)``
/// looks at the calendar, once, when it is set. Give tests a clock of their own,
/// and nothing in them has to wait:
///
/// ```swift
/// let hours = Mutex(0)
/// let clock = CacheClock(
///   now: { .seconds(3600 * hours.withLock { $0 }) },
///   date: { Date(timeIntervalSince1970: Double(3600 * hours.withLock { $0 })) })
/// ```
///
/// **Concurrency.** A value; safe to pass between threads. A cache asks it from
/// any thread, and while it is locked: a clock must not use the cache.
public struct CacheClock: Sendable {
  /// nil is the system's, which the C core asks itself.
  let customNow: (@Sendable () -> Duration)?
  private let customDate: (@Sendable () -> Date)?

  /// The system's clocks.
  public static let system = CacheClock()

  private init() {
    customNow = nil
    customDate = nil
  }

  /// Makes a clock.
  ///
  /// - Parameters:
  ///   - now: Time since some beginning. Must never go back; where it begins does
  ///     not matter.
  ///   - date: The same moment in the calendar.
  /// - Complexity: O(1).
  public init(now: @escaping @Sendable () -> Duration, date: @escaping @Sendable () -> Date) {
    customNow = now
    customDate = date
  }

  /// The date, by this clock.
  ///
  /// - Complexity: One call of the clock.
  public var date: Date { customDate?() ?? Date() }
}
