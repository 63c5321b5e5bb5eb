// SPDX-License-Identifier: MIT

public import Larder

extension Archive where Element: Archivable {
  /// Opens the archive in a folder, with elements encoded as they say themselves, and found
  /// by `archiveIndexes`, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - location: The folder; the name is `archiveName` by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:coder:indexes:schema:configuration:)``.
  /// - Complexity: As ``init(at:coder:indexes:schema:configuration:)``.
  public convenience init(
    at location: StoreLocation = .named(Element.archiveName),
    configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      at: location, coder: Element.archiveCoder, indexes: Element.archiveIndexes,
      schema: Element.archiveSchema, configuration: configuration)
  }
}
