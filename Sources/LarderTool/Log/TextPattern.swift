// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation

/// What `--grep` looks for: a regular expression.
///
/// One that is applied takes microseconds a message. So messages without the text that every match
/// has are ruled out before, at the speed of memory; often that text is all there is.
struct TextPattern {
  /// Text that every match has, in this order.
  let needed: [[UInt8]]
  /// nil if what has all of it matches.
  private let expression: NSRegularExpression?

  init(_ pattern: String) throws {
    if !pattern.contains(where: { #"\.[]{}()*+?|^$"#.contains($0) }) {
      needed = [Array(pattern.utf8)]
      expression = nil
      return
    }
    do {
      expression = try NSRegularExpression(pattern: pattern)
    } catch {
      throw ValidationError("'\(pattern)' is not a regular expression.")
    }
    needed = Self.needed(pattern)
  }

  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    var rest = text
    for part in needed {
      guard let end = Self.end(of: part, in: rest) else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest[end...])
    }
    guard let expression else { return true }
    let text = String(decoding: text, as: UTF8.self)
    let all = NSRange(location: 0, length: text.utf16.count)
    return expression.firstMatch(in: text, range: all) != nil
  }

  /// What stands in an expression for itself; nothing of one with groups, classes or alternatives,
  /// of which anything may be left out.
  private static func needed(_ pattern: String) -> [[UInt8]] {
    if pattern.contains(where: { "()[]{}|".contains($0) }) { return [] }
    var parts: [String.UnicodeScalarView] = [.init()]
    var scalars = pattern.unicodeScalars.makeIterator()
    while let scalar = scalars.next() {
      switch scalar {
      case ".", "^", "$", "+": parts.append(.init())
      case "*", "?":
        _ = parts[parts.count - 1].popLast()
        parts.append(.init())
      case "\\":
        guard let escaped = scalars.next() else { return [] }
        if "dDwWsSbB".unicodeScalars.contains(escaped) {
          parts.append(.init())
        } else if escaped.isASCII, !escaped.properties.isAlphabetic, !("0"..."9" ~= escaped) {
          parts[parts.count - 1].append(escaped)
        } else {
          return []
        }
      default: parts[parts.count - 1].append(scalar)
      }
    }
    return parts.map { Array(String($0).utf8) }.filter { !$0.isEmpty }
  }

  /// Where the first occurrence ends. Swift has no memmem(3).
  private static func end(of part: [UInt8], in text: UnsafeRawBufferPointer) -> Int? {
    part.withUnsafeBytes { part in
      guard let first = part.first, let wanted = part.baseAddress else { return 0 }
      guard let base = text.baseAddress else { return nil }
      var offset = 0
      while text.count - offset >= part.count,
        let found = memchr(base + offset, CInt(first), text.count - offset - part.count + 1)
      {
        offset = base.distance(to: found)
        if memcmp(found, wanted, part.count) == 0 { return offset + part.count }
        offset += 1
      }
      return nil
    }
  }
}
