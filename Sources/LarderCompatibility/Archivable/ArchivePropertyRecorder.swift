// SPDX-License-Identifier: MIT

public import Larder
import LarderCore

// Properties that have archives of their own.
extension ArchiveConfiguration {
  /// Whose archives get the properties of an ``Archivable`` element that are archivable
  /// themselves; nil, the default: they are only stored within the element. A factory's own
  /// archives have that factory here.
  public var propertyFactory: ArchiveFactory? {
    get { try? (companion as? ArchiveFactoryLink)?.get() }
    set { companion = newValue.map { ArchiveFactoryLink(to: $0) } }
  }
}

extension ArchiveFactoryLink: ArchiveCompanion {
  /// Records the properties of an element that are archivable, in the archives of the factory, as
  /// the element's type says.
  package func willStore(_ element: Any) throws {
    guard let element = element as? any Archivable else { return }
    try store(element)
  }

  private func store<Element: Archivable>(_ element: Element) throws {
    if Element.archivePropertyBehavior == .ignore { return }
    let found = ArchivedProperties.find(in: element)
    if found.isEmpty { return }
    var recorder = ArchivePropertyRecorder(try get())
    for found in found { try recorder.record(found, Element.archivePropertyBehavior) }
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
      if try archive.contains(id: found.id) { return }
    }
    if Found.archivePropertyBehavior != .ignore {
      for inner in ArchivedProperties.find(in: found) {
        try record(inner, Found.archivePropertyBehavior)
      }
    }
    try archive.upsertAlone(found)
  }
}
