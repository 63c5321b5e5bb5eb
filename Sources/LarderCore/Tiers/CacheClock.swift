// SPDX-License-Identifier: MIT

public import Foundation

/// What time it is, for caches.
///
/// In memory lives are measured by a clock that never goes back; only
/// ``Expiration/date(_:)`` looks at the calendar, once, when it is set. On disk, where
/// lives go on over a restart, the calendar is all there is: an entry that is written while it is
/// ahead lives for so much longer, and one that is read then may have expired too early. Give tests
/// a clock of their own, and nothing in them has to wait:
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
  private let customSleep: (@Sendable (Duration) async throws -> Void)?

  /// The system's clocks.
  public static let system = CacheClock()

  private init() {
    customNow = nil
    customDate = nil
    customSleep = nil
  }

  /// Makes a clock.
  ///
  /// - Parameters:
  ///   - now: Time since some beginning. Must never go back; where it begins does
  ///     not matter.
  ///   - date: The same moment in the calendar.
  ///   - sleep: Suspends for so long by this clock, for time-outs of loads; throws if its task is
  ///     cancelled meanwhile. nil: by the system's clock.
  /// - Complexity: O(1).
  public init(
    now: @escaping @Sendable () -> Duration, date: @escaping @Sendable () -> Date,
    sleep: (@Sendable (Duration) async throws -> Void)? = nil
  ) {
    customNow = now
    customDate = date
    customSleep = sleep
  }

  /// The date, by this clock.
  ///
  /// - Complexity: One call of the clock.
  public var date: Date { customDate?() ?? Date() }

  /// Suspends for so long; throws if the task is cancelled meanwhile.
  package func sleep(for duration: Duration) async throws {
    if let customSleep { return try await customSleep(duration) }
    // A year is long enough, and no clock overflows.
    try await Task.sleep(for: min(duration, .seconds(31_536_000)))
  }

  /// Whether it is the system's, which the C core asks itself.
  package var isSystem: Bool { customDate == nil }

  /// The date in nanoseconds since 1970.
  package var nanoseconds: Int64 { date.inNanoseconds }
}

extension Date {
  /// In nanoseconds since 1970, to the microsecond, which is what a date holds; the
  /// nearest there is if it does not fit, the years 1677 and 2262. What is not a number
  /// never comes.
  package var inNanoseconds: Int64 {
    let seconds = timeIntervalSince1970
    if seconds.isNaN || seconds >= 9_223_372_036 { return .max }
    if seconds <= -9_223_372_036 { return .min }
    let whole = seconds.rounded(.down)
    // The fraction by itself: with the seconds it would have no bits left for it.
    return Int64(whole) * 1_000_000_000 + Int64(((seconds - whole) * 1e6).rounded()) * 1000
  }

  /// The date so many nanoseconds after 1970.
  package init(nanoseconds: Int64) {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    self.init(timeIntervalSince1970: Double(seconds) + Double(rest) / 1e9)
  }
}
