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

extension ArchiveRow {
  /// An order by keys, and of those alike by their primary keys, if they have places.
  static func order(
    by keys: [ArchiveSortKey<Element>]
  ) -> @Sendable (ArchiveRow, ArchiveRow) -> Bool {
    { a, b in
      for key in keys {
        switch key.compare(a.element, b.element) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      guard let first = a.place?.key, let second = b.place?.key else { return false }
      return first.lexicographicallyPrecedes(second)
    }
  }
}
