// SPDX-License-Identifier: MIT

public import Foundation

extension JSONEncoder.DateEncodingStrategy {
  /// Text as in `2023-03-08T20:26:40.125Z`, exact: `.rfc3339` of `JSONDecoder` gives
  /// back the very same date.
  ///
  /// The form is that of `.iso8601`, which drops fractions of a second. Here they
  /// are written where there are any, with 3 digits at least and as many as the
  /// date needs: near today that is up to 7. A date that is not finite, or whose
  /// year has not four digits, is refused with an `EncodingError`.
  ///
  /// - Complexity: O(1).
  public static var rfc3339: Self {
    .custom { date, encoder in
      guard let text = RFC3339.text(date) else {
        throw EncodingError.invalidValue(
          date,
          EncodingError.Context(
            codingPath: encoder.codingPath,
            debugDescription: "Only finite dates of the years 0 to 9999 have an RFC 3339 text."))
      }
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }
}

extension JSONDecoder.DateDecodingStrategy {
  /// Any date and time of RFC 3339, such as `2023-03-08T20:26:40.125Z` or
  /// `2023-03-08 22:26:40+02:00`: with any number of digits of a second, of which
  /// none is dropped before the date has been rounded.
  ///
  /// That includes what `.iso8601` writes. A leap second, `23:59:60`, is read as
  /// the first second of the next day; `24:00` and anything else that RFC 3339 does
  /// not have is refused with a `DecodingError`.
  ///
  /// - Complexity: O(bytes).
  public static var rfc3339: Self {
    .custom { decoder in
      let container = try decoder.singleValueContainer()
      var text = try container.decode(String.self)
      guard let date = text.withUTF8({ RFC3339.date($0) }) else {
        throw DecodingError.dataCorruptedError(
          in: container,
          debugDescription: "The text is not a date such as 2023-03-08T20:26:40.125Z (RFC 3339).")
      }
      return date
    }
  }
}

extension RFC3339 {
  /// The same as `write`, as a string.
  package static func text(_ date: Date) -> String? {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
      write(date, to: buffer).map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }
  }

  /// The date that a text says; nil if it says none.
  package static func date(_ text: String) -> Date? {
    var text = text
    return text.withUTF8 { date($0) }
  }
}
