// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

/// One thing that elements are sorted by.
@usableFromInline
package struct ArchiveSortKey<Element: Sendable>: Sendable {
  /// The property, if an index of it has the order that is wanted.
  @usableFromInline var keyPath: (any PartialKeyPath<Element> & Sendable)?
  @usableFromInline let order: SortOrder
  /// In ascending order.
  @usableFromInline let compareAscending: @Sendable (Element, Element) -> ComparisonResult

  @inlinable
  package init(
    order: SortOrder,
    compare: @escaping @Sendable (Element, Element) -> ComparisonResult
  ) {
    self.order = order
    compareAscending = compare
  }

  @inlinable
  init<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, order: SortOrder,
    compare: @escaping @Sendable (Value, Value) -> ComparisonResult
  ) {
    self.keyPath = keyPath
    self.order = order
    let read = ArchiveKeyPaths.reader(keyPath)
    compareAscending = { compare(read($0), read($1)) }
  }

  @inlinable
  package init<Value: Comparable & Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, order: SortOrder
  ) {
    self.init(keyPath, order: order) { ArchiveComparison.compare($0, $1) }
  }

  /// nil comes first.
  @inlinable
  package init<Value: Comparable & Sendable>(
    _ keyPath: any KeyPath<Element, Value?> & Sendable, order: SortOrder
  ) {
    self.init(keyPath, order: order) { ArchiveComparison.compareOptional($0, $1) }
  }

  /// false comes first.
  @inlinable
  package init(_ keyPath: any KeyPath<Element, Bool> & Sendable, order: SortOrder) {
    self.init(keyPath, order: order) { ArchiveComparison.compare($0 ? 1 : 0, $1 ? 1 : 0) }
  }

  /// nil comes first, then false.
  @inlinable
  package init(_ keyPath: any KeyPath<Element, Bool?> & Sendable, order: SortOrder) {
    self.init(keyPath, order: order) {
      ArchiveComparison.compareOptional($0.map { $0 ? 1 : 0 }, $1.map { $0 ? 1 : 0 })
    }
  }

  @inlinable
  func compare(_ a: Element, _ b: Element) -> ComparisonResult {
    switch order {
    case .forward: compareAscending(a, b)
    case .reverse: compareAscending(b, a)
    }
  }

  /// An order by keys, each for the elements that those before leave alike.
  @inlinable
  static func order(by keys: [ArchiveSortKey]) -> @Sendable (Element, Element) -> Bool {
    if keys.count == 1 {
      let compare = keys[0].compareAscending
      if keys[0].order == .forward { return { compare($0, $1) == .orderedAscending } }
      return { compare($1, $0) == .orderedAscending }
    }
    return { a, b in
      for key in keys {
        let result = key.compare(a, b)
        if result != .orderedSame { return result == .orderedAscending }
      }
      return false
    }
  }
}

/// Comparisons as an index makes them: an order whatever they are given.
@usableFromInline
enum ArchiveComparison {
  /// What is neither less nor equal nor greater (not-a-number) comes behind everything else,
  /// as it does in an index.
  @inlinable
  static func compare<Value: Comparable>(_ a: Value, _ b: Value) -> ComparisonResult {
    if Value.self == String.self {
      return compareTexts(unsafeBitCast(a, to: String.self), unsafeBitCast(b, to: String.self))
    }
    if a < b { return .orderedAscending }
    if b < a { return .orderedDescending }
    if a == b { return .orderedSame }
    let isAOutside = !(a == a)
    let isBOutside = !(b == b)
    if isAOutside == isBOutside { return .orderedSame }
    return isAOutside ? .orderedDescending : .orderedAscending
  }

  /// nil comes before everything else, as it does in an index.
  @inlinable
  static func compareOptional<Value: Comparable>(_ a: Value?, _ b: Value?) -> ComparisonResult {
    switch (a, b) {
    case (nil, nil): .orderedSame
    case (nil, _): .orderedAscending
    case (_, nil): .orderedDescending
    case (let a?, let b?): compare(a, b)
    }
  }

  /// `a < b`; of texts by their characters in composed form, as an index does.
  @inlinable
  static func isLess<Value: Comparable>(_ a: Value, _ b: Value) -> Bool {
    Value.self == String.self ? compare(a, b) == .orderedAscending : a < b
  }

  /// `a <= b`, likewise.
  @inlinable
  static func isAtMost<Value: Comparable>(_ a: Value, _ b: Value) -> Bool {
    Value.self == String.self ? compare(a, b) != .orderedDescending : a <= b
  }

  /// `range.contains(value)`, likewise.
  @inlinable
  static func contains<Bounds: RangeExpression>(_ range: Bounds, _ value: Bounds.Bound) -> Bool {
    if Bounds.Bound.self == String.self {
      return containsText(range, unsafeBitCast(value, to: String.self)) ?? range.contains(value)
    }
    return range.contains(value)
  }

  @usableFromInline
  static func compareTexts(_ a: String, _ b: String) -> ComparisonResult {
    let order = CanonicalText.compare(a, b)
    return order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
  }

  /// nil if it is no range of Swift's own.
  @usableFromInline
  static func containsText(_ range: Any, _ text: String) -> Bool? {
    switch range {
    case let range as Range<String>:
      isAtMost(range.lowerBound, text) && isLess(text, range.upperBound)
    case let range as ClosedRange<String>:
      isAtMost(range.lowerBound, text) && isAtMost(text, range.upperBound)
    case let range as PartialRangeFrom<String>: isAtMost(range.lowerBound, text)
    case let range as PartialRangeUpTo<String>: isLess(text, range.upperBound)
    case let range as PartialRangeThrough<String>: isAtMost(text, range.upperBound)
    default: nil
    }
  }
}
