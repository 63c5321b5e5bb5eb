// SPDX-License-Identifier: MIT

/// Which values of an index can belong to what a filter lets through.
@usableFromInline
struct ArchiveRange: Sendable {
  struct Bound: Sendable {
    var bytes: [UInt8]
    var isExclusive = false
    /// The value, to be shown; nil for a bound that nobody wrote.
    var value: (any Sendable)?
  }

  private(set) var lower: Bound?
  private(set) var upper: Bound?
  /// Whether every value in it passes; if not, some may not.
  private(set) var isExact = true

  /// Everything.
  init() {}

  init(lower: Bound? = nil, upper: Bound? = nil, isExact: Bool = true) {
    self.lower = lower
    self.upper = upper
    self.isExact = isExact
  }

  /// One value.
  init(only bytes: [UInt8], value: (any Sendable)? = nil, isExact: Bool = true) {
    let bound = Bound(bytes: bytes, value: value)
    self.init(lower: bound, upper: bound, isExact: isExact)
  }

  /// Whether no value is in it.
  var isEmpty: Bool {
    guard let lower, let upper else { return false }
    let order = Self.compare(lower.bytes, upper.bytes)
    return order > 0 || (order == 0 && (lower.isExclusive || upper.isExclusive))
  }

  /// The same of values that are cut as an index cuts them: a bound that is cut belongs to the
  /// range.
  var cut: ArchiveRange {
    if !Self.isCut(lower), !Self.isCut(upper) { return self }
    return ArchiveRange(lower: lower.map(Self.cut), upper: upper.map(Self.cut), isExact: false)
  }

  /// Whether it is about one value, as far as its bytes are kept.
  var isEqual: Bool {
    guard let lower, let upper else { return false }
    return lower.bytes == upper.bytes && !lower.isExclusive && !upper.isExclusive
  }

  /// How much it leaves out, as far as one can tell: 3 for all but one value, 2 for a bound on
  /// both sides, 1 for one, 0 for nothing.
  var strength: Int {
    if isEqual { return 3 }
    return (lower == nil ? 0 : 1) + (upper == nil ? 0 : 1)
  }

  /// Leaves out what the other one leaves out too.
  mutating func formIntersection(_ other: ArchiveRange) {
    isExact = isExact && other.isExact
    if let bound = other.lower, Self.isTighter(bound, than: lower, sign: 1) { lower = bound }
    if let bound = other.upper, Self.isTighter(bound, than: upper, sign: -1) { upper = bound }
  }

  /// Sets the bounds of a selection by index.
  func apply(to selection: inout StoreSelection) {
    if let lower { selection.setLower(lower.bytes, isExclusive: lower.isExclusive) }
    if let upper { selection.setUpper(upper.bytes, isExclusive: upper.isExclusive) }
  }

  /// As in "age >= 18 and age < 65"; nil if it leaves nothing out that somebody named.
  func description(of name: String) -> String? {
    if isEqual, let value = lower?.value ?? upper?.value {
      return "\(name) == \(Self.show(value))"
    }
    var parts: [String] = []
    if let lower, let value = lower.value {
      parts.append("\(name) \(lower.isExclusive ? ">" : ">=") \(Self.show(value))")
    }
    if let upper, let value = upper.value {
      parts.append("\(name) \(upper.isExclusive ? "<" : "<=") \(Self.show(value))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: " and ")
  }

  // MARK: - Bounds

  private static func cut(_ bound: Bound) -> Bound {
    guard isCut(bound) else { return bound }
    let bytes = Array(bound.bytes.prefix(ArchiveIndex<Never>.maximumCount))
    return Bound(bytes: bytes, isExclusive: false, value: bound.value)
  }

  private static func isCut(_ bound: Bound?) -> Bool {
    guard let bound else { return false }
    return bound.bytes.count >= ArchiveIndex<Never>.maximumCount
  }

  private static func isTighter(_ bound: Bound, than other: Bound?, sign: Int) -> Bool {
    guard let other else { return true }
    let order = compare(bound.bytes, other.bytes) * sign
    return order > 0 || (order == 0 && bound.isExclusive && !other.isExclusive)
  }

  /// -1, 0 or 1, as the store compares.
  static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
    if a.lexicographicallyPrecedes(b) { return -1 }
    return a == b ? 0 : 1
  }

  private static func show(_ value: any Sendable) -> String {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional {
      return mirror.children.first.map { show(of: $0.value) } ?? "nil"
    }
    return show(of: value)
  }

  private static func show(of value: Any) -> String {
    value is String ? "\"\(value)\"" : "\(value)"
  }
}

extension ArchiveRange {
  /// How a value relates to another.
  @usableFromInline enum Relation: Sendable {
    case equal, less, lessOrEqual, greater, greaterOrEqual
  }

