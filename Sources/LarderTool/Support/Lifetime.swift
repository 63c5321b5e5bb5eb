// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore

/// How long something lives, as people write it: `90s`, `5m`, `12h`, `1.5d`, `2w`, `never`.
struct Lifetime: Equatable, Sendable {
  let expiration: Expiration

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  init(_ text: String) throws {
    if text == "never" {
      expiration = .never
      return
    }
    guard let seconds = Self.seconds(text) else {
      throw ValidationError(
        "'\(text)' is not a duration. Write a number above 0 with a unit (s, m, h, d or w), "
          + "such as 90s, 12h or 30d, or never.")
    }
    expiration = .seconds(seconds)
  }

  /// How long a duration with a unit is; nil for what is none.
  static func seconds(_ text: String) -> Double? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let number = Double(digits), digits.first != ".", number > 0,
      let unit = units[text.dropFirst(digits.count).drop { $0 == " " }.lowercased()]
    else { return nil }
    return number * unit
  }

  private static let units: [String: Double] = [
    "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800,
  ]
}
