// SPDX-License-Identifier: MIT

// Quantities as people write them, on a command line and in a configuration.

/// A number of bytes: `64MiB`, `1GB`, `100k`, `1.5GiB`, `4096`.
///
/// As in GNU's tools, a letter alone and a letter with `iB` are powers of 1,024, a letter with `B`
/// is a power of 1,000, and case does not matter. The result is rounded down to whole bytes.
package struct WrittenSize: Equatable, Sendable {
  package let bytes: UInt64

  /// - Throws: `.invalidArgument`, with a sentence that says what is wrong with `text`.
  package init(_ text: String) throws(LarderError) {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0 == "_") }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
    guard let number = Double(digits.filter { $0 != "_" }), digits.first != "." else {
      throw LarderError(
        .invalidArgument,
        "'\(text)' is not a size. Write a number with a unit, such as 64MiB, 1GB or 100k.")
    }
    guard let factor = Self.factors[unit] else {
      throw LarderError(
        .invalidArgument,
        "'\(unit)' is not a unit. Use k, M, G or T (powers of 1,024, as KiB, MiB, GiB and TiB are) "
          + "or kB, MB, GB or TB (powers of 1,000).")
    }
    // Whole numbers are multiplied as such: Double is exact to 2^53 only.
    let bytes: UInt64?
    if let whole = UInt64(digits.filter { $0 != "_" }) {
      let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
      bytes = overflow ? nil : product
    } else {
      bytes = UInt64(exactly: (number * Double(factor)).rounded(.down))
    }
    guard let bytes else {
      throw LarderError(.invalidArgument, "\(text) is more than any file can hold.")
    }
    self.bytes = bytes
  }

  private static let factors: [String: UInt64] = {
    var factors: [String: UInt64] = ["": 1, "b": 1, "byte": 1, "bytes": 1]
    for (power, letter) in ["k", "m", "g", "t"].enumerated() {
      let binary = UInt64(1) << (10 * UInt64(power + 1))
      let decimal = (0...power).reduce(UInt64(1)) { product, _ in product * 1000 }
      factors[letter] = binary
      factors[letter + "ib"] = binary
      factors[letter + "b"] = decimal
    }
    return factors
  }()
}

/// A duration: `90s`, `5m`, `1h30m`, `1.5d`, `2w`, `250ms`; `0` needs no unit.
package struct WrittenDuration: Equatable, Sendable {
  package let seconds: Double

  /// - Throws: `.invalidArgument`, with a sentence that says what is wrong with `text`.
  package init(_ text: String) throws(LarderError) {
    var seconds = 0.0
    var last = Double.infinity
    var rest = text[...]
    repeat {
      let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(digits.count).drop { $0 == " " }
      let unit = rest.prefix { $0.isLetter }
      rest = rest.dropFirst(unit.count).drop { $0 == " " }
      // From the longest unit to the shortest, each once: 30m1h is a slip.
      guard let number = Double(digits), digits.first != ".",
        let factor = Self.units[unit.lowercased()] ?? (number == 0 ? 0 : nil), factor < last
      else {
        throw LarderError(
          .invalidArgument,
          "'\(text)' is not a duration. Write a number with a unit (ms, s, m, h, d or w), "
            + "such as 90s, 1h30m or 30d.")
      }
      seconds += number * factor
      last = factor
    } while !rest.isEmpty
    self.seconds = seconds
  }

  /// As a duration; the longest there is, some 146 years, for more.
  package var duration: Duration { Duration(wholeSeconds: min(seconds, 4_611_686_018)) }

  private static let units: [String: Double] = [
    "ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800,
  ]
}
