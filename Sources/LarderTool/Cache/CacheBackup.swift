// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheBackup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a cache, as it is now, to a new folder.",
    discussion: """
      Copies one state of the cache, whatever a program writes to it meanwhile, with all that \
      is not in its index yet. Entries keep their times and extended data. Nothing is left of a \
      copy that was interrupted, or that met a damaged entry.

      EXAMPLES
        larder cache backup users.cache users-$(date +%F).cache
        larder cache backup --quiet users.cache copies/users.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Argument(help: "The folder to make; must not exist.", completion: .directory)
  var target: String

  @Flag(name: .shortAndLong, help: "No summary and no progress.")
  var quiet = false

  func run() throws {
    let cache = try CacheFolder.read(folder)
    try EntryProgress.run("copying", noun: "entry", isShown: !quiet) {
      try cache.backup(to: target, progress: $0)
    }
    guard !quiet else { return }
    let copy = try CacheFolder.read(target)
    let (count, cost) = (try copy.count, try copy.size.bytes)
    StandardError.note(
      "\(target): \(CacheText.entries(count)) of \(Quantity.bytes(UInt64(cost))) copied")
  }
}