  /// What an index of values like this one holds in that relation to it; nil if values of
  /// that type are in no index, or their bytes in no order.
  @usableFromInline
  init?<Value>(_ relation: Relation, _ value: Value) {
    // To ask the runtime whether a type is indexable takes longer than all else.
    if Value.self == Int.self {
      let value = unsafeBitCast(value, to: Int.self)
      self.init(relation, Bound(bytes: value.archiveIndexBytes, value: value))
      return
    }
    guard let type = Value.self as? any ArchiveIndexable.Type else { return nil }
    guard relation == .equal || type.archiveIndexKeepsOrder else { return nil }
    guard let (value, bytes) = Self.bytes(of: value, as: type) else { return nil }
    self.init(relation, Bound(bytes: bytes, value: value))
    guard let end = (Value.self as? any ArchivePartlyOrdered.Type)?.archiveIndexEnd else { return }
    // What is neither less nor greater than anything lies behind the others; the bound itself may
    // be one of them. Not-a-number has its place in an index, and is equal to nothing.
    let isInOrder = Self.compare(bytes, end) < 0
    if relation != .equal {
      formIntersection(ArchiveRange(upper: Bound(bytes: end, isExclusive: true)))
    }
    isExact = isExact && isInOrder
  }

  private init(_ relation: Relation, _ bound: Bound) {
    var other = bound
    other.isExclusive = true
    switch relation {
    case .equal: self.init(lower: bound, upper: bound)
    case .less: self.init(upper: other)
    case .lessOrEqual: self.init(upper: bound)
    case .greater: self.init(lower: other)
    case .greaterOrEqual: self.init(lower: bound)
    }
  }

  /// What an index holds in both relations; nil if it cannot tell of either.
  @usableFromInline
  init?<Value>(_ relation: Relation, _ value: Value, _ other: Relation, _ bound: Value) {
    guard var range = ArchiveRange(relation, value), let rest = ArchiveRange(other, bound) else {
      return nil
    }
    range.formIntersection(rest)
    self = range
  }

  /// The same of optional values, of which nil is in no relation to anything.
  @usableFromInline
  init?<Value>(_ relation: Relation, wrapped value: Value) {
    guard var range = ArchiveRange(relation, Value?.some(value)) else { return nil }
    range.formIntersection(.notNil)
    self = range
  }

  /// The values of an optional property that are not nil.
  @usableFromInline static var notNil: ArchiveRange { ArchiveRange(lower: Bound(bytes: [1])) }

  /// The values that begin with a text.
  static func prefix(_ text: String, isOptional: Bool = false) -> ArchiveRange {
    let bytes = (isOptional ? [1] : []) + text.archiveIndexBytes
    // No text has a byte above 0xF4.
    return ArchiveRange(
      lower: Bound(bytes: bytes, value: text), upper: Bound(bytes: bytes + [0xFF]), isExact: false)
  }

  private static func bytes<Value, Indexable: ArchiveIndexable>(
    of value: Value, as type: Indexable.Type
  ) -> (value: any Sendable, bytes: [UInt8])? {
    // The same type under another name.
    (value as? Indexable).map { ($0, $0.archiveIndexBytes) }
  }
}
