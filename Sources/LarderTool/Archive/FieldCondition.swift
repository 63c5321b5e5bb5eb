// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

/// A condition on the command line: a field, an operator and a value.
struct FieldCondition: Sendable {
  enum Operator: String, CaseIterable, Sendable {
    case notEqual = "!="
    case atMost = "<="
    case atLeast = ">="
    case alsoEqual = "=="
    case equal = "="
    case less = "<"
    case greater = ">"
    case contains, begins, ends, matches

    /// Not a word.
    var isSign: Bool { rawValue.first?.isLetter == false }
  }

  /// As it was given.
  private let text: String
  let path: FieldPath
  private let comparison: Operator
  private let value: FieldValue
  /// The value as text.
  private let word: String
  /// The value as a date, in seconds since 1970; nil if it is none.
  private let date: Double?
  /// For matches: with and without a difference between letters of either case.
  private let expressions: [NSRegularExpression]

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  init(_ text: String) throws {
    self.text = text
    var rest = text[...]
    path = try FieldPath(parsing: &rest)
    rest = rest.drop(while: \.isWhitespace)
    guard let comparison = Self.takeOperator(from: &rest) else {
      throw ValidationError(
        "'\(text)': behind the field comes one of "
          + Operator.allCases.filter { $0 != .alsoEqual }.map(\.rawValue).joined(separator: " ")
          + ".")
    }
    let literal = rest.trimmingCharacters(in: .whitespaces)
    guard !literal.isEmpty else {
      throw ValidationError("'\(text)': no value behind the operator; no text is \"\".")
    }
    // Else 'level => 5' would ask for the text '> 5'.
    if comparison.isSign, let first = literal.first, "=!<>".contains(first) {
      throw ValidationError(
        "'\(text)': '\(comparison.rawValue)' and '\(first)' are no operator together; a text that "
          + "begins so stands in quotation marks.")
    }
    try Self.refuseOtherLanguages(literal, in: text)
    self.comparison = comparison
    value = try Self.value(literal)
    if case .text(let text) = value { word = text } else { word = literal }
    // Dates without a time are days in UTC, and so are these.
    date =
      FieldValue.date(word)
      ?? (try? Moment(word, now: Date(), zone: .gmt))?.date.timeIntervalSince1970
    guard comparison == .matches else {
      expressions = []
      return
    }
    do {
      expressions = [
        try NSRegularExpression(pattern: word),
        try NSRegularExpression(pattern: word, options: .caseInsensitive),
      ]
    } catch {
      throw ValidationError("'\(word)' is not a regular expression.")
    }
  }

  func isMet(by element: CBORValue, ignoresCase: Bool) -> Bool {
    let field = path.value(in: element)
    if comparison == .contains, case .array(let items)? = Self.untagged(field) {
      return items.contains { isEqual(FieldValue($0), ignoresCase) }
    }
    let found = FieldValue(field)
    switch comparison {
    case .equal, .alsoEqual: return isEqual(found, ignoresCase)
    case .notEqual: return !isEqual(found, ignoresCase)
    case .less: return order(found, ignoresCase).map { $0 < 0 } ?? false
    case .atMost: return order(found, ignoresCase).map { $0 <= 0 } ?? false
    case .greater: return order(found, ignoresCase).map { $0 > 0 } ?? false
    case .atLeast: return order(found, ignoresCase).map { $0 >= 0 } ?? false
    case .contains, .begins, .ends, .matches:
      guard case .text(let text) = found else { return false }
      return isMet(by: text, ignoresCase)
    }
  }

  private func isMet(by text: String, _ ignoresCase: Bool) -> Bool {
    if comparison == .matches {
      let all = NSRange(text.startIndex..., in: text)
      return expressions[ignoresCase ? 1 : 0].firstMatch(in: text, range: all) != nil
    }
    // Foundation finds no empty text anywhere.
    if word.isEmpty { return true }
    var options: String.CompareOptions = ignoresCase ? [.literal, .caseInsensitive] : .literal
    if comparison == .begins { options.insert(.anchored) }
    if comparison == .ends { options.formUnion([.anchored, .backwards]) }
    return text.range(of: word, options: options) != nil
  }

  private func isEqual(_ found: FieldValue, _ ignoresCase: Bool) -> Bool {
    order(found, ignoresCase) == 0
  }

