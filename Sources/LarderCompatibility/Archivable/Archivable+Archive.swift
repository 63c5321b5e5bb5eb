// SPDX-License-Identifier: MIT

import Larder
import LarderCore

extension Archivable {
  /// The element with this one's primary key as it is in its archive.
  ///
  /// - Parameter factory: Whose archive; the shared one's by default.
  /// - Returns: The element; nil if there is none.
  /// - Throws: As ``ArchiveFactory/archive(for:maximumMemorySize:maximumDiskSize:)`` and
  ///   `access(_:)`.
  /// - Complexity: O(log n), and what decoding takes.
  public func archivedVersion(in factory: ArchiveFactory = .shared) throws -> Self? {
    try factory.archive(for: Self.self).access(primaryKey)
  }

  /// Records the element in its archive.
  ///
  /// - Parameter factory: Whose archive; the shared one's by default.
  /// - Throws: As ``ArchiveFactory/archive(for:maximumMemorySize:maximumDiskSize:)`` and
  ///   `record(_:durability:)`.
  /// - Complexity: O(bytes + indexes).
  public func updateArchive(in factory: ArchiveFactory = .shared) throws {
    try factory.archive(for: Self.self).record(self)
  }

  /// As the synchronous form, on another thread: the element with this one's primary key as
  /// it is in its archive.
  ///
  /// - Parameter factory: Whose archive; the shared one's by default.
  /// - Returns: The element; nil if there is none.
  /// - Throws: As the synchronous form.
  /// - Complexity: O(log n), and what decoding takes, and a change of threads.
  public func archivedVersion(in factory: ArchiveFactory = .shared) async throws -> Self? {
    try await factory.executor.run { try self.archivedVersion(in: factory) }
  }

  /// As the synchronous form, on another thread: records the element in its archive.
  ///
  /// - Parameter factory: Whose archive; the shared one's by default.
  /// - Throws: As the synchronous form.
  /// - Complexity: O(bytes + indexes), and a change of threads.
  public func updateArchive(in factory: ArchiveFactory = .shared) async throws {
    try await factory.executor.run { try self.updateArchive(in: factory) }
  }
}
