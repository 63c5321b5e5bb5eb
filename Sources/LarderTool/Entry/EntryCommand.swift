// SPDX-License-Identifier: MIT
import ArgumentParser

struct EntryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "entry",
    abstract: "List and read entries with several values.",
    discussion: """
      An entry cache is one folder, whose entries have the same number of values each, all written \
      together. These commands only read, and work while a program uses the cache, on the state of \
      the moment; they leave no trace in the order of use. The folder is one like those of larder \
      cache: its rm, verify, rebuild, salvage, compact and backup work on it, too.

      Keys are text. Those that are not, or not printable, are shown as 0x and hexadecimal digits, \
      and given with --hex; keys of type Int are shown and given as numbers with --int.

      EXAMPLES
        larder entry ls --long pages.entries          what there is, by key
        larder entry get pages.entries home 1 > body  the second value
        larder entry stat pages.entries               how much it holds, its writer
      """,
    subcommands: [EntryLs.self, EntryGet.self, EntryStat.self])
}
