// SPDX-License-Identifier: MIT

import Foundation

/// Finds out how a query is answered with the least work.
///
/// Where there is a choice, rows are counted: first a few of each path, and more only as long as
/// no path turns out to have less. So counting takes a small part of what the query is going to
/// take in any case.
struct ArchivePlanner {
  /// What a query sorts by: the number of a property that something is found by, if it is one.
  typealias SortProperty = (property: Int?, order: SortOrder)

  /// Paths that together find all there is to be found.
  private struct Choice {
    var paths: [ArchivePath]
    var strength: Int
    var isComplete: Bool
  }

  private struct Order {
    var path: ArchivePath
    var isDescending: Bool
    var sharedCount: Int?
    var isComplete: Bool

    /// Of those of one strength what is sorted already comes first.
    func isBetter(than other: Order) -> Bool {
      if path.strength != other.path.strength { return path.strength > other.path.strength }
      return sharedCount == nil && other.sharedCount != nil
    }
  }

  private let catalog: ArchiveCatalog
  private let facts: ArchiveFacts
  /// Not as long as those in the folder may be others.
  private let usesIndexes: Bool
  private var counted = 0

  /// - Parameters:
  ///   - sort: What the first sort is by; nil: there is none.
  ///   - limit: How many elements are enough that the filters let through, once sorted.
  static func route(
    _ facts: ArchiveFacts, sort: [SortProperty]?, limit: Int?, in catalog: ArchiveCatalog,
    _ usesIndexes: Bool
  ) throws -> ArchiveRoute {
    if facts.values.isEmpty, facts.choices.isEmpty, sort == nil {
      var route = ArchiveRoute()
      route.isComplete = facts.isExact
      return route
    }
    var planner = ArchivePlanner(catalog: catalog, facts: facts, usesIndexes: usesIndexes)
    var route = try planner.route(sort, limit)
    route.counted = planner.counted
    return route
  }

  private init(catalog: ArchiveCatalog, facts: ArchiveFacts, usesIndexes: Bool) {
    self.catalog = catalog
    self.facts = facts
    self.usesIndexes = usesIndexes
  }

  private mutating func route(_ sort: [SortProperty]?, _ limit: Int?) throws -> ArchiveRoute {
    let paths = paths(facts)
    var order: Order?
    for (number, path) in paths.enumerated() {
      guard let sort, let next = self.order(of: path, number, sort) else { continue }
      if order.map({ next.isBetter(than: $0) }) ?? true { order = next }
    }
    let choices = choices(facts, paths)
    let found = try best(of: choices, sort == nil ? limit : nil)
    if let order, try isBetter(order, than: found, limit) {
      return ArchiveRoute(
        paths: [order.path], isDescending: order.isDescending, isSorted: true,
        sharedCount: order.sharedCount, isComplete: order.isComplete)
    }
    guard let found else {
      var route = ArchiveRoute()
      route.isComplete = facts.isExact && facts.values.isEmpty && facts.choices.isEmpty
      return route
    }
    return ArchiveRoute(
      paths: found.paths, needsKeys: found.paths.count > 1 || !found.paths[0].isInOrderOfKeys,
      isComplete: found.isComplete)
  }

  // MARK: - Paths

  /// By each index, and by primary key.
  private func paths(_ facts: ArchiveFacts) -> [ArchivePath] {
    let indexes = usesIndexes ? catalog.indexes.indices : 0..<0
    return indexes.map { catalog.path(by: $0, facts) } + [catalog.pathByKey(facts)]
  }

  private func isComplete(_ path: ArchivePath, _ facts: ArchiveFacts) -> Bool {
    facts.isExact && path.isExact && facts.choices.isEmpty
      && facts.values.allSatisfy { path.used.contains($0.property) }
  }

  /// The paths that leave something out, and what alternatives make of several.
  private mutating func choices(_ facts: ArchiveFacts, _ paths: [ArchivePath]) -> [Choice] {
    var choices = paths.filter { $0.strength > 0 }.map {
      Choice(paths: [$0], strength: $0.strength, isComplete: isComplete($0, facts))
    }
    for alternatives in facts.choices {
      guard let all = union(of: alternatives, facts) else { continue }
      choices.append(all)
    }
    return choices
  }

