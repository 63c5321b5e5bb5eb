// SPDX-License-Identifier: MIT

public import Larder

extension Archive where Element: Archivable {
  /// Opens the archive in a folder, with elements encoded as they say themselves, and found
  /// by ``Archivable/archiveIndexes``.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:indexes:schema:configuration:)``.
  /// - Complexity: As ``init(path:coder:indexes:schema:configuration:)``.
  public convenience init(
    path: String, configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      path: path, coder: Element.archiveCoder, indexes: Element.archiveIndexes,
      schema: Element.archiveSchema, configuration: configuration)
  }

  /// Opens the archive of that name in the user's caches folder, with elements encoded as
  /// they say themselves, and found by ``Archivable/archiveIndexes``.
  ///
  /// - Parameters:
  ///   - name: The name of a folder; ``Archivable/archiveName`` by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:indexes:schema:configuration:)``.
  /// - Complexity: As ``init(path:coder:indexes:schema:configuration:)``.
  public convenience init(
    name: String = Element.archiveName, configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      name: name, coder: Element.archiveCoder,
      indexes: Element.archiveIndexes, schema: Element.archiveSchema, configuration: configuration)
  }
}
