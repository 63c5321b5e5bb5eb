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

  init<Element: Identifiable & Sendable>(
    _ indexes: [ArchiveIndex<Element>], _ keyCoder: KeyCoder<Element.ID>, _ store: StoreHandle
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
    let route = ArchiveRoute()
    for range in path.ranges where count < limit {
      count += try store.count(
        route.selection(range, of: path, descends: false), upTo: limit - count)
    }
    return count
  }

  /// How many elements there are in all.
  var total: Int { get throws { try Int(clamping: store.totals().count) } }

  // MARK: - Paths

  /// The most ranges that are gone through one by one.
  private static var mostRanges: Int { 1_000 }

  /// What the facts say about the index of that number.
  func path(by number: Int, _ facts: ArchiveFacts) -> ArchivePath {
    let index = indexes[number]
    let properties = properties[number]
    var path = ArchivePath(index: index)
    guard let first = facts.ranges(of: properties[0]) else { return path }
    if properties.count == 1, first.strength > 0, first.parts.count <= Self.mostRanges {
      path.add(first)
      path.ranges = first.parts.map(\.cut)
      path.isExact = path.isExact && path.ranges.allSatisfy(\.isExact)
      path.strength = first.areValues ? 3 : first.strength
      path.fixedCount = first.areValues && first.parts.count == 1 && path.isExact ? 1 : 0
      return path
    }
    var prefixes: [[UInt8]] = [[]]
    for (number, part) in index.parts.enumerated() {
      guard let known = facts.ranges(of: properties[number]), known.strength > 0 else { break }
      let isLast = number == index.parts.count - 1
      path.add(known)
      let areMany = prefixes.count * max(1, known.parts.count) > Self.mostRanges
      guard known.areValues, !areMany else {
        let parts = areMany ? [known.hull] : known.parts
        path.isExact = path.isExact && !areMany
        path.strength += parts.map(\.strength).min() ?? 3
        path.ranges = prefixes.flatMap { prefix in
          parts.map { part.range($0, behind: prefix, isLast: isLast).cut }
        }
        path.isExact = path.isExact && path.ranges.allSatisfy(\.isExact)
        return path
      }
      path.strength += 3
      let isFixed = path.fixedCount == number && known.parts.count == 1 && known.isExact
      prefixes = prefixes.flatMap { prefix in
        known.parts.map { value in
          var bytes = prefix
          let added = value.lower?.bytes ?? []
          if isLast { bytes += added } else { part.append(added, to: &bytes) }
          return bytes
        }
      }
      if isFixed { path.fixedCount += 1 }
      if prefixes.isEmpty { break }
    }
    let isWhole = path.usedCount == index.parts.count
    path.ranges = prefixes.map { isWhole ? ArchiveRange(only: $0) : ArchiveIndexPart.whole($0) }
      .map(\.cut)
    // What is cut is not one value any more.
    if !path.ranges.allSatisfy(\.isExact) {
      path.isExact = false
      path.fixedCount = 0
    }
    return path
  }

  /// What the facts say about the primary key.
  func pathByKey(_ facts: ArchiveFacts) -> ArchivePath {
    var path = ArchivePath()
    guard let found = facts.ranges(of: Self.key).flatMap({ keyRanges($0) }) else { return path }
    path.add(found)
    path.ranges = found.parts.count > Self.mostRanges ? [found.hull] : found.parts
    path.isExact = path.isExact && found.parts.count <= Self.mostRanges
    path.strength = found.strength
    return path
  }

  /// The same of the bytes of keys; nil if their bytes cannot tell.
  private func keyRanges(_ ranges: ArchiveRanges) -> ArchiveRanges? {
    if hasSortedKeys, ranges.members == nil, !ranges.areValues { return ranges }
    // Each value may have been stored in several forms.
    var values = ranges.members?.map(\.value) ?? []
    if ranges.members == nil {
      guard ranges.areValues else { return nil }
      values = ranges.parts.compactMap { $0.lower?.value }
      if values.count != ranges.parts.count { return nil }
    }
    var found: [ArchiveRange] = []
    for value in values {
      // What is no key is no element's.
      guard let forms = try? keyBytes(value) else { continue }
      if forms.isEmpty { return nil }
      found += forms.map { ArchiveRange(only: $0, value: ArchiveShown(value: value)) }
    }
    return ArchiveRanges(found)
  }
}

/// A value that is only shown.
private struct ArchiveShown: @unchecked Sendable, CustomStringConvertible {
  let value: Any
  var description: String { value is String ? "\"\(value)\"" : "\(value)" }
}

extension ArchivePath {
  /// Takes a fact into account.
  fileprivate mutating func add(_ ranges: ArchiveRanges) {
    shown.append(ranges)
    usedCount += 1
    isExact = isExact && ranges.isExact
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
