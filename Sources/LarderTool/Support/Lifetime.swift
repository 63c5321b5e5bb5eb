// SPDX-License-Identifier: MIT
import ArgumentParser
package import LarderCore

/// How long something lives, as people write it: `90s`, `5m`, `1h30m`, `1.5d`, `2w`, `never`.
package struct Lifetime: Equatable, Sendable {
  package let expiration: Expiration

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  package init(_ text: String) throws {
    if text == "never" {
      expiration = .never
      return
    }
    guard let seconds = try? WrittenDuration(text).seconds, seconds > 0 else {
      throw ValidationError(
        "'\(text)' is not a duration. Write a number above 0 with a unit (s, m, h, d or w), "
          + "such as 90s, 12h or 30d, or never.")
    }
    expiration = .seconds(seconds)
  }
}
