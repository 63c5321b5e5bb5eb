// SPDX-License-Identifier: MIT

// Where an index has the values that pass a test; nil if only the test can tell.

extension ArchiveRanges {
  /// How a value relates to another.
  @usableFromInline enum Relation: Sendable {
    case equal, less, lessOrEqual, greater, greaterOrEqual
  }

  /// What is in that relation to a value. Values of its type may be in no index, or their bytes in
  /// no order.
  @usableFromInline
  init?<Value>(_ relation: Relation, _ value: Value) {
    // To ask the runtime whether a type is indexable takes longer than all else.
    if Value.self == Int.self {
      let value = unsafeBitCast(value, to: Int.self)
      self.init(ArchiveRange(relation, value.archiveIndexBytes, value))
      return
    }
    guard let type = Value.self as? any ArchiveIndexable.Type else { return nil }
    guard relation == .equal || type.archiveIndexKeepsOrder else { return nil }
    guard let (value, bytes) = Self.bytes(of: value, as: type) else { return nil }
    let range = ArchiveRange(relation, bytes, value)
    guard let end = (Value.self as? any ArchivePartlyOrdered.Type)?.archiveIndexEnd else {
      self.init(range)
      return
    }
    // What is neither less nor greater than anything lies behind the others; the value itself may
    // be one of them. Not-a-number has its bytes in an index, and is equal to nothing.
    let isInOrder = bytes.lexicographicallyPrecedes(end)
    let ordered = ArchiveRange(to: ArchiveBound(before: end))
    self.init(relation == .equal ? range : range.intersection(ordered), isExact: isInOrder)
  }

  /// What is in both relations.
  @usableFromInline
  init?<Value>(_ relation: Relation, _ value: Value, _ other: Relation, _ bound: Value) {
    guard let range = ArchiveRanges(relation, value), let rest = ArchiveRanges(other, bound) else {
      return nil
    }
    self = range.intersection(rest)
  }

  /// The same of optional values, of which nil is in no relation to anything.
  @usableFromInline
  init?<Value>(_ relation: Relation, wrapped value: Value) {
    guard let range = ArchiveRanges(relation, Value?.some(value)) else { return nil }
    self = range.intersection(.notNil)
  }

  /// The values of an optional property that are not nil.
  @usableFromInline static var notNil: ArchiveRanges {
    ArchiveRanges(ArchiveRange(ArchiveBound(before: [1])))
  }

  /// The texts that begin with one. Of those that have its bytes some do not, because what follows
  /// makes another character of its last one.
  static func prefix(_ text: String, isOptional: Bool = false) -> ArchiveRanges {
    let bytes = (isOptional ? [1] : []) + text.archiveIndexBytes
    return ArchiveRanges(ArchiveRange(prefix: bytes, .prefix(text)), isExact: false)
  }

  /// One of these values.
  @usableFromInline
  init?<Value>(oneOf values: [Value]) {
    if values.count == 1, let value = ArchiveRanges(.equal, values[0]) {
      self = value
      return
    }
    let found = values.compactMap { ArchiveRanges(.equal, $0) }
    if found.count == values.count {
      self.init(found.flatMap(\.parts), isExact: found.allSatisfy(\.isExact))
    } else {
      // Neither an index nor an order of keys has values of that type.
      let members = values.map { Member(value: $0) }
      self.init([ArchiveRange()], isExact: false, members: members)
    }
  }

  /// Any value but one.
  @usableFromInline
  init?<Value: Equatable>(butFor value: Value) {
    if (value as? any ArchiveOptional)?.isNil == true {
      self = .notNil
    } else if let others = ArchiveRanges(.equal, value)?.complement {
      self = others
    } else {
      return nil
    }
  }

  /// The values of one of Swift's ranges.
  @inlinable
  init?<Bounds: RangeExpression>(of range: Bounds) {
    var bounds: ArchiveRanges?
    if let range = range as? Range<Bounds.Bound> {
      bounds = ArchiveRanges(.greaterOrEqual, range.lowerBound, .less, range.upperBound)
    } else if let range = range as? ClosedRange<Bounds.Bound> {
      bounds = ArchiveRanges(.greaterOrEqual, range.lowerBound, .lessOrEqual, range.upperBound)
    } else if let range = range as? PartialRangeFrom<Bounds.Bound> {
      bounds = ArchiveRanges(.greaterOrEqual, range.lowerBound)
    } else if let range = range as? PartialRangeUpTo<Bounds.Bound> {
      bounds = ArchiveRanges(.less, range.upperBound)
    } else if let range = range as? PartialRangeThrough<Bounds.Bound> {
      bounds = ArchiveRanges(.lessOrEqual, range.upperBound)
    }
    guard let bounds else { return nil }
    self = bounds
  }

  /// The same of optional values, which are not nil.
  @usableFromInline var wrapped: ArchiveRanges? {
    if members != nil { return nil }
    func wrap(_ bound: ArchiveBound) -> ArchiveBound {
      bound.map { ArchiveBound(before: [1] + $0) }
    }
    return ArchiveRanges(
      parts.map { ArchiveRange(wrap($0.lower), to: wrap($0.upper)) }, isExact: isExact)
  }

  private static func bytes<Value, Indexable: ArchiveIndexable>(
    of value: Value, as type: Indexable.Type
  ) -> (value: any Sendable, bytes: [UInt8])? {
    // The same type under another name.
    (value as? Indexable).map { ($0, $0.archiveIndexBytes) }
  }
}

extension ArchiveRange {
  fileprivate init(
    _ relation: ArchiveRanges.Relation, _ bytes: [UInt8], _ value: any Sendable
  ) {
    switch relation {
    case .equal: self.init(only: bytes, value)
    case .less: self.init(to: ArchiveBound(before: bytes, .before(value)))
    case .lessOrEqual: self.init(to: ArchiveBound(behind: bytes, .behind(value)))
    case .greater: self.init(ArchiveBound(behind: bytes, .behind(value)))
    case .greaterOrEqual: self.init(ArchiveBound(before: bytes, .before(value)))
    }
  }
}
