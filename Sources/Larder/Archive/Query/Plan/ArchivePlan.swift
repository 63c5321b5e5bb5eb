// SPDX-License-Identifier: MIT

/// How a query is going to be answered.
struct ArchivePlan<Element: Sendable>: Sendable {
  var route = ArchiveRoute()
  /// The sort that the route's order stands for.
  var sorting: [ArchiveSortKey<Element>]?
  /// Filters at the beginning.
  var filters: [ArchiveTerm<Element>] = []
  /// What comes after them.
  var stages: [ArchiveStage<Element>] = []
  private var isSortedLater = false
  /// How many results there can be at most.
  var limit: Int? { Self.limit(of: stages[...]) }

  /// How many elements have to get through the stages until no more can; nil if that depends
  /// on the elements, or there is no limit.
  static func limit(of stages: ArraySlice<ArchiveStage<Element>>, _ wanted: Int? = nil) -> Int? {
    var skipped = 0
    for stage in stages {
      switch stage {
      case .skip(let count): skipped = saturatingSum(skipped, count)
      case .limit(let count): return saturatingSum(skipped, count)
      case .filter, .sort: return nil
      }
    }
    return wanted.map { saturatingSum(skipped, $0) }
  }

  private static func saturatingSum(_ a: Int, _ b: Int) -> Int {
    let (sum, overflows) = a.addingReportingOverflow(b)
    return overflows ? .max : sum
  }

  /// - Parameter wanted: How many results are enough; nil for all.
  init<ID>(_ stages: [ArchiveStage<Element>], of archive: Archive<Element>, wanted: Int?) throws
  where Element: Identifiable, Element.ID == ID, ID: Codable & Sendable & SendableMetatype {
    var rest = stages[...]
    while case .filter(let terms)? = rest.first {
      filters += terms
      rest.removeFirst()
    }
    // To sort by nothing changes nothing.
    while case .sort(let keys)? = rest.first, keys.isEmpty { rest.removeFirst() }
    let catalog = archive.catalog
    let usesIndexes = archive.indexesAreCurrent
    var facts = ArchiveFacts()
    for term in filters { facts.add(term.hint, in: catalog) }
    if case .sort(let keys)? = rest.first {
      let limit = Self.limit(of: rest.dropFirst(), wanted)
      let sort = keys.map { key -> ArchivePlanner.SortProperty in
        (key.keyPath.flatMap { catalog.property($0) }, key.order)
      }
      route = try ArchivePlanner.route(facts, sort: sort, limit: limit, in: catalog, usesIndexes)
      if route.isSorted {
        sorting = keys
        rest.removeFirst()
      } else {
        isSortedLater = true
      }
    } else {
      let limit = Self.limit(of: rest, wanted)
      route = try ArchivePlanner.route(facts, sort: nil, limit: limit, in: catalog, usesIndexes)
    }
    self.stages = Array(rest)
  }

  /// Whether whoever sorts later has to know the primary keys, because elements are not found in
  /// their order.
  var needsKeys: Bool { isSortedLater && route.needsKeys }
}
