// SPDX-License-Identifier: MIT

/// Finds out how a query is answered with the least work.
struct ArchivePlanner<Element: Identifiable & Sendable>
where Element.ID: Codable & Sendable & SendableMetatype {
  private typealias Candidate = (index: ArchiveIndex<Element>, range: ArchiveRange)

  private let archive: Archive<Element>
  private var plan = ArchivePlan<Element>()

  /// - Parameter wanted: How many results are enough; nil for all.
  static func plan(
    _ stages: [ArchiveStage<Element>], of archive: Archive<Element>, wanted: Int?
  ) throws -> ArchivePlan<Element> {
    var planner = ArchivePlanner(archive: archive)
    try planner.make(stages, wanted)
    return planner.plan
  }

  private init(archive: Archive<Element>) { self.archive = archive }

  private mutating func make(_ stages: [ArchiveStage<Element>], _ wanted: Int?) throws {
    var rest = stages[...]
    while case .filter(let terms)? = rest.first {
      plan.filters += terms
      rest.removeFirst()
    }
    // To sort by nothing changes nothing.
    while case .sort(let keys)? = rest.first, keys.isEmpty { rest.removeFirst() }
    let candidates = archive.indexes.map { (index: $0, range: range(of: $0)) }
    // The first one of the strongest.
    let found = candidates.reduce(nil as Candidate?) { best, candidate in
      candidate.range.strength > best?.range.strength ?? 0 ? candidate : best
    }
    let sorting: Candidate? = sortIndex(rest.first, candidates)
    let limit = ArchivePlan.limit(of: rest.dropFirst(), wanted)
    if let sorting, try isBetter(sorting, than: found, limit), case .sort(let keys)? = rest.first {
      use(sorting)
      plan.sorting = keys
      // Of one value there is no other order than that of the keys.
      plan.isDescending = keys[0].order == .descending && !sorting.range.isEqual
      rest.removeFirst()
    } else if let found {
      use(found)
      if case .sort? = rest.first { plan.needsKeys = !found.range.isEqual || !found.range.isExact }
    }
    plan.stages = Array(rest)
  }

  private mutating func use(_ candidate: Candidate) {
    plan.index = candidate.index
    plan.range = candidate.range
  }

  /// What the filters say about the values of an index.
  private func range(of index: ArchiveIndex<Element>) -> ArchiveRange {
    plan.filters.reduce(into: ArchiveRange()) { range, term in
      if let property = term.property, index.isOf(property.keyPath) {
        range.formIntersection(property.range)
      }
    }
  }

  /// The index whose order is that of the sort.
  private func sortIndex(
    _ stage: ArchiveStage<Element>?, _ candidates: [Candidate]
  ) -> Candidate? {
    guard case .sort(let keys)? = stage, let property = keys.first?.keyPath else { return nil }
    return candidates.first { $0.index.keepsOrder && $0.index.isOf(property) }
  }

  /// Whether to go by the order that is wanted rather than by what the filters leave over.
  private func isBetter(
    _ sorting: Candidate, than found: Candidate?, _ limit: Int?
  ) throws -> Bool {
    guard let found, found.range.strength > sorting.range.strength else { return true }
    guard let limit else { return false }
    // In the index's order some `limit · all / found` elements are looked at until there are
    // enough, and otherwise all that are found: the first is less when `found² > limit · all`.
    let all = Double(try archive.store.totals().count)
    let few = min(max(64, (Double(limit) * all).squareRoot()), 10_000)
    return try archive.count(found.index, found.range, upTo: Int(few)) >= Int(few)
  }
}

extension Archive {
  /// Counts the elements in a range of an index, or all, without looking at them.
  func count(_ index: ArchiveIndex<Element>?, _ range: ArchiveRange, upTo limit: Int) throws -> Int
  {
    var plan = ArchivePlan<Element>()
    plan.index = index
    plan.range = range
    return try store.count(plan.selection(descends: false), upTo: limit)
  }
}
