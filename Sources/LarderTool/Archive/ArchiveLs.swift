// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderLogTool

struct ArchiveLs: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List the elements of an archive.",
    discussion: """
      Prints one primary key a line, in the order of their bytes, without touching the elements; \
      --long adds the size of the element, and when it was recorded and ends. It shows one state \
      of the archive, whatever a program writes meanwhile. Expired elements are left \
      out, and so are damaged ones; the exit code is 1 then, and an error names the first.

      With --json, sizes are in bytes and times in seconds since 1970; "accessed" is when the \
      element was last recorded or accessed, as far as that is flushed.

      EXAMPLES
        larder archive ls --long users.archive
        larder archive ls --recency --limit 10 users.archive    next to leave
        larder archive ls --json users.archive | jq -s 'map(.size) | add'
      """)

  @Argument(help: "The archive's folder.", completion: .directory)
  var folder: String

  @OptionGroup var listing: EntryListing

  func run() throws {
    try listing.run(folder, try ArchiveFolder.read(folder).archive, end: Self.end) { info, object in
      if let accessed = info.lastUse {
        object.add("accessed", accessed.timeIntervalSince1970)
      } else {
        object.add("accessed", nil as UInt64?)
      }
    }
  }

  /// An archive gives elements that live for ever 100 years, for the sake of the time of the last
  /// access.
  private static func end(_ info: DiskCacheInfo<Data>) -> Date? {
    guard let expires = info.expires, let lastUse = info.lastUse else { return info.expires }
    return expires.timeIntervalSince(lastUse) < 100 * 365.25 * 86_400 - 1 ? expires : nil
  }
}
