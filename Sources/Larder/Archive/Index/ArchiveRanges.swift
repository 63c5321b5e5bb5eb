// SPDX-License-Identifier: MIT

/// Which values of a property can belong to what a filter lets through: ranges in order, none of
/// which is empty, or overlaps or touches another.
@usableFromInline
struct ArchiveRanges: Sendable {
  /// A value of a type that is in no index, which a primary key may be all the same. It is a part
  /// of a condition or a predicate, which are `Sendable`.
  struct Member: @unchecked Sendable { let value: Any }

  let parts: [ArchiveRange]
  /// Whether every value in them passes; if not, each has to be tested.
  let isExact: Bool
  /// If the bytes of values say nothing: every value that passes.
  let members: [Member]?

  /// All that is in any of the ranges.
  init(_ ranges: [ArchiveRange], isExact: Bool = true, members: [Member]? = nil) {
    var parts: [ArchiveRange] = []
    for range in ranges.sorted(by: { $0.lower < $1.lower }) where !range.isEmpty {
      if let last = parts.last, last.upper >= range.lower {
        parts[parts.count - 1] = ArchiveRange(last.lower, to: max(last.upper, range.upper))
      } else {
        parts.append(range)
      }
    }
    self.parts = parts
    // Of no values all pass.
    self.isExact = isExact || parts.isEmpty
    self.members = members
  }

  init(_ range: ArchiveRange, isExact: Bool = true) { self.init([range], isExact: isExact) }

  /// How much they leave out: as much as the range that leaves out least.
  var strength: Int {
    // What only leaves out single values leaves out next to nothing.
    let gaps = zip(parts, parts.dropFirst()).map { ArchiveRange($0.upper, to: $1.lower) }
    if parts.first?.lower == .start, parts.last?.upper == .end,
      gaps.allSatisfy({ $0.only != nil })
    {
      return 0
    }
    return parts.map(\.strength).min() ?? 3
  }

  /// Whether they are single values.
  var areValues: Bool { parts.allSatisfy { $0.only != nil } }

  /// Whether they are one value, which passes.
  var isValue: Bool { isExact && parts.count == 1 && areValues }

  /// One range around them all.
  var hull: ArchiveRanges {
    guard parts.count > 1, let first = parts.first, let last = parts.last else { return self }
    return ArchiveRanges(ArchiveRange(first.lower, to: last.upper), isExact: false)
  }

  /// Where an index has them, which cuts values: exactly if no bound is.
  var cut: ArchiveRanges {
    if parts.allSatisfy(\.isKept) { return self }
    return ArchiveRanges(parts.map(\.cut), isExact: false)
  }

  func intersection(_ other: ArchiveRanges) -> ArchiveRanges {
    var common: [ArchiveRange] = []
    var (mine, theirs) = (parts[...], other.parts[...])
    while let a = mine.first, let b = theirs.first {
      common.append(a.intersection(b))
      if a.upper < b.upper { mine.removeFirst() } else { theirs.removeFirst() }
    }
    return ArchiveRanges(
      common, isExact: isExact && other.isExact, members: members ?? other.members)
  }

  func union(_ other: ArchiveRanges) -> ArchiveRanges {
    let all = members.flatMap { members in other.members.map { members + $0 } }
    return ArchiveRanges(
      parts + other.parts, isExact: isExact && other.isExact, members: all)
  }

  /// What is in none of them; nil if some values in them do not pass.
  var complement: ArchiveRanges? {
    if !isExact { return nil }
    let lowers = [.start] + parts.map(\.upper)
    let uppers = parts.map(\.lower) + [.end]
    return ArchiveRanges(zip(lowers, uppers).map { ArchiveRange($0, to: $1) })
  }

  /// As in "age == 1 or age >= 18"; nil if they leave nothing out that somebody named.
  func description(of name: String) -> String? {
    let shown = parts.prefix(4).compactMap { $0.description(of: name) }
    if shown.isEmpty { return nil }
    return shown.joined(separator: " or ") + (parts.count > 4 ? " or … (\(parts.count))" : "")
  }
}
