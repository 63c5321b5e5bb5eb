// SPDX-License-Identifier: MIT

public import Foundation

/// When the entries of a cache expire.
///
/// There are three ends, and the earliest counts: so long after it was written, so
/// long after it was last written or read, and a fixed date. At the very deadline
/// an entry is expired: on disk to the microsecond, in memory up to one tick of the
/// system's clock before, which is 4 ms on most Linux systems, and never after.
///
/// ```swift
/// cache.expiration = .seconds(60)
/// cache.set(token, forKey: user, expiration: .date(token.expires))
/// cache.set(
///   page, forKey: url,
///   expiration: .init(afterWrite: .seconds(600), afterAccess: .seconds(60)))
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct Expiration: Sendable, Hashable {
  /// How long after it was written; nil for no such end.
  public let afterWrite: Duration?
  /// How long after it was last written or read; nil for no such end.
  public let afterAccess: Duration?
  /// The date; nil for no such end.
  public let date: Date?
  /// By which part of it ``afterWrite`` is shortened at most, at random for each entry: from
  /// 0, the default, to 1. See ``spread(by:)``.
  public let spread: Double

  /// Makes an expiration of up to three ends, of which the earliest counts.
  ///
  /// - Parameters:
  ///   - afterWrite: How long after it was written an entry expires. 0 and less:
  ///     at once. nil: not because of that.
  ///   - afterAccess: How long after it was last written or read. 0 and less: at
  ///     once. nil: not because of that.
  ///   - date: When. A date in the past: at once. nil, and one whose interval is not a number:
  ///     not because of that.
  /// - Complexity: O(1).
  public init(afterWrite: Duration? = nil, afterAccess: Duration? = nil, date: Date? = nil) {
    self.init(afterWrite: afterWrite, afterAccess: afterAccess, date: date, spread: 0)
  }

  package init(afterWrite: Duration?, afterAccess: Duration?, date: Date?, spread: Double) {
    self.afterWrite = afterWrite
    self.afterAccess = afterAccess
    self.date = date
    self.spread = spread
  }

  /// Entries do not expire.
  public static let never = Expiration()

  /// So many seconds after the write.
  ///
  /// - Parameter seconds: 0 and less: at once. Infinity, and NaN, which no call refuses: never.
  /// - Complexity: O(1).
  public static func seconds(_ seconds: Double) -> Expiration {
    if seconds.isNaN || seconds >= longest { return .never }
    return Expiration(afterWrite: Duration(wholeSeconds: max(seconds, -longest)))
  }

  /// So many days of 86,400 seconds after the write.
  ///
  /// - Parameter days: 0 and less: at once.
  /// - Complexity: O(1).
  public static func days(_ days: Int) -> Expiration {
    let (seconds, overflows) = Int64(days).multipliedReportingOverflow(by: 86_400)
    return Expiration(afterWrite: .seconds(overflows ? (days < 0 ? -1 : .max) : seconds))
  }

  /// At a date.
  ///
  /// - Parameter date: When; in the past: at once; without a number (NaN): never.
  /// - Complexity: O(1).
  public static func date(_ date: Date) -> Expiration { Expiration(date: date) }

  /// So long after the write.
  ///
  /// - Parameter duration: How long; 0 and less: at once.
  /// - Complexity: O(1).
  public static func after(_ duration: Duration) -> Expiration {
    Expiration(afterWrite: duration)
  }

  /// So long after the last read or write.
  ///
  /// - Parameter duration: How long; 0 and less: at once.
  /// - Complexity: O(1).
  public static func afterAccess(_ duration: Duration) -> Expiration {
    Expiration(afterAccess: duration)
  }

  /// The same, with each entry's ``afterWrite`` shortened at random, so that entries that
  /// were written together do not expire together.
  ///
  /// ```swift
  /// cache.expiration = .seconds(3600).spread(by: 0.1)  // from 54 to 60 minutes
  /// ```
  ///
  /// Drawn once for each entry, when it is stored: a cache of several tiers draws for all of
  /// them. An entry whose end was drawn from a cache's expiration keeps it when that changes.
  ///
  /// - Parameter part: By which part of it at most: from 0, not at all, to 1. What is less or
  ///   more, or not a number, counts as the nearest of these.
  /// - Returns: The expiration.
  /// - Complexity: O(1).
  public func spread(by part: Double) -> Expiration {
    Expiration(
      afterWrite: afterWrite, afterAccess: afterAccess, date: date,
      spread: part > 0 ? min(part, 1) : 0)
  }

  /// What one entry gets: without a spread, and shortened by some of it.
  package var drawn: Expiration {
    if spread == 0 { return self }
    return Expiration(
      afterWrite: afterWrite.map { shortened($0) }, afterAccess: afterAccess, date: date)
  }

  private func shortened(_ life: Duration) -> Duration {
    let nanoseconds = life.inNanoseconds
    if nanoseconds <= 0 || nanoseconds == .max { return life }
    let part = Double.random(in: 0..<1) * spread
    return .nanoseconds(nanoseconds - Int64(Double(nanoseconds) * part))
  }

  /// When an entry expires that was written at some time and not read since; with a
  /// ``spread``, when it does at the latest.
  ///
  /// - Parameter written: When it was written.
  /// - Returns: The date; nil if it never expires.
  /// - Complexity: O(1).
  public func expirationDate(from written: Date) -> Date? {
    let ends = [
      afterWrite.map { written.addingTimeInterval($0.inSeconds) },
      afterAccess.map { written.addingTimeInterval($0.inSeconds) },
      date,
    ]
    return ends.compactMap { $0 }.filter { !$0.timeIntervalSince1970.isNaN }.min()
  }

  /// Whether an entry that was written at some time and not read since is expired.
  ///
  /// - Parameters:
  ///   - written: When it was written.
  ///   - now: The time to ask about; the present by default.
  /// - Returns: True from the deadline on; with a ``spread``, from the latest one on.
  /// - Complexity: O(1).
  public func isExpired(writtenAt written: Date, now: Date = .now) -> Bool {
    expirationDate(from: written).map { now >= $0 } ?? false
  }

  /// Seconds above which no computer lives: 2⁵³, some 285 million years.
  private static let longest = 9_007_199_254_740_992.0
}
