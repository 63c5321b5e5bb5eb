// SPDX-License-Identifier: MIT

import Foundation

/// An element on its way through a query.
struct ArchiveRow<Element: Sendable>: Sendable {
  var element: Element
  var version: UInt64
  /// Where it was found; only if somebody asked for it.
  var place: ArchivePlace?
}

/// Where in an order an element was found.
struct ArchivePlace: Sendable {
  /// In the index; empty in the order of primary keys.
  var value: [UInt8]
  var key: [UInt8]

  /// Whether whoever comes behind it can be found by it alone: not behind a value that the
  /// index has cut, nor behind a key that the store orders by more than its bytes.
  var isExact: Bool {
    value.count < ArchiveIndex<Never>.maximumCount && key.count <= ArchiveRoute.longKey
  }
}

extension Array {
  /// Sorted, with those alike in the order of their keys, if they have places, and else in
  /// the order that they had.
  func sorted<Item>(by keys: [ArchiveSortKey<Item>]) -> [ArchiveRow<Item>]
  where Element == ArchiveRow<Item> {
    if count < 2 { return self }
    let sorted = enumerated().sorted { a, b in
      for key in keys {
        switch key.compare(a.element.element, b.element.element) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      if let first = a.element.place?.key, let second = b.element.place?.key {
        if first != second { return first.lexicographicallyPrecedes(second) }
      }
      return a.offset < b.offset
    }
    return sorted.map(\.element)
  }
}
