// SPDX-License-Identifier: MIT

import Foundation

/// A position in the order of bytes: what is less lies before it, and everything else behind it.
struct ArchiveBound: Sendable, Comparable {
  /// What made it, to be shown.
  enum Origin: Sendable {
    case before(any Sendable)
    case behind(any Sendable)
    case prefix(String)
  }

  /// The least bytes behind it; nil: there are none.
  let bytes: [UInt8]?
  let origin: Origin?

  static let start = ArchiveBound(before: [])
  static let end = ArchiveBound(nil)

  private init(_ bytes: [UInt8]?, _ origin: Origin? = nil) {
    self.bytes = bytes
    self.origin = origin
  }

  init(before bytes: [UInt8], _ origin: Origin? = nil) { self.init(bytes, origin) }

  init(behind bytes: [UInt8], _ origin: Origin? = nil) { self.init(bytes + [0], origin) }

  /// Behind all that begin with these bytes.
  init(behindPrefix bytes: [UInt8], _ origin: Origin? = nil) {
    guard let last = bytes.lastIndex(where: { $0 != 0xFF }) else {
      self.init(nil, origin)
      return
    }
    var next = Array(bytes[...last])
    next[last] += 1
    self.init(next, origin)
  }

  /// What the texts begin with whose bound it is.
  var prefix: String? { if case .prefix(let text)? = origin { text } else { nil } }

  /// The same position in the order of other bytes, if there are any behind it.
  func map(_ transform: ([UInt8]) -> ArchiveBound) -> ArchiveBound {
    guard let bytes else { return self }
    return ArchiveBound(transform(bytes).bytes, origin)
  }

  static func == (a: ArchiveBound, b: ArchiveBound) -> Bool { compare(a, b) == 0 }

  static func < (a: ArchiveBound, b: ArchiveBound) -> Bool { compare(a, b) < 0 }

  private static func compare(_ a: ArchiveBound, _ b: ArchiveBound) -> Int {
    guard let left = a.bytes, let right = b.bytes else {
      return (a.bytes == nil ? 1 : 0) - (b.bytes == nil ? 1 : 0)
    }
    let order = memcmp(left, right, min(left.count, right.count))
    return order == 0 ? left.count - right.count : Int(order)
  }
}

/// What lies behind one bound and before another.
struct ArchiveRange: Sendable {
  let lower: ArchiveBound
  let upper: ArchiveBound

  /// Everything, unless there are bounds.
  init(_ lower: ArchiveBound = .start, to upper: ArchiveBound = .end) {
    self.lower = lower
    self.upper = upper
  }

  /// One value, which is shown if it is given.
  init(only bytes: [UInt8], _ value: (any Sendable)? = nil) {
    lower = ArchiveBound(before: bytes, value.map { .before($0) })
    upper = ArchiveBound(behind: bytes, value.map { .behind($0) })
  }

  /// All that begins with these bytes.
  init(prefix bytes: [UInt8], _ origin: ArchiveBound.Origin? = nil) {
    lower = ArchiveBound(before: bytes, origin)
    upper = ArchiveBound(behindPrefix: bytes, origin)
  }

  /// Whether no value is in it.
  var isEmpty: Bool { lower >= upper }

  /// The bytes of the only value in it; nil if there is room for more.
  var only: [UInt8]? {
    guard let bytes = lower.bytes, let next = upper.bytes else { return nil }
    let isOne = next.count == bytes.count + 1 && next.last == 0
    return isOne && memcmp(bytes, next, bytes.count) == 0 ? bytes : nil
  }

  /// The only value in it, if somebody named that.
  var value: (any Sendable)? {
    if only == nil { return nil }
    if case .before(let value) = lower.origin { return value }
    if case .behind(let value) = upper.origin { return value }
    return nil
  }

  /// How much it leaves out, as far as one can tell: 3 for all but one value, 2 for a bound on
  /// both sides, 1 for one, 0 for nothing.
  var strength: Int {
    if only != nil { return 3 }
    return (lower == .start ? 0 : 1) + (upper == .end ? 0 : 1)
  }

  func intersection(_ other: ArchiveRange) -> ArchiveRange {
    ArchiveRange(
      lower < other.lower ? other.lower : lower, to: other.upper < upper ? other.upper : upper)
  }

  // MARK: - Cut values

  /// Whether an index, which cuts values, tells exactly what is in it.
  var isKept: Bool {
    max(lower.bytes?.count ?? 0, upper.bytes?.count ?? 0) <= ArchiveIndex<Never>.maximumCount
  }

  /// Where an index has what is in it: with all that share the beginning of a bound that is cut.
  var cut: ArchiveRange {
    if isKept { return self }
    let count = ArchiveIndex<Never>.maximumCount
    return ArchiveRange(
      lower.map { ArchiveBound(before: Array($0.prefix(count))) },
      to: upper.map {
        $0.count <= count
          ? ArchiveBound(before: $0) : ArchiveBound(behind: Array($0.prefix(count)))
      })
  }

  // MARK: - Use

  /// Sets the bounds of a selection.
  func apply(to selection: inout StoreSelection) {
    guard let least = lower.bytes, !isEmpty else {
      // Before the least bytes of all there is nothing.
      selection.setUpper([], isExclusive: true)
      return
    }
    if !least.isEmpty { selection.setLower(least) }
    if let next = upper.bytes { selection.setUpper(next, isExclusive: true) }
  }

  /// As in "age >= 18 and age < 65"; nil if it leaves nothing out that somebody named.
  func description(of name: String) -> String? {
    if let value { return "\(name) == \(Self.show(value))" }
    var parts: [String] = []
    if let text = lower.prefix ?? upper.prefix {
      parts.append("\(name) has prefix \(Self.show(text))")
    }
    switch lower.origin {
    case .before(let value): parts.append("\(name) >= \(Self.show(value))")
    case .behind(let value): parts.append("\(name) > \(Self.show(value))")
    case .prefix, nil: break
    }
    switch upper.origin {
    case .before(let value): parts.append("\(name) < \(Self.show(value))")
    case .behind(let value): parts.append("\(name) <= \(Self.show(value))")
    case .prefix, nil: break
    }
    return parts.isEmpty ? nil : parts.joined(separator: " and ")
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
