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
    bytes += form == .escaped ? Self.escaped(value) + [0, 1] : value
  }

  /// Bytes of which none end a part, in the same order.
  private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
    var escaped: [UInt8] = []
    escaped.reserveCapacity(bytes.count + 2)
    for byte in bytes {
      escaped.append(byte)
      if byte == 0 { escaped.append(0xFF) }
    }
    return escaped
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
  /// Where an index has a range of this part, among those that begin with the parts before it.
  func range(_ range: ArchiveRange, behind prefix: [UInt8], isLast: Bool) -> ArchiveRange {
    ArchiveRange(
      bound(range.lower, prefix, isLast), to: bound(range.upper, prefix, isLast))
  }

  private func bound(
    _ bound: ArchiveBound, _ prefix: [UInt8], _ isLast: Bool
  ) -> ArchiveBound {
    guard let bytes = bound.bytes else { return ArchiveBound(behindPrefix: prefix) }
    if isLast { return ArchiveBound(before: prefix + bytes) }
    if form == .escaped { return ArchiveBound(before: prefix + Self.escaped(bytes)) }
    // What is greater than a whole value lies behind all that begin with that, with any parts.
    if let end = bytes.withUnsafeBytes({ end(in: $0, from: 0) }), end < bytes.count {
      return ArchiveBound(behindPrefix: prefix + bytes[..<end])
    }
    return ArchiveBound(before: prefix + bytes)
  }
}

/// A value whose bytes in an index are always as many.
protocol ArchiveFixedWidth {
  static var archiveIndexWidth: Int { get }
}
