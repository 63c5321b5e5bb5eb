// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

/// How keys are written on the command line and in the output.
///
/// Keys are text where all of it can be printed, and 0x with hexadecimal digits where not: for the
/// empty key, and for one that begins with 0x itself too, so that no two keys look alike.
struct CacheKeys: ParsableArguments {
  @Flag(name: .long, help: "Keys are hexadecimal digits, with or without 0x before them.")
  var hex = false

  @Flag(name: .long, help: "Keys are whole numbers, as those of type Int.")
  var int = false

  func validate() throws {
    if hex && int { throw ValidationError("--hex and --int exclude each other.") }
  }

  /// The bytes of a key that was given.
  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  func bytes(_ text: String) throws -> Data {
    if int {
      guard let number = Int64(text) else {
        throw ValidationError("'\(text)' is not a whole number of at most 64 bits.")
      }
      return Self.bytes(number)
    }
    return hex ? try Self.bytes(hexadecimal: text) : Data(text.utf8)
  }

  /// What a key looks like.
  func text(_ key: Data) -> String {
    if int, let number = Self.number(key) { return String(number) }
    if !hex, let text = Self.printable(key) { return text }
    return "0x" + key.hexadecimal
  }

  /// What a key that was not found may have been meant to be.
  ///
  /// - Parameter isThere: Whether there is something under a key.
  /// - Returns: An addition to a sentence; empty if there is nothing to say.
  func hint(_ text: String, _ isThere: (Data) throws -> Bool) -> String {
    guard !int, !hex, let number = Int64(text), (try? isThere(Self.bytes(number))) == true else {
      return ""
    }
    return " as text, but one under the number: --int takes keys for numbers"
  }

  /// Whether a key looks like a number of at most 48 bits that is shown in hexadecimal digits.
  func looksLikeNumber(_ key: Data) -> Bool {
    guard !int, !hex, let number = Self.number(key) else { return false }
    return number.magnitude < 1 << 48
  }

  // MARK: - Numbers

  /// As the key coder of `Int` has it: most significant byte first, the sign turned round.
  private static func bytes(_ number: Int64) -> Data {
    withUnsafeBytes(of: (number ^ .min).bigEndian) { Data($0) }
  }

  private static func number(_ key: Data) -> Int64? {
    guard key.count == 8 else { return nil }
    return Int64(bitPattern: key.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) ^ .min
  }

  // MARK: - Text

  private static func bytes(hexadecimal text: String) throws -> Data {
    let digits = text.hasPrefix("0x") ? Array(text.utf8.dropFirst(2)) : Array(text.utf8)
    let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard values.count == digits.count, values.count.isMultiple(of: 2) else {
      throw ValidationError("'\(text)' is not an even number of hexadecimal digits.")
    }
    return Data(
      stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) })
  }

  private static func printable(_ key: Data) -> String? {
    guard let text = String(validating: key, as: UTF8.self), !text.isEmpty,
      !text.hasPrefix("0x"), text.unicodeScalars.allSatisfy(isPrintable)
    else { return nil }
    return text
  }

  /// Not what would get at the terminal, end the line or turn its direction.
  private static func isPrintable(_ scalar: UnicodeScalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
      .unassigned:
      false
    default: true
    }
  }
}
