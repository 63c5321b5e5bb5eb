// SPDX-License-Identifier: MIT

import CLarderSystem
package import Foundation

/// Names of folders and files.
package enum DiskFolder {
  /// The path of a folder of that name in the program's part of one of the user's folders.
  package static func path(
    of name: String, in directory: FileManager.SearchPathDirectory, program: String = program
  ) throws(LarderError) -> String {
    try validate(name)
    try validate(program)
    do {
      return try FileManager.default.url(
        for: directory, in: .userDomainMask, appropriateFor: nil, create: false
      ).appendingPathComponent(program, isDirectory: true)
        .appendingPathComponent(name, isDirectory: true).path
    } catch {
      throw LarderError(.io, "Could not find the user's folder for \(name).", cause: error)
    }
  }

  /// What a path means now, from the root on.
  package static func absolute(_ path: String) throws(LarderError) -> String {
    var whole: UnsafeMutablePointer<CChar>?
    try check(larder_os_absolute_path(path, &whole), "open \(path)")
    defer { free(whole) }
    return whole.map { String(cString: $0) } ?? path
  }

  /// Makes the folders above one that is to be made, each with its name on the device.
  ///
  /// - Returns: Whether one was missing.
  package static func makeParents(of location: String) throws(LarderError) -> Bool {
    let files = FileManager.default
    let slash = UInt8(ascii: "/")
    var missing: [String] = []
    var above = location[...]
    // Its own, behind it, leads to no folder above.
    while above.utf8.last == slash { above = above.dropLast() }
    while let end = above.utf8.lastIndex(of: slash), end > above.startIndex {
      above = above[..<end]
      if files.fileExists(atPath: String(above)) { break }
      missing.append(String(above))
    }
    for folder in missing.reversed() {
      do {
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
      } catch {
        throw LarderError(.io, "Could not create the folder \(folder).", cause: error)
      }
      try check(larder_os_file_sync_parent(folder), "create the folder \(folder)")
    }
    return !missing.isEmpty
  }

  /// What tells this program's stores from those of others: the identifier of its bundle, else the
  /// name of its executable.
  package static var program: String {
    Bundle.main.bundleIdentifier ?? lastComponent(of: CommandLine.arguments.first ?? "")
  }

  /// The last part of a path, as far as the path itself says.
  package static func lastComponent(of path: String) -> String {
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
