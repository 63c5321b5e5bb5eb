// SPDX-License-Identifier: MIT

public import Foundation

/// How a query is going to be answered.
///
/// Made in programs, as all is that has `@inlinable`: there it is specialised for their elements,
/// where generic code would have the runtime look up one type after the other.
@usableFromInline
struct ArchivePlan<Element: Sendable>: Sendable {
  @usableFromInline var route: ArchiveRoute
  /// The sort that the route's order stands for.
  @usableFromInline var sorting: [ArchiveSortKey<Element>]?
  /// Filters at the beginning.
  @usableFromInline var filters: [ArchiveTerm<Element>]
  /// What comes after them.
  @usableFromInline var stages: [ArchiveStage<Element>]
  @usableFromInline var isSortedLater: Bool
  /// How many results there can be at most.
  var limit: Int? { Self.limit(of: stages[...]) }

  /// How many elements have to get through the stages until no more can; nil if that depends
  /// on the elements, or there is no limit.
  @inlinable
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

  @inlinable
  static func saturatingSum(_ a: Int, _ b: Int) -> Int {
    let (sum, overflows) = a.addingReportingOverflow(b)
    return overflows ? .max : sum
  }

  /// - Parameters:
  ///   - wanted: How many results are enough; nil for all.
  ///   - usesIndexes: Whether they may be used.
  ///   - inOrder: Whether it matters in which order elements are found that are not sorted.
  @inlinable
  init<ID>(
    _ stages: [ArchiveStage<Element>], of archive: Archive<Element>, wanted: Int?,
    usesIndexes: Bool, inOrder: Bool = true
  ) throws
  where Element: Identifiable, Element.ID == ID, ID: Codable & Sendable & SendableMetatype {
    var outline = ArchiveOutline(archive.catalog)
    filters = []
    sorting = nil
    isSortedLater = false
    var at = 0
    while at < stages.count, case .filter(let terms) = stages[at] {
      for term in terms { outline.add(term.hint) }
      if filters.isEmpty { filters = terms } else { filters += terms }
      at += 1
    }
    // To sort by nothing changes nothing.
    while at < stages.count, case .sort(let keys) = stages[at], keys.isEmpty { at += 1 }
    var keys: [ArchiveSortKey<Element>]?
    if at < stages.count, case .sort(let first) = stages[at] {
      for key in first { outline.sort(by: key.keyPath, key.order) }
      keys = first
    }
    let limit = Self.limit(of: stages[(keys == nil ? at : at + 1)...], wanted)
    route = try outline.route(limit, usesIndexes: usesIndexes, inOrder: inOrder)
    if keys != nil, route.isSorted {
      sorting = keys
      at += 1
    } else {
      isSortedLater = keys != nil
    }
    self.stages = Array(stages[at...])
  }

  /// What finds the same in another way.
  var next: ArchivePlan {
    var next = self
    next.route = route.next
    if let sorting {
      next.stages.insert(.sort(sorting), at: 0)
      next.sorting = nil
      next.isSortedLater = true
    }
    return next
  }

  /// Whether whoever sorts later has to know the primary keys, because elements are not found in
  /// their order.
  @usableFromInline var needsKeys: Bool { isSortedLater && route.needsKeys }

  /// Whether what is found has to be put into the order of primary keys.
  @usableFromInline var ordersByKey: Bool { !isSortedLater && route.needsKeys }
}

/// What a query asks for, for code that does not know its elements.
@usableFromInline
struct ArchiveOutline: Sendable {
  private let catalog: ArchiveCatalog
  private var facts = ArchiveFacts()
  /// What the first sort is by, if there is one.
  private var sort: [ArchivePlanner.SortProperty]?

  @usableFromInline
  init(_ catalog: ArchiveCatalog) { self.catalog = catalog }

  /// What is known of all that a filter lets through.
  @usableFromInline
  mutating func add(_ hint: ArchiveHint) { facts.add(hint, in: catalog) }

  /// What elements are sorted by; each time for those that are alike until then.
  @usableFromInline
  mutating func sort(by keyPath: (any AnyKeyPath & Sendable)?, _ order: SortOrder) {
    let property = keyPath.flatMap { catalog.property($0) }
    sort = (sort ?? []) + CollectionOfOne((property, order))
  }

  /// - Parameter limit: How many elements are enough that the filters let through, once sorted.
  @usableFromInline
  func route(_ limit: Int?, usesIndexes: Bool, inOrder: Bool) throws -> ArchiveRoute {
    var route = try ArchivePlanner.route(facts, sort: sort, limit: limit, in: catalog, usesIndexes)
    if sort != nil { return route }
    if !inOrder { route.needsKeys = false }
    guard route.needsKeys, limit != nil else { return route }
    let most = 10_000
    var found = 0
    for path in route.paths where found < most {
      found += try catalog.count(path, upTo: most - found)
    }
    route.counted += found
    // To collect so many keys takes longer than to look at a tenth as many elements in their order,
    // among which there may be enough.
    return found < most ? route : .byKey(budget: most / 10, else: route)
  }
}
