// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// What an ``ArchiveScan`` found: valid until that has ended.
@usableFromInline
struct ArchiveFound {
  @usableFromInline let key: UnsafeRawBufferPointer
  @usableFromInline let version: UInt64
  @usableFromInline let value: UnsafeRawBufferPointer
  /// What says which version it is of.
  @usableFromInline let tag: UnsafeRawBufferPointer
}

/// Goes over what a route finds, in the order in which the store lists it: what most queries ask
/// for. It knows nothing of elements, which are made of what it finds in the program itself.
///
/// For any other route there is ``ArchiveWalk``. Belongs to one thread.
@usableFromInline
final class ArchiveScan {
  private let store: StoreHandle
  private let catalog: ArchiveCatalog
  private let route: ArchiveRoute
  private let indexFormat: UInt64
  private let expected: Int
  /// Only keys are wanted, in any order.
  private let isOfKeys: Bool
  private let goesOn: @Sendable () -> Bool
  private var cursor: StoreCursor?
  private var entry = StoreEntry(raw: larder_store_entry())
  /// The path at hand, and the number of its next range; back to front, of the one before.
  private var path = 0
  private var range = 0
  private var isByIndex = false
  private var examined = 0
  /// Keys of what was found, if several paths may find it.
  private var given: Set<[UInt8]> = []
  /// Those of results that are put into their order.
  private var kept = ArchiveKeys()
  /// Whether elements were found in the order that the route stands for. Those that share all that
  /// the store puts them into order by would have to be sorted.
  @usableFromInline private(set) var isInOrder = true

  fileprivate init(
    _ store: StoreHandle, _ catalog: ArchiveCatalog, _ route: ArchiveRoute, _ indexFormat: UInt64,
    _ expected: Int,
    isOfKeys: Bool = false, _ goesOn: @escaping @Sendable () -> Bool
  ) {
    self.store = store
    self.catalog = catalog
    self.route = route
    self.indexFormat = indexFormat
    self.expected = expected
    self.isOfKeys = isOfKeys
    self.goesOn = goesOn
    if route.isDescending { path = route.paths.count }
  }

  /// The next entry; nil at the end, or if the elements are not in order.
  @usableFromInline
  func next() throws -> ArchiveFound? {
    while true {
      guard try cursor?.step(&entry) == true else {
        guard let selection = nextSelection() else { return nil }
        if cursor == nil {
          cursor = try StoreCursor(store, selection)
        } else {
          try cursor?.seek(selection)
        }
        continue
      }
      examined += 1
      if examined & 63 == 0, !goesOn() { throw CancellationError() }
      if examined > route.budget || !(isOfKeys || isPlaced) {
        isInOrder = false
        return nil
      }
      if route.paths.count > 1, wasGiven([UInt8](entry.key)) { continue }
      return ArchiveFound(
        key: entry.key, version: entry.sequence, value: entry.value, tag: entry.extended)
    }
  }

  /// Whether another path has found it. What the last one finds nobody asks for again.
  private func wasGiven(_ key: [UInt8]) -> Bool {
    let isLast = route.isDescending ? path == 0 : path == route.paths.count - 1
    return isLast ? given.contains(key) : !given.insert(key).inserted
  }

  /// Notes what was found last as one of the results.
  @usableFromInline
  func keep() {
    kept.append(entry.key, entry.sequence)
  }

  /// The numbers of the results in the order of their keys.
  @usableFromInline
  func order() -> [Int] { kept.order() }

  /// To be called when nothing is needed any more of what was found.
  @usableFromInline
  func end() { cursor = nil }

  /// Whether the store has put it into order by all of its value and key, as far as they matter.
  private var isPlaced: Bool {
    if !route.needsKeys, entry.key.count > ArchiveRoute.longKey { return false }
    return !route.isSorted || !isByIndex
      || entry.indexValue.count < ArchiveIndex<Never>.maximumCount
  }

  /// Selects the next range; nil if there are no more.
  private func nextSelection() -> StoreSelection? {
    guard let (path, range) = nextRange() else { return nil }
    var selection = catalog.selection(range, of: path, descends: route.isDescending)
    selection.indexFormat = indexFormat
    selection.isWithoutExpiry = true
    selection.isWithoutValues = isOfKeys
    selection.expected = expected
    isByIndex = selection.index != nil
    return selection
  }

