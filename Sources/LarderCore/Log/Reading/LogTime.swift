// SPDX-License-Identifier: MIT

package import Foundation

/// The times of messages, which files have in nanoseconds since 1970, and dates.
package enum LogTime {
  /// nil for a time that is unknown.
  package static func date(_ nanoseconds: Int64) -> Date? {
    nanoseconds == 0 ? nil : Date(timeIntervalSince1970: Double(nanoseconds) / 1e9)
  }

  /// The first time whose date is not before `date`.
  ///
  /// A date has fewer digits, and so several times have the same one: with any other rounding the
  /// messages since the date of a message might begin behind it.
  package static func nanoseconds(since date: Date) -> Int64 {
    var low: Int64 = 1
    var high = Int64.max
    while low < high {
      let middle = low + (high - low) / 2
      if let found = self.date(middle), found < date { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
