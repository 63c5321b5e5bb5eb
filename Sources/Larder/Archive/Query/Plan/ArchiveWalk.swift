// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// Goes over the elements that a plan finds, in its order.
///
/// One cursor goes through all ranges of all paths, so that all of it is as of one moment.
///
/// The store lists the elements of one value in the order of their keys, forwards or back as
/// the values. A sort that goes back wants them forwards, so they are collected, and turned
/// round, before anybody gets them. There may be very many, of which few are wanted: then the
/// cursor goes over that value forwards, and afterwards on behind it.
///
/// A class, because generic code copies a structure again and again. Belongs to one thread.
final class ArchiveWalk<Element: Identifiable & Sendable>
where Element.ID: Codable & Sendable & SendableMetatype {
  /// Elements of one value that are collected although few are wanted.
  private static var crowd: Int { 12 }
  private static var longKey: Int { ArchiveRoute.longKey }

  let archive: Archive<Element>
  let plan: ArchivePlan<Element>
  /// Back to front, all of it.
  var isReversed = false
  /// Only few are going to be taken.
  var isLimited = false
  /// Rows say where they were found.
  var wantsPlaces = false
  /// Whether the route's way was not enough: nothing that was handed over counts.
  private(set) var gaveUp = false
  /// Makes elements; nil: the coder does.
  var fetch: ArchiveFetch<Element>?
  /// Asked now and then.
  var goesOn: @Sendable () -> Bool = { true }

  private(set) var examined = 0
  private(set) var decoded = 0
  /// Elements that were left out because they cannot be decoded.
  private(set) var undecodable = 0

  private let isIncluded: @Sendable (Element) throws -> Bool
  private var group: [ArchiveRow<Element>] = []
  private var groupValue: [UInt8] = []
  private var groupExamined = 0
  private var after: ArchivePlace?
  /// Keys of what was handed over, if several paths may find it.
  private var given: Set<[UInt8]>?
  /// That of the indexes when it began.
  private var format: UInt64 = 0
  /// The path at hand.
  private var path = ArchivePath()

  // What is asked for each element, taken out of the plan.
  private let coder: Coder<Element>
  private var isByIndex = false
  private let isSorted: Bool
  private let sharedCount: Int?

  init(archive: Archive<Element>, plan: ArchivePlan<Element>) {
    self.archive = archive
    self.plan = plan
    coder = archive.coder
    isSorted = plan.route.isSorted
    sharedCount = plan.route.sharedCount
    isIncluded = ArchiveTerm.all(plan.filters)
    // Of alike elements the keys decide, which do not come in their order if a property follows.
    let hasOthers = sharedCount.map { $0 < plan.route.paths[0].index?.parts.count ?? 0 } ?? false
    wantsPlaces = plan.needsKeys || hasOthers
  }

  /// The route's way is not enough.
  private struct RouteFailure: Error {}

  /// Whether elements have to come out of the store in the order of their keys. Long ones do not.
  private var reliesOnKeys: Bool { !plan.route.needsKeys && (isByIndex || !isSorted) }

  private var descends: Bool { plan.route.isDescending != isReversed }
  /// Elements of one value come out of the store the wrong way round.
  private var turnsRound: Bool { isByIndex && descends != isReversed }

  /// Hands the elements over until nobody wants more.
  ///
  /// - Parameters:
  ///   - place: Begin behind it.
  ///   - deliver: Says whether to go on.
  func run(
    after place: ArchivePlace? = nil, _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws {
    do { try runThrough(after: place, deliver) } catch is RouteFailure { gaveUp = true }
  }

  private func runThrough(
    after place: ArchivePlace?, _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws {
    format = archive.store.indexFormat.load(ordering: .acquiring)
    if plan.route.paths.contains(where: { $0.index != nil }) {
      undecodable = try archive.unindexedCount()
    }
    if !plan.ordersByKey { return try runAsFound(after: place, deliver) }
    if isLimited { return try runByKeys(deliver) }
    wantsPlaces = true
    var rows: [ArchiveRow<Element>] = []
    try runAsFound(after: place) { row in
      rows.append(row)
      return true
    }
    for row in rows.sorted(by: ArchiveRow.order(by: [])) where try !deliver(row) { return }
  }

  private func runAsFound(
    after place: ArchivePlace?, _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws {
    after = place
    group = []
    let paths = plan.route.paths
    given = paths.count > 1 ? [] : nil
    let parts = parts(after: place)
    guard let first = parts.first else { return }
    var cursor = try StoreCursor(archive.store, selection(first))
    for (number, part) in parts.enumerated() {
      path = paths[part.path]
      isByIndex = path.index != nil
      if number > 0 { try cursor.seek(selection(part)) }
      let goesOn =
        turnsRound || isSorted
        ? try pass(&cursor, part, deliver) : try passForwards(&cursor, deliver)
      if !goesOn { return }
    }
    _ = try deliverGroup(deliver)
  }

  /// Finds the keys of all, and makes elements of those whose turn it is until there are enough.
  private func runByKeys(_ deliver: (ArchiveRow<Element>) throws -> Bool) throws {
    let parts = parts(after: nil)
    guard let first = parts.first else { return }
    var keys = ArchiveKeys()
    var cursor = try StoreCursor(archive.store, selection(first, ofKeys: true))
    for (number, part) in parts.enumerated() {
      if number > 0 { try cursor.seek(selection(part, ofKeys: true)) }
      while try cursor.next({ entry in
        try examine()
        keys.append(entry.key, entry.sequence)
      }) {}
    }
    let order = keys.order()
    path = ArchivePath()
    isByIndex = false
    var last: [UInt8]?
    for number in isReversed ? order.reversed() : order {
      var key: [UInt8] = []
      keys.withKey(number) { bytes, _ in key = [UInt8](bytes) }
      // Several paths may have found it.
      if key == last { continue }
      last = key
      var isWanted = true
      try cursor.seek(selection((0, ArchiveRange(only: key)), of: path))
      _ = try cursor.next { entry in
        if let row = try row(&entry) { isWanted = try deliver(row) }
      }
      if !isWanted { return }
    }
  }

  /// The ranges in which to look, and of which of the route's paths they are.
  private func parts(after place: ArchivePlace?) -> [(path: Int, range: ArchiveRange)] {
    let paths = plan.route.paths
    var parts: [(path: Int, range: ArchiveRange)] = []
    for (number, path) in paths.enumerated() {
      for range in path.ranges {
        let rest =
          place.map { range.rest(behind: $0, isByKey: path.index == nil, descends) } ?? range
        if !rest.isEmpty { parts.append((number, rest)) }
      }
    }
    return descends ? parts.reversed() : parts
  }

  private func selection(
    _ part: (path: Int, range: ArchiveRange), of path: ArchivePath? = nil, ofKeys: Bool = false
  ) -> StoreSelection {
    let path = path ?? plan.route.paths[part.path]
    var selection = archive.catalog.selection(
      part.range, of: path, descends: !ofKeys && descends)
    selection.indexFormat = format
    selection.isWithoutExpiry = true
    selection.isWithoutValues = ofKeys
    return selection
  }

  // MARK: - Passes

  /// The cursor's way through a range.
  ///
  /// - Returns: whether more is wanted.
  private func pass(
    _ cursor: inout StoreCursor, _ part: (path: Int, range: ArchiveRange),
    _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> Bool {
    var rest = part.range
    while true {
      let (isWanted, crowded) = try passGroups(&cursor, deliver)
      guard isWanted, let crowded else { return isWanted }
      let value = ArchiveRange(only: crowded)
      var inner = selection((part.path, value))
      inner.isDescending.toggle()
      try cursor.seek(inner)
      guard try passForwards(&cursor, deliver) else { return false }
      rest =
        descends
        ? ArchiveRange(rest.lower, to: value.lower) : ArchiveRange(value.upper, to: rest.upper)
      try cursor.seek(selection((part.path, rest)))
    }
  }

  /// - Returns: whether more is wanted, and the value that too many elements have, if that is
  ///   where it ended.
  private func passGroups(
    _ cursor: inout StoreCursor, _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> (Bool, [UInt8]?) {
    let splits = isLimited && turnsRound && sharedCount == nil
    var isWanted = true
    var crowded: [UInt8]?
    while isWanted, crowded == nil {
      let isThere = try cursor.next { entry in
        let value = grouped(entry)
        if groupExamined > 0, !value.elementsEqual(groupValue) {
          isWanted = try deliverGroup(deliver)
          if !isWanted { return }
        }
        let isGrouped = isGrouped(value)
        if isGrouped {
          if groupExamined == 0 { groupValue = [UInt8](value) }
          groupExamined += 1
          if splits, groupExamined == Self.crowd, !isCut(value) {
            crowded = groupValue
            return
          }
        }
        guard let row = try read(&entry) else { return }
        if isGrouped { group.append(row) } else { isWanted = try deliver(row) }
      }
      if !isThere {
        // What they share others may share in the next range.
        if isWanted, sharedCount != nil { return (true, nil) }
        if isWanted { isWanted = try deliverGroup(deliver) }
        break
      }
    }
    group.removeAll()
    groupExamined = 0
    return (isWanted, crowded)
  }

  /// The cursor's way, whose order is the one wanted.
  ///
  /// - Returns: whether more is wanted.
  private func passForwards(
    _ cursor: inout StoreCursor, _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> Bool {
    var isWanted = true
    while isWanted,
      try cursor.next({ entry in
        if examined == plan.route.budget { throw RouteFailure() }
        if let row = try read(&entry) { isWanted = try deliver(row) }
      })
    {}
    return isWanted
  }

  // MARK: - Elements of one value

  /// What elements share that are put into their order together.
  private func grouped(_ entry: StoreEntry) -> UnsafeRawBufferPointer {
    guard let index = path.index else {
      return UnsafeRawBufferPointer(rebasing: entry.key.prefix(Self.longKey))
    }
    guard let sharedCount, sharedCount < index.parts.count else { return entry.indexValue }
    var end = 0
    for part in index.parts[..<sharedCount] {
      guard let next = part.end(in: entry.indexValue, from: end) else { return entry.indexValue }
      end = next
    }
    return UnsafeRawBufferPointer(rebasing: entry.indexValue[..<end])
  }

  private func isCut(_ value: UnsafeRawBufferPointer) -> Bool {
    value.count >= (isByIndex ? ArchiveIndex<Element>.maximumCount : Self.longKey)
  }

  /// Whether elements of that value are put into their order here.
  private func isGrouped(_ value: UnsafeRawBufferPointer) -> Bool {
    turnsRound || sharedCount != nil || (isSorted && isCut(value))
  }

  private func deliverGroup(
    _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> Bool {
    var rows = group
    group.removeAll(keepingCapacity: true)
    groupExamined = 0
    if descends { rows.reverse() }
    if let sorting = plan.sorting { rows.sort(by: ArchiveRow.order(by: sorting)) }
    if isReversed { rows.reverse() }
    for row in rows where try !deliver(row) { return false }
    return true
  }

  // MARK: - Elements

  private func examine() throws {
    examined += 1
    if examined & 63 == 0, !goesOn() { throw CancellationError() }
  }

  /// The element, if the filters let it through.
  private func read(_ entry: inout StoreEntry) throws -> ArchiveRow<Element>? {
    try examine()
    return try row(&entry)
  }

  private func row(_ entry: inout StoreEntry) throws -> ArchiveRow<Element>? {
    if let after, isBefore(entry, after) { return nil }
    guard let element = try element(of: entry) else { return nil }
    if try !isIncluded(element) { return nil }
    if given != nil, given?.insert([UInt8](entry.key)).inserted == false { return nil }
    if reliesOnKeys, entry.key.count > Self.longKey { throw RouteFailure() }
    var row = ArchiveRow(element: element, version: entry.sequence)
    if wantsPlaces {
      row.place = ArchivePlace(value: [UInt8](entry.indexValue), key: [UInt8](entry.key))
    }
    return row
  }

  /// nil if it cannot be decoded, and is to be left out then.
  private func element(of entry: StoreEntry) throws -> Element? {
    do {
      if !archive.isCurrent(entry.extended) {
        decoded += 1
        return try archive.decode(entry)
      }
      if let fetch { return try fetch(entry.key, entry.sequence, entry.value) }
      decoded += 1
      return try coder.decode(entry.value)
    } catch {
      try archive.leaveOut(error, entry.key, tag: entry.extended)
      undecodable += 1
      return nil
    }
  }

  /// Whether the element was handed over before the place at which to begin.
  private func isBefore(_ entry: StoreEntry, _ place: ArchivePlace) -> Bool {
    guard isByIndex, entry.indexValue.elementsEqual(place.value) else { return false }
    return !place.key.lexicographicallyPrecedes(entry.key)
  }
}

extension ArchiveRange {
  /// What of it is behind a place; by index, with the elements of its value.
  fileprivate func rest(
    behind place: ArchivePlace, isByKey: Bool, _ descends: Bool
  ) -> ArchiveRange {
    let found = ArchiveRange(only: isByKey ? place.key : place.value)
    return intersection(
      descends
        ? ArchiveRange(to: isByKey ? found.lower : found.upper)
        : ArchiveRange(isByKey ? found.upper : found.lower))
  }
}
