// SPDX-License-Identifier: MIT
import Foundation

/// Folders to work in.
enum Workplace {
  /// A new one, in memory where that can be had: what is tried here is what a process leaves
  /// behind, and not what a disk does.
  static func make(wanted: String?) throws -> URL {
    let manager = FileManager.default
    let parents = wanted.map { [$0] } ?? ["/dev/shm", manager.temporaryDirectory.path]
    let name = "larder-torture.\(UUID().uuidString.prefix(8))"
    for parent in parents where manager.fileExists(atPath: parent) {
      let folder = URL(fileURLWithPath: parent).appendingPathComponent(name)
      do {
        try manager.createDirectory(at: folder, withIntermediateDirectories: false)
        return folder
      } catch {
        continue  // Then the next one.
      }
    }
    throw Broken("cannot make a folder to work in")
  }

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
