// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

/// What an archive's elements can be found by, for code that does not know them.
@usableFromInline
final class ArchiveCatalog: Sendable {
  let indexes: [ArchiveIndexShape]
  /// Of each index, the numbers of its properties.
  let properties: [[Int]]
  /// The number of the primary key.
  static let key = -1
  /// Whether primary keys are found in their order, and have the bytes that an index would have.
  let hasSortedKeys: Bool
  private let store: StoreHandle
  private let isKey: @Sendable (AnyKeyPath) -> Bool
  private let keyPaths: [any AnyKeyPath & Sendable]
  /// Key paths that queries had, and which property each is: to compare them takes longer than
  /// most else of a plan.
  private let known = Mutex<[(keyPath: any AnyKeyPath & Sendable, property: Int?)]>([])
  private let keyBytes: @Sendable (Any) throws -> [[UInt8]]
  /// Whether damage is left out, as what cannot be decoded is.
  private let passesDamage: Bool
  private let showsKey: @Sendable (UnsafeRawBufferPointer) -> String

  init<Element: Identifiable & Sendable>(
    _ indexes: [ArchiveIndex<Element>], _ keyCoder: KeyCoder<Element.ID>, _ store: StoreHandle,
    passesDamage: Bool
  ) where Element.ID: Codable & Sendable & SendableMetatype {
    self.indexes = indexes.map(\.shape)
    var keyPaths: [any AnyKeyPath & Sendable] = []
    let keys = ArchiveKeyProperty<Element>()
    properties = self.indexes.map { index in
      index.parts.map { part in
        if keys.contains(part.keyPath) { return Self.key }
        if let number = keyPaths.firstIndex(where: { $0 == part.keyPath }) { return number }
        keyPaths.append(part.keyPath)
        return keyPaths.count - 1
      }
    }
    self.keyPaths = keyPaths
    self.store = store
    self.passesDamage = passesDamage
    showsKey = keyCoder.shown
    hasSortedKeys = keyCoder.keepsOrder && Element.ID.self is any ArchiveIndexable.Type
    isKey = { keys.contains($0) }
    keyBytes = { try ($0 as? Element.ID).map { try keyCoder.own($0).allForms } ?? [] }
  }

  /// The number of a property; nil if nothing is found by it.
  func property(_ keyPath: any AnyKeyPath & Sendable) -> Int? {
    known.withLock { known in
      for entry in known where entry.keyPath === keyPath { return entry.property }
      var property = keyPaths.firstIndex { $0 == keyPath }
      if property == nil, isKey(keyPath) { property = Self.key }
      // Key paths that are put together are new ones each time.
      if known.count == 32 { known.removeAll() }
      known.append((keyPath, property))
      return property
    }
  }

  /// The number of an indexed property by its description.
  func property(named name: String) -> Int? {
    for (index, numbers) in zip(indexes, properties) {
      for (part, number) in zip(index.parts, numbers) where part.name == name { return number }
    }
    return nil
  }

  /// Counts rows up to a limit, without looking at elements.
  func count(_ path: ArchivePath, upTo limit: Int) throws -> Int {
    var count = 0
    for range in path.ranges where count < limit {
      count += try store.count(
        selection(range, of: path, descends: false), upTo: limit - count)
    }
    return count
  }

  /// Selects all elements.
  func selection() -> StoreSelection {
    var selection = StoreSelection()
    selection.refusesDamage = !passesDamage
    selection.showsKey = showsKey
    return selection
  }

  func selection(_ range: ArchiveRange, of path: ArchivePath, descends: Bool) -> StoreSelection {
    var selection = selection()
    selection.isDescending = descends
    selection.index = path.index?.number
    // What an index leads to may be found without it.
    if path.index != nil { selection.refusesDamage = true }
    range.apply(to: &selection)
    return selection
  }

  /// How many elements there are in all.
  var total: Int { get throws { try Int(clamping: store.totals().count) } }

  // MARK: - Paths

  /// The most ranges that are gone through one by one.
  private static var mostRanges: Int { 1_000 }

