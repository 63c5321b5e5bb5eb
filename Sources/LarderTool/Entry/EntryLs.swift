// SPDX-License-Identifier: MIT
import ArgumentParser
import Larder
import LarderCore
import LarderLogTool

struct EntryLs: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List the entries of an entry cache.",
    discussion: """
      Prints one key a line, in the order of their bytes, without touching the values; --long adds \
      the size of all values of the entry together, and when it was written and ends. It shows one \
      state of the cache, whatever a program writes meanwhile. Expired entries are left \
      out, and so are damaged ones; the exit code is 1 then, and an error names the first.

      With --json, sizes are in bytes and times in seconds since 1970; "sizes" has that of each \
      value, and is null for an entry that an entry cache did not write.

      EXAMPLES
        larder entry ls --long pages.entries
        larder entry ls --recency --limit 10 pages.entries    next to be evicted
        larder entry ls --json pages.entries | jq '[.key, .sizes[0]]'
      """)

  @Argument(help: "The entry cache's folder.", completion: .directory)
  var folder: String

  @OptionGroup var listing: EntryListing

  func run() throws {
    let (cache, valueCount) = try EntryFolder.read(folder)
    try listing.run(folder, cache) { info, object in
      let lengths = EntryFolder.lengths(info, valueCount: valueCount)
      let json = lengths.map { "[\($0.map { String($0) }.joined(separator: ","))]" } ?? "null"
      object.add("sizes", json: Array(json.utf8))
    }
  }
}
