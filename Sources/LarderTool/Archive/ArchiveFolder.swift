// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// Opening an archive's folder as the command line asks for it.
enum ArchiveFolder {
  /// Opens the folder for reading only, while whoever has it goes on.
  ///
  /// - Returns: it, the name of its coder, nil if that is none that the tool knows, and the version
  ///   of its schema.
  static func read(
    _ path: String
  ) throws -> (archive: RawCache, format: String?, version: Int) {
    let archive = try CacheFolder.read(path)
    let kind = StoreKind(try archive.statistics)
    guard case .archive(let coder, let version) = kind else {
      throw ToolFailure("\(path): no archive, but \(kind.name)")
    }
    return (archive, name(ofCoder: coder), version)
  }

  /// The name of a coder of Larder's whose number is in the folder.
  static func name(ofCoder number: UInt16) -> String? {
    let names = ["cbor", "json", "plist", "data", "utf8", "image"]
    let additions = ["", "+z", "+e", "+ze", "+ez"]
    if number == ArchiveFormat.number(ofCoder: "") { return "" }
    return names.lazy.flatMap { name in additions.lazy.map { name + $0 } }
      .first { ArchiveFormat.number(ofCoder: $0) == number }
  }
}
