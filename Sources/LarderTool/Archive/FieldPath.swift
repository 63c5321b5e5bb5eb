// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

/// The way to a field of an element: `name`, `address.city`, `tags.0`, `"first name".length`.
struct FieldPath: Equatable, Sendable {
  /// As it was given.
  let text: String
  private let parts: [String]

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  init(_ text: String) throws {
    var rest = text[...]
    try self.init(parsing: &rest)
    guard rest.allSatisfy(\.isWhitespace) else {
      throw ValidationError("'\(text)' is not a field; one with spaces stands in quotation marks.")
    }
  }

  /// Takes a path from the beginning of `rest`.
  init(parsing rest: inout Substring) throws {
    rest = rest.drop(while: \.isWhitespace)
    let start = rest
    var parts: [String] = []
    repeat {
      if !parts.isEmpty { rest = rest.dropFirst() }
      if rest.first == "\"" {
        guard let end = rest.dropFirst().firstIndex(of: "\"") else {
          throw ValidationError("'\(start)': a quotation mark is not closed.")
        }
        parts.append(String(rest[rest.index(after: rest.startIndex)..<end]))
        rest = rest[rest.index(after: end)...]
      } else {
        let part = rest.prefix { !$0.isWhitespace && !".=!<>\"".contains($0) }
        guard !part.isEmpty else {
          throw ValidationError("'\(start)' does not begin with the name of a field.")
        }
        parts.append(String(part))
        rest = rest[part.endIndex...]
      }
    } while rest.first == "."
    self.parts = parts
    text = start[..<rest.startIndex].trimmingCharacters(in: .whitespaces)
  }

  /// What is there; nil if nothing is.
  func value(in element: CBORValue) -> CBORValue? {
    var value = element
    for part in parts {
      while case .tagged(_, let content) = value { value = content }
      switch value {
      case .map(let pairs):
        guard let pair = pairs.first(where: { Self.isKey($0.key, part) }) else { return nil }
        value = pair.value
      case .array(let items):
        guard let index = Int(part), items.indices.contains(index) else { return nil }
        value = items[index]
      default: return nil
      }
    }
    return value
  }

  /// Keys that are no text are written as numbers, as in JSON.
  private static func isKey(_ key: CBORValue, _ part: String) -> Bool {
    if case .text(let text) = key { return text == part }
    return CBORNumberText.integer(key) == part
  }
}
