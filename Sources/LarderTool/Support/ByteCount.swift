// SPDX-License-Identifier: MIT
import ArgumentParser

/// A number of bytes as people write it: `64MiB`, `1GB`, `100k`, `1.5GiB`, `4096`.
///
/// As in GNU's tools, a letter alone and a letter with `iB` are powers of 1,024, a letter with `B`
/// is a power of 1,000, and case does not matter. The result is rounded down to whole bytes.
struct ByteCount: Equatable, Sendable {
  let bytes: UInt64

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  init(_ text: String) throws {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0 == "_") }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
    guard let number = Double(digits.filter { $0 != "_" }), digits.first != "." else {
      throw ValidationError(
        "'\(text)' is not a size. Write a number with a unit, such as 64MiB, 1GB or 100k.")
    }
    guard let factor = Self.factors[unit] else {
      throw ValidationError(
        "'\(unit)' is not a unit. Use k, M, G or T (powers of 1,024, as KiB, MiB, GiB and TiB are) "
          + "or kB, MB, GB or TB (powers of 1,000).")
    }
    // Whole numbers are multiplied as such: Double is exact to 2^53 only.
    if let whole = UInt64(digits.filter { $0 != "_" }) {
      let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
      guard !overflow else { throw ValidationError("\(text) is more than any file can hold.") }
      bytes = product
    } else {
      let product = (number * Double(factor)).rounded(.down)
      guard let exact = UInt64(exactly: product) else {
        throw ValidationError("\(text) is more than any file can hold.")
      }
      bytes = exact
    }
    guard bytes > 0 else { throw ValidationError("A log of 0 bytes can hold no message.") }
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
