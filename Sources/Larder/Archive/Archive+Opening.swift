// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// Opens the archive in a folder with a coder, and creates it if it is missing.
  ///
  /// Elements of an earlier version are migrated; see ``ArchiveSchema``.
  /// If the indexes in the folder are not what these would give for the elements, as far as their
  /// declarations and some 64 elements tell, every element is decoded and stored again, once; a
  /// crash meanwhile makes the next opening do it again. An archive that is only read does without
  /// indexes then.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - coder: Makes bytes of elements. Its format is kept in the folder: a coder of another
  ///     one is refused.
  ///   - indexes: What elements are found by besides their primary key; up to 64.
  ///   - schema: The version of the elements, and steps from earlier ones; version 1 by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: `.invalidArgument` (an empty path, no file URL, a name of no folder, a number
  ///   out of range, two indexes with one number), `.busy` (the message names the process),
  ///   `.configurationMismatch` (another coder's elements, or no archive; none of the elements
  ///   looked at can be decoded, unless ``ArchiveConfiguration/undecodable-swift.property`` says
  ///   otherwise), `.incompatibleVersion` (of Larder, or a later one of the schema), `.decoding`
  ///   (an element of an earlier version cannot be migrated), `.duplicate` (elements have the same
  ///   value of a unique index), `.tooLarge` (a value of one is too long), `.notALarderFile`,
  ///   `.damaged`, `.readOnly`, `.diskFull`, `.io`.
  /// - Complexity: O(64 · log n) for an archive that was closed, and what decoding up to 66
  ///   elements takes; O(what waited for a checkpoint) for one that was not; O(bytes of everything)
  ///   with other indexes than before; O(elements that could not be decoded).
  public convenience init(
    at location: StoreLocation, coder: Coder<Element>, indexes: [ArchiveIndex<Element>] = [],
    schema: ArchiveSchema<Element> = .init(), configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      folder: try location.path(in: Self.userDirectory), coder: coder, indexes: indexes,
      schema: schema, configuration: configuration)
  }
}

// Disfavored: elements of LarderCompatibility say themselves how they are encoded and indexed.
extension Archive where Element: Codable {
  /// Opens the archive in a folder, with elements as CBOR, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - indexes: What elements are found by besides their primary key; up to 64.
  ///   - schema: The version of the elements, and steps from earlier ones; version 1 by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:coder:indexes:schema:configuration:)``.
  /// - Complexity: As ``init(at:coder:indexes:schema:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    at location: StoreLocation, indexes: [ArchiveIndex<Element>] = [],
    schema: ArchiveSchema<Element> = .init(), configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      at: location, coder: .cbor, indexes: indexes, schema: schema, configuration: configuration)
  }
}
