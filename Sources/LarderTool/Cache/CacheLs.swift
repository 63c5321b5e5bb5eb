// SPDX-License-Identifier: MIT
import ArgumentParser
import Larder
import LarderCore
import LarderLogTool

struct CacheLs: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List a cache's entries.",
    discussion: """
      Prints one key a line, in the order of their bytes, without touching the values; --long adds \
      the size of the value and when the entry was written and ends. It shows one state of the \
      cache, whatever a program writes meanwhile. Expired entries are left out. How \
      long entries live that were given no time of their own is a setting of the program, not of \
      the folder, so that is not shown. Damaged entries are left out; the exit \
      code is 1 then, and an error names the first.

      With --json, sizes are in bytes and times in seconds since 1970; "extendedSize" is that of \
      the extended data.

      EXAMPLES
        larder cache ls --long users.cache
        larder cache ls --prefix https://swift.org/ pages.cache
        larder cache ls --recency --limit 10 pages.cache    next to be evicted
        larder cache ls --json pages.cache | jq -s 'map(.size) | add'
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @OptionGroup var listing: EntryListing

  func run() throws {
    try listing.run(folder, try CacheFolder.read(folder)) { info, object in
      object.add("extendedSize", info.extendedData?.count ?? 0)
    }
  }
}