  /// What the facts say about the index of that number.
  func path(by number: Int, _ facts: ArchiveFacts) -> ArchivePath {
    let index = indexes[number]
    var path = ArchivePath(index: index)
    // Of the parts before, each of which has one of some values.
    var prefixes: [[UInt8]] = [[]]
    for (place, part) in index.parts.enumerated() {
      let property = properties[number][place]
      guard let known = facts.ranges(of: property), known.strength > 0 else { break }
      let areMany = prefixes.count * max(1, known.parts.count) > Self.mostRanges
      let isLast = place == index.parts.count - 1
      path.add(known, of: property, isWhole: !areMany)
      if path.fixedCount == place, known.isValue { path.fixedCount += 1 }
      let parts = areMany ? known.hull.parts : known.parts
      path.ranges = prefixes.flatMap { prefix in
        parts.map { part.range($0, behind: prefix, isLast: isLast) }
      }
      if areMany || isLast || !known.areValues { break }
      prefixes = prefixes.flatMap { prefix in
        parts.map { value in
          var bytes = prefix
          part.append(value.only ?? [], to: &bytes)
          return bytes
        }
      }
    }
    let kept = ArchiveRanges(path.ranges).cut
    path.ranges = kept.parts
    if !kept.isExact {
      path.isExact = false
      // What is cut is not one value any more.
      path.fixedCount = 0
    }
    return path
  }

  /// What the facts say about the primary key.
  func pathByKey(_ facts: ArchiveFacts) -> ArchivePath {
    var path = ArchivePath()
    guard let found = facts.ranges(of: Self.key).flatMap({ keyRanges($0) }) else { return path }
    let areMany = found.parts.count > Self.mostRanges
    path.add(found, of: Self.key, isWhole: !areMany)
    path.ranges = areMany ? found.hull.parts : found.parts
    return path
  }

  /// The same of the bytes of keys; nil if their bytes cannot tell.
  private func keyRanges(_ ranges: ArchiveRanges) -> ArchiveRanges? {
    // Each value may have been stored in several forms.
    var values = ranges.members?.map(\.value)
    if values == nil, ranges.areValues {
      let named = ranges.parts.compactMap(\.value)
      if named.count == ranges.parts.count { values = named }
    }
    guard let values else { return hasSortedKeys ? ranges : nil }
    var found: [ArchiveRange] = []
    for value in values {
      // What is no key is no element's.
      guard let forms = try? keyBytes(value) else { continue }
      if forms.isEmpty { return nil }
      found += forms.map { ArchiveRange(only: $0, ArchiveShown(value: value)) }
    }
    return ArchiveRanges(found, isExact: ranges.isExact)
  }
}

/// A value that is only shown.
private struct ArchiveShown: @unchecked Sendable, CustomStringConvertible {
  let value: Any
  var description: String { value is String ? "\"\(value)\"" : "\(value)" }
}

extension ArchivePath {
  /// Takes a fact into account.
  fileprivate mutating func add(_ ranges: ArchiveRanges, of property: Int, isWhole: Bool) {
    shown.append(ranges)
    used.append(property)
    strength += ranges.strength
    isExact = isExact && ranges.isExact && isWhole
  }
}

/// Tells key paths of the primary key from others.
///
/// A key path of `id` that generic code makes is not equal to one that says which type's `id` it
/// is. That of a stored property is known by where the property lies, which its description names:
/// no other one of the type lies there.
final class ArchiveKeyProperty<Element: Identifiable & Sendable>: Sendable
where Element.ID: Sendable {
  private let generic: any KeyPath<Element, Element.ID> & Sendable = \Element.id
  /// Where properties lie that were asked for, and whether they are the primary key.
  private let known = Mutex<[Int: Bool]>([:])

  func contains(_ keyPath: AnyKeyPath) -> Bool {
    if keyPath === generic { return true }
    guard type(of: keyPath).valueType == Element.ID.self else { return false }
    guard let keyPath = keyPath as? KeyPath<Element, Element.ID> else { return false }
    if keyPath == generic as KeyPath<Element, Element.ID> { return true }
    guard let offset = MemoryLayout<Element>.offset(of: keyPath) else { return false }
    return known.withLock { known in
      if let isKey = known[offset] { return isKey }
      let isKey = "\(keyPath)" == "\\\(Element.self).id"
      known[offset] = isKey
      return isKey
    }
  }
}
