// SPDX-License-Identifier: MIT
import Foundation

/// Folders to work in.
enum Workplace {
  /// Whatever is left of it does no harm.
  static func remove(_ folder: URL) { try? FileManager.default.removeItem(at: folder) }

  /// The path of a folder that is not there.
  static func fresh(_ name: String, in folder: String) throws -> String {
    let url = URL(fileURLWithPath: folder).appendingPathComponent(name)
    remove(url)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    return url.path
  }
}

/// What did not hold.
struct Broken: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Throws what did not hold.
func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
  if !condition { throw Broken(what()) }
}
