// SPDX-License-Identifier: MIT

/// Which values of a property can belong to what a filter lets through: ranges in order, none of
/// which overlaps another.
@usableFromInline
struct ArchiveRanges: Sendable {
  /// A value of a type that is in no index, which a primary key may be all the same. It is a part
  /// of a condition or a predicate, which are `Sendable`.
  struct Member: @unchecked Sendable { let value: Any }

  private(set) var parts: [ArchiveRange]
  /// If the bytes of values say nothing: every value that passes.
  private(set) var members: [Member]?

  /// Everything.
  init() { parts = [ArchiveRange()] }

  @usableFromInline
  init(_ range: ArchiveRange) { parts = range.isEmpty ? [] : [range] }

  /// One of these values; nil if only a test can tell.
  @usableFromInline
  init?<Value>(oneOf values: [Value]) {
    if values.count == 1, let range = ArchiveRange(.equal, values[0]) {
      self.init(range)
      return
    }
    let ranges = values.compactMap { ArchiveRange(.equal, $0) }
    if ranges.count == values.count {
      self.init(ranges)
    } else {
      // Neither an index nor an order of keys has values of that type.
      self.init(ArchiveRange(isExact: false))
      members = values.map { Member(value: $0) }
    }
  }

  /// All that is in any of the ranges.
  init(_ ranges: [ArchiveRange]) {
    parts = []
    let sorted = ranges.filter { !$0.isEmpty }.sorted { $0.begins(before: $1) }
    for range in sorted
    where parts.isEmpty || !parts[parts.count - 1].formUnion(range) { parts.append(range) }
  }

  /// Whether every value in them passes.
  var isExact: Bool { parts.allSatisfy(\.isExact) }

  /// How much they leave out: as much as the range that leaves out least.
  var strength: Int {
    // What only leaves out single values leaves out next to nothing.
    let gaps = zip(parts, parts.dropFirst())
    if parts.first?.lower == nil, parts.last?.upper == nil, !parts.isEmpty,
      gaps.allSatisfy({ $0.upper?.bytes == $1.lower?.bytes })
    {
      return 0
    }
    return parts.map(\.strength).min() ?? 3
  }

  /// Whether they are single values.
  var areValues: Bool { parts.allSatisfy(\.isEqual) }

  /// One range around them all.
  var hull: ArchiveRange {
    if parts.count == 1 { return parts[0] }
    return ArchiveRange(lower: parts.first?.lower, upper: parts.last?.upper, isExact: false)
  }

  func intersection(_ other: ArchiveRanges) -> ArchiveRanges {
    var both = self
    both.members = members ?? other.members
    both.parts = []
    var (mine, theirs) = (parts[...], other.parts[...])
    while let a = mine.first, let b = theirs.first {
      var common = a
      common.formIntersection(b)
      if !common.isEmpty { both.parts.append(common) }
      if a.ends(before: b) { mine.removeFirst() } else { theirs.removeFirst() }
    }
    return both
  }

  func union(_ other: ArchiveRanges) -> ArchiveRanges {
    var either = ArchiveRanges(parts + other.parts)
    if let members, let others = other.members { either.members = members + others }
    return either
  }

  /// What is in none of them; nil if some values in them do not pass.
  var complement: ArchiveRanges? {
    if !isExact { return nil }
    var gaps: [ArchiveRange] = []
    var lower: ArchiveRange.Bound?
    for part in parts {
      if let bound = part.lower {
        gaps.append(ArchiveRange(lower: lower, upper: bound.other))
      }
      guard let upper = part.upper else { return ArchiveRanges(gaps) }
      lower = upper.other
    }
    gaps.append(ArchiveRange(lower: lower))
    return ArchiveRanges(gaps)
  }

  /// As in "age == 1 or age >= 18"; nil if they leave nothing out that somebody named.
  func description(of name: String) -> String? {
    let shown = parts.prefix(4).compactMap { $0.description(of: name) }
    if shown.isEmpty { return nil }
    return shown.joined(separator: " or ") + (parts.count > 4 ? " or … (\(parts.count))" : "")
  }
}

extension ArchiveRange.Bound {
  /// The same place as the end of what is on the other side.
  fileprivate var other: Self {
    ArchiveRange.Bound(bytes: bytes, isExclusive: !isExclusive, value: value)
  }
}

extension ArchiveRange {
  fileprivate func begins(before other: ArchiveRange) -> Bool {
    guard let theirs = other.lower else { return false }
    guard let lower else { return true }
    let order = Self.compare(lower.bytes, theirs.bytes)
    return order < 0 || (order == 0 && !lower.isExclusive && theirs.isExclusive)
  }

  fileprivate func ends(before other: ArchiveRange) -> Bool {
    guard let upper else { return false }
    guard let theirs = other.upper else { return true }
    let order = Self.compare(upper.bytes, theirs.bytes)
    return order < 0 || (order == 0 && upper.isExclusive && !theirs.isExclusive)
  }

  /// Adds what the other one has, if that begins within this one or right behind it.
  ///
  /// - Returns: Whether it does.
  fileprivate mutating func formUnion(_ other: ArchiveRange) -> Bool {
    if let upper, let lower = other.lower {
      let order = Self.compare(upper.bytes, lower.bytes)
      if order < 0 || (order == 0 && upper.isExclusive && lower.isExclusive) { return false }
    }
    let end = ends(before: other) ? other.upper : upper
    self = ArchiveRange(lower: lower, upper: end, isExact: isExact && other.isExact)
    return true
  }
}
