// SPDX-License-Identifier: MIT

import Foundation
package import LarderCore

/// Names of folders and files.
package enum DiskFolder {
  /// The path of a folder of that name in the program's part of the user's caches folder, which
  /// is created.
  package static func caches(_ name: String, program: String = program) throws(LarderError)
    -> String
  {
    try validate(name)
    try validate(program)
    do {
      let caches = try FileManager.default.url(
        for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
      let part = caches.appendingPathComponent(program, isDirectory: true)
      try FileManager.default.createDirectory(at: part, withIntermediateDirectories: true)
      return part.appendingPathComponent(name, isDirectory: true).path
    } catch {
      throw LarderError(.io, "Could not find or create the user's caches folder.", cause: error)
    }
  }

  /// What tells this program's caches from those of others: the identifier of its bundle, else the
  /// name of its executable.
  package static var program: String {
    Bundle.main.bundleIdentifier ?? lastComponent(of: CommandLine.arguments.first ?? "")
  }

  /// The last part of a path, as far as the path itself says.
  static func lastComponent(of path: String) -> String {
    let slash = UInt8(ascii: "/")
    return path.utf8.split(separator: slash).last.map { String(Substring($0)) } ?? path
  }

  /// Refuses what is not the name of one file in a folder.
  package static func validate(_ name: String) throws(LarderError) {
    let bytes = name.utf8
    if bytes.isEmpty || name == "." || name == ".." || bytes.contains(0)
      || bytes.contains(UInt8(ascii: "/")) || bytes.count > 255
    {
      throw LarderError(
        .invalidArgument,
        """
        A name has 1 to 255 bytes, none of them a slash or a NUL, and is not "." or ".."; this \
        one, of \(bytes.count) bytes, is not one.
        """)
    }
  }
}
