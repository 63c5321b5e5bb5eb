// SPDX-License-Identifier: MIT

extension EntryCache where Key: Codable & SendableMetatype {
  /// Opens the cache in a folder with ``KeyCoder/standard`` for its keys, and creates it if it is
  /// missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - valueCount: How many values each entry has, 1 to 4096.
  ///   - version: What the values mean to the program; 1 by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:valueCount:version:keyCoder:configuration:)``.
  /// - Complexity: As ``init(at:valueCount:version:keyCoder:configuration:)``.
  public convenience init(
    at location: StoreLocation, valueCount: Int, version: Int = 1,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      at: location, valueCount: valueCount, version: version, keyCoder: .standard,
      configuration: configuration)
  }
}
