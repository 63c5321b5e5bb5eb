// SPDX-License-Identifier: MIT

/// One of the properties that an index is made of, in the order of which it is sorted.
///
/// The bytes of an index of several properties are those of its parts, one after the other. All
/// but the last have to show where they end, without a change of their order:
/// - numbers, dates and the like always have as many bytes, and optional ones as many behind a
///   one;
/// - of all others a zero byte becomes `00 FF`, and `00 01` ends them.
struct ArchiveIndexPart: Sendable {
  /// How the end of a part is found.
  enum Form: Sendable, Hashable {
    case fixed(Int)
    case optional(Int)
    case escaped
  }

  let keyPath: any AnyKeyPath & Sendable
  /// Whether bytes are in the order of the values.
  let keepsOrder: Bool
  let form: Form
  /// What the key path is called.
  let name: String

  init<Element, Value: ArchiveIndexable>(_ keyPath: any KeyPath<Element, Value> & Sendable) {
    self.keyPath = keyPath
    keepsOrder = Value.archiveIndexKeepsOrder
    form = Self.form(of: Value.self)
    name = "\(keyPath)"
  }

  private static func form(of type: any ArchiveIndexable.Type) -> Form {
    if let type = type as? any ArchiveFixedWidth.Type { return .fixed(type.archiveIndexWidth) }
    let wrapped = (type as? any ArchiveOptional.Type)?.wrapped
    if let wrapped = wrapped as? any ArchiveFixedWidth.Type {
      return .optional(wrapped.archiveIndexWidth)
    }
    return .escaped
  }

  /// Adds the bytes of a value that is not the last one.
  func append(_ value: [UInt8], to bytes: inout [UInt8]) {
    guard form == .escaped else {
      bytes += value
      return
    }
    for byte in value {
      bytes.append(byte)
      if byte == 0 { bytes.append(0xFF) }
    }
    bytes += [0, 1]
  }

  /// Where the part ends that begins at `start`; nil if it was cut.
  func end(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    switch form {
    case .fixed(let width): return start + width <= bytes.count ? start + width : nil
    case .optional(let width):
      guard start < bytes.count else { return nil }
      let end = bytes[start] == 0 ? start + 1 : start + 1 + width
      return end <= bytes.count ? end : nil
    case .escaped:
      var at = start
      while at + 1 < bytes.count {
        if bytes[at] != 0 {
          at += 1
        } else if bytes[at + 1] == 1 {
          return at + 2
        } else {
          at += 2
        }
      }
      return nil
    }
  }
}

extension ArchiveIndexPart {
  /// Adds the bytes of a range of this part to those of the parts before it.
  func range(_ range: ArchiveRange, behind prefix: [UInt8], isLast: Bool) -> ArchiveRange {
    var (lower, upper) = (Self.whole(prefix).lower, Self.whole(prefix).upper)
    if let bound = range.lower { lower = self.bound(bound, prefix, isLast, isUpper: false) }
    if let bound = range.upper { upper = self.bound(bound, prefix, isLast, isUpper: true) }
    return ArchiveRange(lower: lower, upper: upper, isExact: range.isExact)
  }

  /// All that begins with these parts.
  static func whole(_ prefix: [UInt8]) -> ArchiveRange {
    if prefix.isEmpty { return ArchiveRange() }
    return ArchiveRange(
      lower: ArchiveRange.Bound(bytes: prefix),
      upper: successor(prefix).map { ArchiveRange.Bound(bytes: $0, isExclusive: true) })
  }

  private func bound(
    _ bound: ArchiveRange.Bound, _ prefix: [UInt8], _ isLast: Bool, isUpper: Bool
  ) -> ArchiveRange.Bound? {
    var result = bound
    result.bytes = prefix
    if isLast {
      result.bytes += bound.bytes
      return result
    }
    append(bound.bytes, to: &result.bytes)
    // Other parts follow: what equals the bound begins with it.
    if bound.isExclusive != isUpper {
      guard let next = Self.successor(result.bytes) else { return isUpper ? nil : result }
      result.bytes = next
    }
    result.isExclusive = isUpper
    return result
  }

  /// The least bytes behind all that begin with these; nil if there are none.
  private static func successor(_ bytes: [UInt8]) -> [UInt8]? {
    guard let last = bytes.lastIndex(where: { $0 != 0xFF }) else { return nil }
    var next = Array(bytes[...last])
    next[last] += 1
    return next
  }
}

/// A value whose bytes in an index are always as many.
protocol ArchiveFixedWidth {
  static var archiveIndexWidth: Int { get }
}
