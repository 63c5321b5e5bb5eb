// SPDX-License-Identifier: MIT

/// What the elements have in common that a filter lets through, as far as an index can use it.
@usableFromInline
indirect enum ArchiveHint: Sendable {
  /// The property has one of these values.
  case values(any AnyKeyPath & Sendable, ArchiveRanges)
  /// The property of that description has one of these values.
  case named(String, ArchiveRanges)
  case all([ArchiveHint])
  case any([ArchiveHint])
  /// Anything.
  case nothing

  static func either(_ a: ArchiveHint, _ b: ArchiveHint) -> ArchiveHint {
    if case .values(let path, let ranges) = a, case .values(let other, let others) = b,
      path == other
    {
      return .values(path, ranges.union(others))
    }
    let hints = a.choices + b.choices
    for hint in hints { if case .nothing = hint { return .nothing } }
    return .any(hints)
  }

  /// What is true if this is not.
  var negated: ArchiveHint {
    switch self {
    case .values(let path, let ranges):
      return ranges.complement.map { .values(path, $0) } ?? .nothing
    case .named(let name, let ranges):
      return ranges.complement.map { .named(name, $0) } ?? .nothing
    case .all(let hints):
      guard let first = hints.first else { return .nothing }
      return hints.dropFirst().reduce(first.negated) { Self.either($0, $1.negated) }
    case .any(let hints): return .all(hints.map(\.negated))
    case .nothing: return .nothing
    }
  }

  private var choices: [ArchiveHint] {
    if case .any(let hints) = self { hints } else { [self] }
  }
}

/// All that is known of what the filters of a query let through.
struct ArchiveFacts: Sendable {
  /// Of properties, as the catalog numbers them.
  var values: [(property: Int, ranges: ArchiveRanges)] = []
  var choices: [[ArchiveHint]] = []
  /// Whether there is nothing else to be known.
  var isExact = true

  mutating func add(_ hint: ArchiveHint, in catalog: ArchiveCatalog) {
    switch hint {
    case .values(let keyPath, let ranges): add(ranges, of: catalog.property(keyPath))
    case .named(let name, let ranges): add(ranges, of: catalog.property(named: name))
    case .all(let hints): for hint in hints { add(hint, in: catalog) }
    case .any(let hints): choices.append(hints)
    case .nothing: isExact = false
    }
  }

  private mutating func add(_ ranges: ArchiveRanges, of property: Int?) {
    isExact = isExact && property != nil && ranges.isExact
    guard let property else { return }
    if let at = values.firstIndex(where: { $0.property == property }) {
      values[at].ranges = values[at].ranges.intersection(ranges)
    } else {
      values.append((property, ranges))
    }
  }

  func ranges(of property: Int) -> ArchiveRanges? {
    values.first { $0.property == property }?.ranges
  }
}
