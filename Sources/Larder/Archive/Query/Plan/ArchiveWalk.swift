// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// Goes over the elements that a plan finds, in its order.
///
/// The store lists the elements of one value in the order of their keys, forwards or back as
/// the values. A sort that goes back wants them forwards, so they are collected, and turned
/// round, before anybody gets them. There may be very many, of which few are wanted: then a
/// second cursor goes over that value forwards, and a third goes on behind it. What those see
/// was perhaps written meanwhile; so if anything was, all of it begins again, with one cursor.
///
/// A class, because generic code copies a structure again and again. Belongs to one thread.
final class ArchiveWalk<Element: Identifiable & Sendable>
where Element.ID: Codable & Sendable & SendableMetatype {
  /// Elements of one value that are collected although few are wanted.
  private static var crowd: Int { 12 }

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

  // What is asked for each element, taken out of the plan.
  private let coder: Coder<Element>
  private let isByIndex: Bool
  private let isSorted: Bool
  private let isSortedByMore: Bool

  init(archive: Archive<Element>, plan: ArchivePlan<Element>) {
    self.archive = archive
    self.plan = plan
    coder = archive.coder
    isByIndex = plan.index != nil
    isSorted = plan.sorting != nil
    isSortedByMore = plan.sorting.map { $0.count > 1 } ?? false
    isIncluded = ArchiveTerm.all(plan.filters)
    wantsPlaces = plan.needsKeys
  }

  private var descends: Bool { plan.isDescending != isReversed }
  /// Elements of one value come out of the store the wrong way round.
  private var turnsRound: Bool { isByIndex && descends != isReversed }

  /// Hands the elements over until nobody wants more.
  ///
  /// - Parameters:
  ///   - place: Begin behind it.
  ///   - usesCursors: Whether there may be a second cursor.
  ///   - deliver: Says whether to go on.
  /// - Returns: false if something was written meanwhile that matters: then it has to be done
  ///   again without a second cursor, and what was handed over forgotten.
  func run(
    after place: ArchivePlace? = nil, usesCursors: Bool,
    _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> Bool {
    after = place
    group = []
    var selection = plan.selection(descends: descends)
    if isByIndex {
      selection.indexFormat = archive.store.indexFormat.load(ordering: .acquiring)
      undecodable = try archive.unindexedCount()
    }
    if let place { selection.begin(behind: place, isByKey: !isByIndex) }
    if !turnsRound, !isSorted {
      _ = try passForwards(selection, deliver)
      return true
    }
    let splits = usesCursors && isLimited && turnsRound && !isSortedByMore
    let before = splits ? try archive.store.statistics().last_sequence : 0
    var hasSplit = false
    while let crowded = try pass(selection, splits, deliver) {
      hasSplit = true
      var inner = selection
      inner.isDescending.toggle()
      inner.setLower(crowded)
      inner.setUpper(crowded, isExclusive: false)
      guard try passForwards(inner, deliver) else { break }
      if descends {
        selection.setUpper(crowded, isExclusive: true)
      } else {
        selection.setLower(crowded, isExclusive: true)
      }
    }
    return try !hasSplit || archive.store.statistics().last_sequence == before
  }

  // MARK: - Passes

  /// One cursor's way.
  ///
  /// - Returns: the value that too many elements have, if that is where it ended.
  private func pass(
    _ selection: StoreSelection, _ splits: Bool,
    _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> [UInt8]? {
    var cursor = try StoreCursor(archive.store, selection)
    var isWanted = true
    var crowded: [UInt8]?
    while isWanted, crowded == nil {
      let isThere = try cursor.next { entry in
        if groupExamined > 0, !entry.indexValue.elementsEqual(groupValue) {
          isWanted = try deliverGroup(deliver)
          if !isWanted { return }
        }
        let isGrouped = isGrouped(entry.indexValue)
        if isGrouped {
          if groupExamined == 0 { groupValue = [UInt8](entry.indexValue) }
          groupExamined += 1
          if splits, groupExamined == Self.crowd, !isCut(entry.indexValue) {
            crowded = groupValue
            return
          }
        }
        guard let row = try read(&entry) else { return }
        if isGrouped { group.append(row) } else { isWanted = try deliver(row) }
      }
      if !isThere {
        if isWanted { _ = try deliverGroup(deliver) }
        break
      }
    }
    group.removeAll()
    groupExamined = 0
    return isWanted ? crowded : nil
  }

  /// One cursor's way, whose order is the one wanted.
  ///
  /// - Returns: whether more is wanted.
  private func passForwards(
    _ selection: StoreSelection, _ deliver: (ArchiveRow<Element>) throws -> Bool
  ) throws -> Bool {
    var cursor = try StoreCursor(archive.store, selection)
    var isWanted = true
    while isWanted,
      try cursor.next({ entry in
        if let row = try read(&entry) { isWanted = try deliver(row) }
      })
    {}
    return isWanted
  }

  // MARK: - Elements of one value

  private func isCut(_ value: UnsafeRawBufferPointer) -> Bool {
    value.count >= ArchiveIndex<Element>.maximumCount
  }

  /// Whether elements of that value are put into their order here.
  private func isGrouped(_ value: UnsafeRawBufferPointer) -> Bool {
    turnsRound || isSortedByMore || (isSorted && isCut(value))
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
    var row = ArchiveRow(element: element, version: entry.sequence)
    if wantsPlaces {
      row.place = ArchivePlace(value: [UInt8](entry.indexValue), key: [UInt8](entry.key))
    }
    return row
  }

  /// nil if it cannot be decoded, and is to be left out then.
  private func element(of entry: StoreEntry) throws -> Element? {
    do {
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

extension StoreSelection {
  /// Leaves out what is before a place in the order of the selection; by index, the elements
  /// of its value stay.
  fileprivate mutating func begin(behind place: ArchivePlace, isByKey: Bool) {
    if isByKey {
      isDescending
        ? setUpper(place.key, isExclusive: true) : setLower(place.key, isExclusive: true)
    } else {
      isDescending
        ? setUpper(place.value, isExclusive: false) : setLower(place.value, isExclusive: false)
    }
  }
}
