// SPDX-License-Identifier: MIT

/// What goes along with an archive: it stores elsewhere what elements hold besides themselves.
package protocol ArchiveCompanion: Sendable {
  /// Called before an element is stored; what it throws fails the write.
  func willStore(_ element: Any) throws
}

extension Archive {
  /// Stores elsewhere what an element holds besides itself.
  @usableFromInline
  func recordProperties(of element: Element, _ how: StoreReading = .use) throws {
    guard let companion else { return }
    if how.contains(.withoutWaiting) { throw StoreWait() }
    try companion.willStore(element)
  }

  /// Stores an element in place of the one with the same primary key, and tells no companion.
  package func upsertAlone(_ element: Element) throws { try storeAlone(element, nil) }
}