  private func nextRange() -> (ArchivePath, ArchiveRange)? {
    if route.isDescending {
      while range == 0 {
        if path == 0 { return nil }
        path -= 1
        range = route.paths[path].ranges.count
      }
      range -= 1
      return (route.paths[path], route.paths[path].ranges[range])
    }
    while path < route.paths.count {
      if range < route.paths[path].ranges.count {
        defer { range += 1 }
        return (route.paths[path], route.paths[path].ranges[range])
      }
      (path, range) = (path + 1, 0)
    }
    return nil
  }
}

extension ArchiveRoute {
  /// Keys with more bytes may share what the store puts them into order by.
  static var longKey: Int { 494 }

  /// Whether the store lists the elements in the order that the route stands for.
  fileprivate var isPlain: Bool {
    // By index those of one value would come back to front.
    sharedCount == nil && (!isDescending || paths.allSatisfy { $0.index == nil })
  }
}

extension Archive {
  /// Begins to go over what the route finds; nil if that needs an ``ArchiveWalk``.
  ///
  /// - Parameter expected: How many entries will be asked for, at most.
  @usableFromInline
  func scan(
    _ route: ArchiveRoute, expected: Int, _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> ArchiveScan? {
    if !route.isPlain { return nil }
    let format = try currentFormat(for: route)
    return ArchiveScan(store, catalog, route, format, expected, goesOn)
  }

  /// Begins to go over the primary keys of what the route finds, in any order.
  func scanKeys(
    _ route: ArchiveRoute, _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> ArchiveScan {
    let format = try currentFormat(for: route)
    return ArchiveScan(store, catalog, route, format, .max, isOfKeys: true, goesOn)
  }

  private func currentFormat(for route: ArchiveRoute) throws -> UInt64 {
    let format = store.indexFormat.load(ordering: .acquiring)
    if route.paths.contains(where: { $0.index != nil }) { _ = try unindexedCount() }
    return format
  }
}

extension ArchiveQuery {
  /// Runs the query.
  @inlinable
  func runResults(
    wanted: Int?, _ fetch: @escaping ArchiveFetch<Element>,
    _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element] {
    if transaction != nil { return try runInTransaction(wanted, fetch, goesOn) }
    return try archive.withCurrentIndexes { usesIndexes in
      let plan = try ArchivePlan(stages, of: archive, wanted: wanted, usesIndexes: usesIndexes)
      return try plan.scan(archive, wanted, fetch, goesOn)
        ?? runAny(plan, wanted: wanted, fetch, goesOn)
    }
  }
}

extension ArchivePlan {
  /// The results, if an ``ArchiveScan`` finds them; else nil.
  @inlinable
  func scan(
    _ archive: Archive<Element>, _ wanted: Int?, _ fetch: ArchiveFetch<Element>,
    _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element]?
  where Element: Identifiable, Element.ID: Codable & Sendable & SendableMetatype {
    var (skipped, most) = (0, Int.max)
    var sort: [ArchiveSortKey<Element>]?
    for (number, stage) in stages.enumerated() {
      switch stage {
      case .skip(let count):
        skipped = Self.saturatingSum(skipped, min(count, most))
        if most < .max { most -= min(count, most) }
      case .limit(let count): most = min(most, count)
      case .sort(let keys) where number == 0 && !needsKeys: sort = keys
      case .filter, .sort: return nil
      }
    }
    most = min(most, wanted ?? .max)
    if most == 0 { return [] }
    if ordersByKey, skipped > 0 || most < .max { return nil }
    let total = Self.saturatingSum(skipped, most)
    guard let scan = try archive.scan(route, expected: sort == nil ? total : .max, goesOn)
    else { return nil }
    defer { scan.end() }
    let fetches = try archive.fitsIntoMemory
    var top = sort.map { ArchiveTop(total, by: ArchiveSortKey.order(by: $0)) }
    var elements: [Element] = []
    elements.reserveCapacity(min(most, 16))
    entries: while let found = try scan.next() {
      let element: Element
      do {
        element =
          fetches && archive.isCurrent(found.tag)
          ? try fetch(found.key, found.version, found.value)
          : try archive.decode(found.value, tag: found.tag, key: found.key)
      } catch {
        try archive.leaveOut(error, found.key, tag: found.tag)
        continue
      }
      for filter in filters where try !filter.isMet(element) { continue entries }
      if sort != nil {
        top?.add(element)
        continue
      }
      if skipped > 0 {
        skipped -= 1
        continue
      }
      elements.append(element)
      if ordersByKey { scan.keep() }
      if elements.count == most { break }
    }
    if !scan.isInOrder { return nil }
    if let sorted = top?.take() { return Array(sorted.dropFirst(skipped)) }
    return ordersByKey ? scan.order().map { elements[$0] } : elements
  }
}
