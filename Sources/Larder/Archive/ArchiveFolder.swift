// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

/// The files of a closed archive.
enum ArchiveFolder {
  /// What a store makes in its folder. The tree goes first and the journal last: if we crash
  /// here, what is left is no store that looks whole.
  private static let names = [
    "data.mdb", "data.new", "lock.mdb", "spill", "journal.new", "journal.damaged", "journal",
    "lock",
  ]

  /// Deletes them, and the folder if nothing else is in it.
  static func delete(_ path: String) throws(LarderError) {
    let files = FileManager.default
    do {
      for name in names {
        let file = path + "/" + name
        if files.fileExists(atPath: file) { try files.removeItem(atPath: file) }
      }
      if files.fileExists(atPath: path), try files.contentsOfDirectory(atPath: path).isEmpty {
        try files.removeItem(atPath: path)
      }
    } catch {
      throw LarderError(.io, "Could not delete the files of the archive \(path).", cause: error)
    }
  }
}
