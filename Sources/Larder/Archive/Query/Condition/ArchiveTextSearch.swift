// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

/// Looks for one text in many.
struct ArchiveTextSearch: Sendable {
  private let text: String
  private let isCaseSensitive: Bool
  /// The bytes, if they are all ASCII, where bytes are characters; in lower case, if case does
  /// not matter. No ends of lines: a carriage return and a line feed are one character.
  private let bytes: [UInt8]?

  init(_ text: String, isCaseSensitive: Bool) {
    self.text = text
    self.isCaseSensitive = isCaseSensitive
    let isPlain = text.utf8.allSatisfy { $0 < 0x80 && $0 != 0x0A && $0 != 0x0D }
    bytes = isPlain ? [UInt8]((isCaseSensitive ? text : text.lowercased()).utf8) : nil
  }

  func isFound(in subject: String) -> Bool {
    if text.isEmpty { return true }
    if let bytes {
      var subject = subject
      if let isFound = subject.withUTF8({ find(bytes, in: $0) }) { return isFound }
    }
    if isCaseSensitive { return subject.contains(text) }
    return subject.range(of: text, options: .caseInsensitive) != nil
  }

  /// nil if the subject is not all ASCII.
  private func find(_ bytes: [UInt8], in subject: UnsafeBufferPointer<UInt8>) -> Bool? {
    guard subject.allSatisfy({ $0 < 0x80 }) else { return nil }
    if subject.count < bytes.count { return false }
    let first = bytes[0]
    for start in 0...(subject.count - bytes.count) where fold(subject[start]) == first {
      var length = 1
      while length < bytes.count, fold(subject[start + length]) == bytes[length] { length += 1 }
      if length == bytes.count { return true }
    }
    return false
  }

  private func fold(_ byte: UInt8) -> UInt8 {
    !isCaseSensitive && byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }
}

/// A regular expression, or why there is none.
struct ArchiveRegex: Sendable {
  private let expression: Result<NSRegularExpression, LarderError>

  init(_ pattern: String) {
    do {
      expression = .success(try NSRegularExpression(pattern: pattern))
    } catch {
      expression = .failure(
        LarderError(.invalidArgument, "Not a valid regular expression.", cause: error))
    }
  }

  func matches(_ text: String) throws -> Bool {
    let range = NSRange(text.startIndex..., in: text)
    return try expression.get().firstMatch(in: text, range: range) != nil
  }
}