  /// The best path of each alternative; nil if one has none.
  private mutating func union(of alternatives: [ArchiveHint], _ facts: ArchiveFacts) -> Choice? {
    var all = Choice(paths: [], strength: .max, isComplete: false)
    for alternative in alternatives {
      var narrower = facts
      narrower.choices = []
      narrower.add(alternative, in: catalog)
      let choices = choices(narrower, self.paths(narrower))
      guard let best = try? best(of: choices, nil) else { return nil }
      all.paths += best.paths
      all.strength = min(all.strength, best.strength)
    }
    return all
  }

  // MARK: - Counting

  /// The choice with the fewest rows.
  ///
  /// - Parameter limit: How many rows are perhaps enough.
  private mutating func best(of choices: [Choice], _ limit: Int?) throws -> Choice? {
    if choices.count < 2 { return choices.first }
    // The first one of the strongest, until something is counted.
    var left = choices.enumerated().sorted {
      ($1.element.strength, $0.offset) < ($0.element.strength, $1.offset)
    }.map(\.element)
    var most = 64
    while left.count > 1 {
      var counts: [Int] = []
      var least = most
      for choice in left {
        let count = try count(choice, upTo: least)
        counts.append(count)
        least = min(least, count)
      }
      if least < most {
        return zip(left, counts).first { $1 == least }?.0
      }
      // Whatever is chosen, it has more than that.
      if let limit, limit <= most { break }
      if most >= 16_384 { break }
      left = zip(left, counts).filter { $1 == most }.map(\.0)
      most *= 16
    }
    return left.first
  }

  private mutating func count(_ choice: Choice, upTo limit: Int) throws -> Int {
    var count = 0
    for path in choice.paths where count < limit {
      count += try catalog.count(path, upTo: limit - count)
    }
    counted += count
    return count
  }

  // MARK: - Order

  /// Whether the path has the order that a sort asks for.
  private func order(of path: ArchivePath, _ number: Int, _ sort: [SortProperty]) -> Order? {
    var sort = sort[...]
    // Of one value there is no order.
    sort.removeAll { key in
      key.property.flatMap { facts.ranges(of: $0) }?.isValue ?? false
    }
    var order = Order(path: path, isDescending: false, isComplete: isComplete(path, facts))
    guard let first = sort.first else { return path.isInOrderOfKeys ? order : nil }
    order.isDescending = first.order == .reverse
    if path.fixedCount > 0, path.isInOrderOfKeys, catalog.hasSortedKeys,
      first.property == ArchiveCatalog.key, !order.isDescending
    {
      return order
    }
    guard let index = path.index else {
      return catalog.hasSortedKeys && first.property == ArchiveCatalog.key ? order : nil
    }
    let properties = catalog.properties[number]
    var sorted = path.fixedCount
    while sorted < properties.count, let next = sort.first, next.order == first.order,
      next.property == properties[sorted], index.parts[sorted].keepsOrder
    {
      sorted += 1
      sort.removeFirst()
    }
    if sorted == path.fixedCount { return nil }
    // Elements that are alike come in the order of their primary keys in any case.
    if catalog.hasSortedKeys, let next = sort.first, next.order == .forward,
      next.property == ArchiveCatalog.key
    {
      sort.removeAll()
    }
    if sorted < properties.count || !sort.isEmpty { order.sharedCount = sorted }
    return order
  }

  /// Whether to go by the order that is wanted rather than by what the filters leave over.
  private mutating func isBetter(
    _ order: Order, than found: Choice?, _ limit: Int?
  ) throws -> Bool {
    guard let found, found.strength > 0 else { return true }
    if found.paths.count == 1, found.paths[0].index === order.path.index { return true }
    guard let limit else {
      // All of them are looked at, and sorting takes less than that.
      if found.strength <= order.path.strength { return true }
      return false
    }
    // In the wanted order some `limit · all / found` elements are looked at until there are
    // enough, and otherwise all that are found: the first is less when `found² > limit · all`.
    let all = order.path.strength > 0 ? try count(order.path, upTo: 10_000) : try catalog.total
    let few = min(max(64, (Double(limit) * Double(all)).squareRoot()), 10_000)
    return try count(found, upTo: Int(few)) >= Int(few)
  }

  private mutating func count(_ path: ArchivePath, upTo limit: Int) throws -> Int {
    try count(Choice(paths: [path], strength: 0, isComplete: false), upTo: limit)
  }
}
