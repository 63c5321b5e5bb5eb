// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore

struct CacheCompact: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Rewrite a cache without the room that removed entries left.",
    discussion: """
      Later entries use that room again, so this is for a cache that has become much smaller for \
      good. No process may have the cache open for writing. A crash in the middle leaves the old \
      cache or the new one, and Ctrl-C the old one.

      EXAMPLES
        larder cache compact users.cache
        larder cache compact --quiet users.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .shortAndLong, help: "No summary and no progress.")
  var quiet = false

  func run() throws {
    let before = try dataSize()
    try EntryProgress.run("compacting", noun: "entry", isShown: !quiet) {
      try RawCache.compact(path: folder, progress: $0)
    }
    guard !quiet else { return }
    StandardError.note(
      "\(folder): \(Quantity.bytes(before)) before, \(Quantity.bytes(try dataSize())) now")
  }

  private func dataSize() throws -> UInt64 {
    let cache = try CacheFolder.read(folder)
    let size = try cache.statistics.dataSize
    try cache.close()
    return size
  }
}
