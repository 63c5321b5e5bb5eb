// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore

struct CacheLs: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List a cache's entries.",
    discussion: """
      Prints one key a line, in the order of their bytes, without touching the values; --long adds \
      the size of the value and when the entry was written and ends. It shows one state of the \
      cache, whatever a program writes meanwhile. Entries whose time is over are left out. How \
      long entries live that were given no time of their own is a setting of the program, not of \
      the folder, so that is not shown. Damaged entries are left out, and a note says how many.

      With --json, sizes are in bytes and times in seconds since 1970.

      EXAMPLES
        larder cache ls --long users.cache
        larder cache ls --prefix https://swift.org/ pages.cache
        larder cache ls --recency --limit 10 pages.cache    next to be evicted
        larder cache ls --json pages.cache | jq -s 'map(.size) | add'
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Option(name: .long, help: "Only keys that begin like this.")
  var prefix: String?

  @Option(name: [.customShort("n"), .long], help: "Only so many entries, the first ones.")
  var limit: UInt64?

  @Flag(
    name: .long,
    help: """
      The least recently used first; in a cache that does not keep the order of use, the one that \
      was written first.
      """)
  var recency = false

  @Flag(name: [.customShort("r"), .long], help: "In the opposite order.")
  var reverse = false

  @Flag(name: .shortAndLong, help: "Size, time of writing and end before each key.")
  var long = false

  @Flag(
    name: .long,
    help: """
      Print one JSON object a line: "key", "size", "extendedSize", "version", "written", \
      "expires" (null for never), "isSpilled".
      """)
  var json = false

  @OptionGroup var keys: CacheKeys

  func validate() throws {
    if json && long { throw ValidationError("--json goes without --long.") }
    guard let prefix else { return }
    if recency { throw ValidationError("--prefix lists by key, so not with --recency.") }
    if keys.int { throw ValidationError("Numbers have no prefixes: --prefix goes without --int.") }
    _ = try keys.bytes(prefix)
  }

  func run() throws {
    let cache = try CacheFolder.read(folder)
    let selection: DiskCacheSelection<Data> =
      try prefix.map { .prefix(try keys.bytes($0)) } ?? .all
    let order: DiskCacheOrder =
      recency
      ? (reverse ? .mostRecentFirst : .leastRecentFirst) : (reverse ? .byKeyDescending : .byKey)
    var output = StandardOutput()
    var remaining = limit ?? .max
    if remaining > 0 {
      try cache.forEachInfo(selection, order: order) { info in
        try print(info, to: &output)
        remaining -= 1
        return remaining > 0
      }
    }
    try output.flush()
    let damaged = try cache.statistics.damaged
    if damaged > 0 {
      StandardError.note(
        "\(folder): \(CacheText.entries(damaged, "damaged")) \(damaged == 1 ? "is" : "are") "
          + "left out; larder cache verify says more")
    }
  }

  private func print(_ info: DiskCacheInfo<Data>, to output: inout StandardOutput) throws {
    let key = keys.text(info.key)
    if json {
      var object = JSONObject()
      object.add("key", key)
      object.add("size", info.size)
      object.add("extendedSize", info.extendedData?.count ?? 0)
      object.add("version", info.version)
      object.add("written", info.written.timeIntervalSince1970)
      if let expires = info.expires {
        object.add("expires", expires.timeIntervalSince1970)
      } else {
        object.add("expires", nil as UInt64?)
      }
      object.add("isSpilled", info.isSpilled)
      return try object.write(to: &output)
    }
    if long {
      let size = Quantity.bytes(UInt64(info.size))
      let expires = info.expires?.formatted(.iso8601) ?? "never"
      try output.write(String(repeating: " ", count: max(0, 11 - size.count)) + size)
      try output.write("  \(info.written.formatted(.iso8601))  ")
      try output.write(expires + String(repeating: " ", count: max(0, 20 - expires.count)) + "  ")
    }
    try output.write(key)
    try output.write("\n")
  }
}