  /// How a field is to the value; nil if they cannot be compared.
  private func order(_ found: FieldValue, _ ignoresCase: Bool) -> Int? {
    switch (found, value) {
    case (.date, .text): date.flatMap { found.compare(.date($0)) }
    case (.text(let left), .text(let right)) where ignoresCase:
      FieldValue.text(left.lowercased()).compare(.text(right.lowercased()))
    // What looks like a number on the command line may be text, such as a postal code.
    case (.text(let text), .integer), (.text(let text), .real): text == word ? 0 : nil
    default: found.compare(value)
    }
  }
}

extension FieldCondition {
  /// What is wrong with the condition for a field of this type, which can neither meet it nor fail
  /// to; nil if nothing is. A field that is null says nothing of its type.
  func misfit(_ field: CBORValue) -> String? {
    let found = FieldValue(field)
    let advice: String
    switch comparison {
    case .contains:
      if case .array(let items)? = Self.untagged(field) {
        let values = items.map { FieldValue($0) }
        if values.isEmpty || values.contains(where: { takes($0, forEquality: true) }) { return nil }
        return "'\(text)': no item of '\(path.text)' is \(value.kind)."
      }
      advice = "and contains is for text and arrays"
    case .begins, .ends, .matches: advice = "and \(comparison.rawValue) is for text"
    case .equal, .alsoEqual, .notEqual, .less, .atMost, .greater, .atLeast:
      let isEquality = [.equal, .alsoEqual, .notEqual].contains(comparison)
      if takes(found, forEquality: isEquality) { return nil }
      let isDate = if case .date = found { true } else { false }
      advice =
        isDate
        ? "as 2026-03-01, 2026-03-01T12:00:00Z or today, and \(word) is none"
        : "and \(word) is \(value.kind)"
    }
    if case .text = found {
      guard comparison.isSign else { return nil }
      return "'\(text)': '\(path.text)' is text, \(advice); as text it stands in quotation marks."
    }
    return "'\(text)': '\(path.text)' is \(found.kind), \(advice)."
  }

  /// Whether the value can be compared with such a field.
  private func takes(_ found: FieldValue, forEquality isEquality: Bool) -> Bool {
    switch (found, value) {
    case (_, .null): isEquality
    case (.bool, .bool), (.text, .text): true
    case (.integer, .integer), (.integer, .real), (.real, .integer), (.real, .real): true
    case (.date, .text): date != nil
    // A postal code.
    case (.text, .integer), (.text, .real): isEquality
    default: false
    }
  }

  /// What is written as in a program or in SQL would be a text that no field has.
  private static func refuseOtherLanguages(_ literal: String, in text: String) throws {
    if literal.hasPrefix("\"") { return }
    if literal.hasPrefix("'") {
      throw ValidationError(
        "\(text): text stands in double quotation marks, or in none; one that begins with a single "
          + "one stands in double ones.")
    }
    for sign in ["&&", "||"] where literal.contains(sign) {
      throw ValidationError(
        "'\(text)': a condition has no \(sign). "
          + (sign == "&&" ? "Give --where twice for both." : "Run the query twice for either.")
          + " A text with \(sign) in it stands in double quotation marks.")
    }
  }

  private static func takeOperator(from rest: inout Substring) -> Operator? {
    for candidate in Operator.allCases where rest.hasPrefix(candidate.rawValue) {
      let behind = rest.dropFirst(candidate.rawValue.count)
      // A word ends at a space; a sign does not have to.
      if !candidate.isSign, behind.first?.isWhitespace != true { continue }
      rest = behind
      return candidate
    }
    return nil
  }

  /// A JSON value, or the text itself.
  private static func value(_ literal: String) throws -> FieldValue {
    switch literal {
    case "null": return .null
    case "true": return .bool(true)
    case "false": return .bool(false)
    default: break
    }
    if let number = Int128(literal) { return .integer(number) }
    if let first = literal.first, first.isNumber || first == "-", let number = Double(literal) {
      return .real(number)
    }
    guard literal.hasPrefix("\"") else { return .text(literal) }
    guard let text = try? JSONDecoder().decode(String.self, from: Data(literal.utf8)) else {
      throw ValidationError("\(literal) is not text in quotation marks, as JSON has it.")
    }
    return .text(text)
  }

  private static func untagged(_ value: CBORValue?) -> CBORValue? {
    var value = value
    while case .tagged(_, let content)? = value { value = content }
    return value
  }
}
