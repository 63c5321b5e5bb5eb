// SPDX-License-Identifier: MIT

import Foundation

/// How attributes of files are looked at and set.
package struct FileAttributeSystem: Sendable {
  package typealias Protection = FileAttributes.Protection

  /// Gives the class of a file, if it has one, and sets it; nil where files have none.
  package var protection:
    (
      get: @Sendable (_ path: String) throws -> Protection?,
      set: @Sendable (Protection, _ path: String) throws -> Void
    )?
  /// nil where nothing makes backups.
  package var excludeFromBackup: (@Sendable (_ path: String) throws -> Void)?

  /// A system that knows no attributes.
  package init() {}
}

extension FileAttributes {
  /// Gives a file, or a folder and what is in it, the attributes that it does not have.
  ///
  /// Files that are made in a folder later have its class, and backups leave them out with it. So
  /// what is in it is looked at only if the folder is of another class.
  package func apply(
    to path: String, _ system: FileAttributeSystem = .own
  ) throws(LarderError) {
    do {
      if let protection, let (get, set) = system.protection, try get(path) != protection {
        // The folder comes last: if this is cut short, the next opening does it all again.
        let names = FileManager.default.enumerator(atPath: path)?.allObjects ?? []
        for name in names.compactMap({ $0 as? String }) {
          let file = path + "/" + name
          // A store deletes segments of its log while it is open.
          do { try set(protection, file) } catch {
            if FileManager.default.fileExists(atPath: file) { throw error }
          }
        }
        try set(protection, path)
      }
      if isExcludedFromBackup { try system.excludeFromBackup?(path) }
    } catch {
      throw LarderError(.io, "Could not set the attributes of \(path).", cause: error)
    }
  }
}
