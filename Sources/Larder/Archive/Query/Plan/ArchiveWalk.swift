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
    after = place
    group = []
    let paths = plan.route.paths
    given = paths.count > 1 ? [] : nil
    let format = archive.store.indexFormat.load(ordering: .acquiring)
    if paths.contains(where: { $0.index != nil }) { undecodable = try archive.unindexedCount() }
    var parts: [(path: Int, range: ArchiveRange)] = []
    for (number, path) in paths.enumerated() {
      for var range in path.ranges {
        if let place { range.begin(behind: place, isByKey: path.index == nil, descends) }
        if !range.isEmpty { parts.append((number, range)) }
      }
    }
    if descends { parts.reverse() }
    guard let first = parts.first else { return }
    var selection = plan.route.selection(first.range, of: paths[first.path], descends: descends)
    selection.indexFormat = format
    selection.isWithoutExpiry = true
    var cursor = try StoreCursor(archive.store, selection)
    for (number, part) in parts.enumerated() {
      path = paths[part.path]
      isByIndex = path.index != nil
      if number > 0 {
        selection = plan.route.selection(part.range, of: path, descends: descends)
        selection.indexFormat = format
        selection.isWithoutExpiry = true
        try cursor.seek(selection)
      }
      let goesOn =
        turnsRound || isSorted
        ? try pass(&cursor, selection, deliver) : try passForwards(&cursor, deliver)
      if !goesOn { return }
    }
  }

  // MARK: - Passes

  /// The cursor's way through a range.
  ///
  /// - Returns: whether more is wanted.
  private func pass(
    _ cursor: inout StoreCursor, _ range: StoreSelection,
    _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> Bool {
    var selection = range
    while true {
      let (isWanted, crowded) = try passGroups(&cursor, deliver)
      guard isWanted, let crowded else { return isWanted }
      var inner = selection
      inner.isDescending.toggle()
      inner.setLower(crowded)
      inner.setUpper(crowded, isExclusive: false)
      try cursor.seek(inner)
      guard try passForwards(&cursor, deliver) else { return false }
      if descends {
        selection.setUpper(crowded, isExclusive: true)
      } else {
        selection.setLower(crowded, isExclusive: true)
      }
      try cursor.seek(selection)
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
    if let sorting = plan.sorting { rows = rows.sorted(by: sorting) }
    if isReversed { rows.reverse() }
    for row in rows where try !deliver(row) { return false }
    return true
  }

  // MARK: - Elements

  /// The element, if the filters let it through.
  private func read(_ entry: inout StoreEntry) throws -> ArchiveRow<Element>? {
    examined += 1
    if examined & 63 == 0, !goesOn() { throw CancellationError() }
    if let after, isBefore(entry, after) { return nil }
    guard let element = try element(of: entry) else { return nil }
    if try !isIncluded(element) { return nil }
    if given != nil, given?.insert([UInt8](entry.key)).inserted == false { return nil }
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
      if archive.undecodable == .fail { throw archive.decodingFailure(error, entry.key) }
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
  /// Leaves out what is before a place; by index, the elements of its value stay.
  fileprivate mutating func begin(behind place: ArchivePlace, isByKey: Bool, _ descends: Bool) {
    let bound = Bound(bytes: isByKey ? place.key : place.value, isExclusive: isByKey)
    formIntersection(descends ? ArchiveRange(upper: bound) : ArchiveRange(lower: bound))
  }
}
