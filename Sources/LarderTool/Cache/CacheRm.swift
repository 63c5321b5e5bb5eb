// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheRm: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm",
    abstract: "Remove entries from a cache.",
    discussion: """
      Removes the entries under the keys given, all together or none of them, or all whose keys \
      begin alike, or all that there are, and says how many that were. No other process may have \
      the cache open for writing.

      EXAMPLES
        larder cache rm users.cache ada grace
        larder cache rm --prefix https://swift.org/ pages.cache
        larder cache rm --all pages.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Argument(help: "The keys of the entries to remove.")
  var key: [String] = []

  @Option(name: .long, help: "Remove the entries whose keys begin like this.")
  var prefix: String?

  @Flag(name: .long, help: "Remove all entries.")
  var all = false

  @Flag(name: .shortAndLong, help: "No summary and no progress.")
  var quiet = false

  @OptionGroup var keys: CacheKeys

  func validate() throws {
    guard [!key.isEmpty, prefix != nil, all].count(where: { $0 }) == 1 else {
      throw ValidationError("Say what to remove: keys, or --prefix, or --all.")
    }
    if prefix != nil, keys.int {
      throw ValidationError("Numbers have no prefixes: --prefix goes without --int.")
    }
    for text in key + (prefix.map { [$0] } ?? []) { _ = try keys.bytes(text) }
  }

  @OptionGroup
  var others: OtherUsers

  func run() throws {
    let cache = try CacheFolder.write(folder, others: others)
    let removed = try remove(from: cache)
    try cache.close()
    if !quiet { StandardError.note("\(folder): \(CacheText.entries(removed)) removed") }
  }

  private func remove(from cache: RawCache) throws -> Int {
    if all {
      let count = try cache.count
      try EntryProgress.run("deleting segments of the log:", noun: "segment", isShown: !quiet) {
        try cache.removeAll(progress: $0)
      }
      return count
    }
    if let prefix {
      let start = ContinuousClock.now
      let ticker =
        quiet ? nil : ProgressTicker { "removing entries  \(Quantity.time(.now - start))" }
      let removed = Result { try cache.remove(prefix: try keys.bytes(prefix)) }
      ticker?.stop()
      return try removed.get()
    }
    let found = try Set(key.map { try keys.bytes($0) }).filter { key in
      // What is damaged is there, too.
      do { return try cache.contains(key) } catch let error as LarderError
        where error.code == .damaged
      { return true }
    }
    try cache.remove(forKeys: found)
    return found.count
  }
}
