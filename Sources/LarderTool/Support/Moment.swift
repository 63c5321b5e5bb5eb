// SPDX-License-Identifier: MIT
import ArgumentParser
package import Foundation
import LarderCore

/// A time, as people write it: `10m` ago, `today`, `yesterday`, `@1772375405.25`, `2026-03-01`,
/// `2026-03-01T14:30`, `2026-03-01T14:30:05.25Z`.
package struct Moment: Equatable, Sendable {
  package let date: Date

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  init(_ text: String) throws { try self.init(text, now: Date()) }

  package init(_ text: String, now: Date, zone: TimeZone = .current) throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let midnight = calendar.startOfDay(for: now)
    if text == "today" {
      date = midnight
    } else if text == "yesterday" {
      // Not 24 hours: the clocks may be changed.
      date = calendar.date(byAdding: .day, value: -1, to: midnight) ?? midnight - 86400
    } else if let match = text.wholeMatch(of: /@(\d{1,12}(?:\.\d+)?)/),
      let seconds = Double(match.1)
    {
      date = Date(timeIntervalSince1970: seconds)
    } else if let seconds = try? WrittenDuration(text).seconds, seconds > 0 {
      date = now - seconds
    } else if let date = Self.date(text, zone) {
      self.date = date
    } else {
      throw ValidationError(
        "'\(text)' is not a time. Write how long ago it is, as 90s, 10m, 12h or 2d, or today or "
          + "yesterday, or seconds since 1970, as @1772375405, or a date such as 2026-03-01, "
          + "2026-03-01T14:30 or 2026-03-01T14:30:05Z; without a zone it is local.")
    }
  }

  private static func date(_ text: String, _ zone: TimeZone) -> Date? {
    let form =
      /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?/
    guard let match = text.wholeMatch(of: form) else { return nil }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    if let name = match.8 {
      let digits = name.filter(\.isNumber).compactMap(\.wholeNumberValue)
      let minutes =
        digits.count == 4 ? (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3] : 0
      guard let other = TimeZone(secondsFromGMT: (name.hasPrefix("-") ? -60 : 60) * minutes) else {
        return nil
      }
      calendar.timeZone = other
    }
    let parts = DateComponents(
      year: Int(match.1), month: Int(match.2), day: Int(match.3), hour: match.4.flatMap { Int($0) },
      minute: match.5.flatMap { Int($0) }, second: match.6.flatMap { Int($0) })
    // One that is not in the calendar, such as the 31st of a shorter month, is no date.
    guard parts.isValidDate(in: calendar), let date = calendar.date(from: parts) else { return nil }
    return date + (match.7.flatMap { Double("0\($0)") } ?? 0)
  }
}
