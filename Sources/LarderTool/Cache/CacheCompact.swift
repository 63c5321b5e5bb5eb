// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore

struct CacheCompact: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Free the room in a cache's log that removed entries left.",
    discussion: """
      A cache does so itself, but keeps some room; this is for one that has become much smaller \
      for good. No process may have the cache open for writing; others may read it. After a crash \
      or Ctrl-C in the middle, what was freed stays so. What becomes free in the index is used \
      again.

      EXAMPLES
        larder cache compact users.cache
        larder cache compact --quiet users.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .shortAndLong, help: "No summary and no progress.")
  var quiet = false

  func run() throws {
    let before = try logSize()
    try EntryProgress.run("compacting", noun: "segment", isShown: !quiet) {
      try RawCache.compact(path: folder, progress: $0)
    }
    guard !quiet else { return }
    StandardError.note(
      "\(folder): \(Quantity.bytes(before)) of log before, \(Quantity.bytes(try logSize())) now")
  }

  private func logSize() throws -> UInt64 {
    let cache = try CacheFolder.read(folder)
    let size = try cache.statistics.logSize
    try cache.close()
    return size
  }
}
