// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheCompact: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Free the room that removed entries left in a cache.",
    discussion: """
      A cache does so itself, but keeps some room; this is for one that has become much smaller \
      for good. No process may have the cache open for writing; others may read it. An index of \
      which more than half is free is replaced by a smaller copy, unless somebody reads the \
      cache; then what is free in it is used again. After a crash or Ctrl-C in the middle, what \
      was freed stays so.

      EXAMPLES
        larder cache compact users.cache
        larder cache compact --quiet users.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .shortAndLong, help: "No summary and no progress.")
  var quiet = false

  @OptionGroup
  var others: OtherUsers

  func run() throws {
    try StandardStreams.requireOutput(outside: folder)
    try CacheFolder.tellLosses(of: folder)
    let sizes = try EntryProgress.run("compacting", isShown: !quiet) {
      try RawCache.compact(at: .path(folder), trustsOtherUsers: others.areTrusted, progress: $0)
    }
    guard !quiet else { return }
    StandardError.note(
      """
      \(folder): \(Quantity.bytes(sizes.logSizeBefore)) of log before, \
      \(Quantity.bytes(sizes.logSize)) now; \(Quantity.bytes(sizes.dataSizeBefore)) of index \
      before, \(Quantity.bytes(sizes.dataSize)) now
      """)
  }
}
