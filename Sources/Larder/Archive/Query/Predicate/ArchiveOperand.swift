// SPDX-License-Identifier: MIT

import Foundation

/// A side of a comparison that comes from the element: a property; a property or, if it is nil, a
/// constant; a property of an optional one.
///
/// Sendable, because it is a part of a condition or of a `Predicate`, which are.
struct ArchiveOperand<Element: Sendable, Value>: @unchecked Sendable {
  let read: (Element) -> Value
  /// What an index makes of a test that these values pass, if one can tell.
  let hint: (ArchiveRanges?, (Value) throws -> Bool) -> ArchiveHint

  /// - Parameter ranges: Where the values lie that pass; nil if one cannot tell.
  func condition(
    _ ranges: ArchiveRanges?, isMet: @escaping (Value) throws -> Bool
  ) -> ArchiveCondition<Element> {
    let hint = hint(ranges, isMet)
    var other: ArchiveHint?
    if Value.self == Bool.self, ranges != nil,
      let others = try? ([false, true] as? [Value])?.filter({ try !isMet($0) })
    {
      other = self.hint(ArchiveRanges(oneOf: others)) { try !isMet($0) }
    }
    let test = ArchiveValueTest(read: read, isMet: isMet)
    return ArchiveCondition(hint, other: other) { try test.isMet(test.read($0)) }
  }
}

/// Sendable, because it is a part of a condition or of a `Predicate`, which are.
private struct ArchiveValueTest<Element: Sendable, Value>: @unchecked Sendable {
  let read: (Element) -> Value
  let isMet: (Value) throws -> Bool
}

extension ArchivePredicate {
  static func operand<Element: Sendable, Value>(
    _ expression: any PredicateExpression<Value>,
    of variable: PredicateExpressions.Variable<Element>
  ) -> ArchiveOperand<Element, Value>? {
    if let path = property(expression, of: variable) {
      let cases = expression as? any ArchiveCases
      return ArchiveOperand(
        read: ArchiveKeyPaths.plainReader(path),
        hint: { ranges, isMet in
          let hint = ranges.map { ArchiveHint.values(path, $0) } ?? .nothing
          let isMet = { (value: Any) in try (value as? Value).map(isMet) ?? false }
          guard let others = cases?.hint(of: variable, where: isMet) else { return hint }
          return .all([hint, others])
        })
    }
    return (expression as? any ArchiveMadeOfOptional)?.operand(of: variable, as: Value.self)
  }
}

// MARK: - Cases

/// A property of something that has only so many values: those that it has for some of them are
/// the same as these.
private protocol ArchiveCases {
  func hint<Element: Sendable>(
    of variable: PredicateExpressions.Variable<Element>, where isMet: (Any) throws -> Bool
  ) -> ArchiveHint?
}

extension PredicateExpressions.KeyPath: ArchiveCases {
  fileprivate func hint<Element: Sendable>(
    of variable: PredicateExpressions.Variable<Element>, where isMet: (Any) throws -> Bool
  ) -> ArchiveHint? {
    guard let outer = ArchivePredicate.property(root, of: variable) else { return nil }
    return ArchiveHint(
      outer, ifCases: { (value: Root.Output) in try isMet(value[keyPath: keyPath]) })
  }
}

extension ArchiveHint {
  /// Those cases of an enumeration that pass; nil if it is none, or does not name its cases.
  init?<Element, Value>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, ifCases isMet: (Value) throws -> Bool
  ) {
    guard let type = Value.self as? any CaseIterable.Type,
      let cases = Self.cases(of: type) as? [Value], let first = cases.first,
      Mirror(reflecting: first).displayStyle == .enum,
      let met = try? cases.filter(isMet), let ranges = ArchiveRanges(oneOf: met),
      ranges.members == nil
    else { return nil }
    self = .values(keyPath, ranges)
  }

  private static func cases<Value: CaseIterable>(of type: Value.Type) -> Any {
    Array(type.allCases)
  }
}

// MARK: - Optional values

/// `property ?? constant`, or `property?.property`.
private protocol ArchiveMadeOfOptional {
  func operand<Element: Sendable, Value>(
    of variable: PredicateExpressions.Variable<Element>, as type: Value.Type
  ) -> ArchiveOperand<Element, Value>?
}

extension PredicateExpressions.NilCoalesce: ArchiveMadeOfOptional {
  fileprivate func operand<Element: Sendable, Value>(
    of variable: PredicateExpressions.Variable<Element>, as type: Value.Type
  ) -> ArchiveOperand<Element, Value>? {
    guard let outer = ArchivePredicate.operand(lhs, of: variable),
      let other = ArchivePredicate.constant(rhs)
    else { return nil }
    let operand = ArchiveOperand<Element, RHS.Output>(
      read: { outer.read($0) ?? other },
      hint: { ranges, isMet in
        var found = ranges?.wrapped
        // What throws is not ruled out.
        if (try? isMet(other)) ?? true {
          let none = ArchiveRanges(oneOf: [LHS.Output.none])
          found = found.flatMap { found in none.map { found.union($0) } }
        }
        return outer.hint(found) { try isMet($0 ?? other) }
      })
    return operand as? ArchiveOperand<Element, Value>
  }
}

extension PredicateExpressions.OptionalFlatMap: ArchiveMadeOfOptional {
  fileprivate func operand<Element: Sendable, Value>(
    of variable: PredicateExpressions.Variable<Element>, as type: Value.Type
  ) -> ArchiveOperand<Element, Value>? {
    guard let outer = ArchivePredicate.property(wrapped, of: variable) else { return nil }
    return ArchivePredicate.chained(outer, transform, self.variable) as? ArchiveOperand
  }
}

extension ArchivePredicate {
  /// A property of what is not nil. Its key path cannot be made of those of its parts; so it is
  /// known by what it is called, which takes stored properties.
  fileprivate static func chained<Element: Sendable, Wrapped, Inner: PredicateExpression>(
    _ outer: any KeyPath<Element, Wrapped?> & Sendable, _ expression: Inner,
    _ variable: PredicateExpressions.Variable<Wrapped>
  ) -> ArchiveOperand<Element, Inner.Output?>? {
    guard
      let path = (expression as? any ArchiveKeyPath)?.keyPath(from: variable.key)
        as? KeyPath<Wrapped, Inner.Output>
    else { return nil }
    let read = ArchiveKeyPaths.plainReader(outer)
    let name = "\(outer)?\("\(path)".drop { $0 != "." })?"
    return ArchiveOperand(
      read: { read($0).map { $0[keyPath: path] } },
      hint: { ranges, _ in
        guard let ranges, !name.contains("<") else { return .nothing }
        return .named(name, ranges)
      })
  }
}
