// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderLogTool

/// What a field holds, so that it can be compared with another one.
///
/// The cases are in the order in which fields of different kinds are sorted.
enum FieldValue: Equatable, Sendable {
  /// Missing, or null.
  case null
  case bool(Bool)
  case integer(Int128)
  case real(Double)
  /// Seconds since 1970.
  case date(Double)
  case text(String)
  /// An array, a map, bytes: equal or not, and without an order.
  case other(CBORValue)

  init(_ value: CBORValue?) {
    switch value {
    case nil, .null, .undefined, .simple: self = .null
    case .bool(let bool): self = .bool(bool)
    case .unsigned(let number): self = .integer(Int128(number))
    case .negative(let number): self = .integer(-1 - Int128(number))
    case .float(let number): self = .real(number)
    case .text(let text): self = .text(text)
    case .tagged(let tag, let content): self = Self.tagged(tag, content)
    case .array, .map, .bytes: self = value.map { .other($0) } ?? .null
    }
  }

  private static func tagged(_ tag: UInt64, _ content: CBORValue) -> FieldValue {
    switch (tag, content) {
    case (0, .text(let text)): return date(text).map { .date($0) } ?? .text(text)
    case (1, _):
      switch FieldValue(content) {
      case .integer(let seconds): return .date(Double(seconds))
      case .real(let seconds): return .date(seconds)
      default: return FieldValue(content)
      }
    case (2...3, .bytes):
      guard let digits = CBORNumberText.integer(.tagged(tag, content)) else {
        return .other(content)
      }
      return Int128(digits).map { .integer($0) } ?? .real(Double(digits) ?? .nan)
    case (4, .array(let parts)):
      guard let digits = CBORNumberText.decimal(parts), let number = Double(digits) else {
        return .other(content)
      }
      return .real(number)
    case (37, .bytes(let bytes)) where bytes.count == 16:
      let uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
      return .text(uuid.uuidString)
    default: return FieldValue(content)
    }
  }

  /// Seconds since 1970 of a date, or of a day's beginning in UTC.
  static func date(_ text: String) -> Double? {
    (RFC3339.date(text) ?? RFC3339.date(text + "T00:00:00Z"))?.timeIntervalSince1970
  }

  /// What it is, for people.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .real: "a number"
    case .date: "a date"
    case .text: "text"
    case .other(.array): "an array"
    case .other(.bytes): "bytes"
    case .other: "an object"
    }
  }

  /// How far in front it is sorted.
  private var rank: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .integer, .real: 2
    case .date: 3
    case .text: 4
    case .other: 5
    }
  }
}

extension FieldValue: Comparable {
  static func < (left: FieldValue, right: FieldValue) -> Bool {
    left.compare(right).map { $0 < 0 } ?? (left.rank < right.rank)
  }

  /// Less than 0, 0 or more as this one comes before, beside or after the other; nil if they cannot
  /// be compared.
  func compare(_ other: FieldValue) -> Int? {
    switch (self, other) {
    case (.null, .null): 0
    case (.bool(let left), .bool(let right)): (left ? 1 : 0) - (right ? 1 : 0)
    case (.integer(let left), .integer(let right)): Self.order(left, right)
    case (.integer(let left), .real(let right)): Self.order(Double(left), right)
    case (.real(let left), .integer(let right)): Self.order(left, Double(right))
    case (.real(let left), .real(let right)): Self.order(left, right)
    case (.date(let left), .date(let right)): Self.order(left, right)
    case (.text(let left), .text(let right)): CanonicalText.compare(left, right)
    case (.other(let left), .other(let right)): left == right ? 0 : nil
    default: nil
    }
  }

  private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int? {
    left < right ? -1 : left > right ? 1 : left == right ? 0 : nil
  }
}
