// SPDX-License-Identifier: MIT

import LarderCore

// Properties that have archives of their own.
extension Archive {
  /// Records the properties of an element that are archivable, in the archives of the
  /// factory, as the element's type says.
  @usableFromInline
  func recordProperties(of element: Element) throws {
    guard let factory, let type = Element.self as? any Archivable.Type,
      type.archivePropertyBehavior != .ignore
    else { return }
    let found = ArchivedProperties.find(in: element)
    if found.isEmpty { return }
    var recorder = ArchivePropertyRecorder(try factory.get())
    for found in found { try recorder.record(found, type.archivePropertyBehavior) }
  }
}

/// Records what it finds in an element, and in what it finds.
private struct ArchivePropertyRecorder {
  private let factory: ArchiveFactory
  /// What was begun: objects may refer to each other.
  private var begun: Set<String> = []

  init(_ factory: ArchiveFactory) { self.factory = factory }

  mutating func record<Found: Archivable>(
    _ found: Found, _ behavior: ArchivePropertyBehavior
  ) throws {
    guard begun.insert("\(Found.archiveName)/\(found.primaryKey)").inserted else { return }
    let archive = try factory.archive(for: Found.self)
    if behavior == .insertIfNotPresent {
      var isThere = false
      try archive.keyCoder.borrow(found.id) { isThere = try archive.store.contains($0) }
      if isThere { return }
    }
    if Found.archivePropertyBehavior != .ignore {
      for inner in ArchivedProperties.find(in: found) {
        try record(inner, Found.archivePropertyBehavior)
      }
    }
    try archive.storeAlone(found, nil)
  }
}
