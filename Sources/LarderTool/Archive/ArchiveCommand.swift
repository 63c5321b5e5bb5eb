// SPDX-License-Identifier: MIT
import ArgumentParser

struct ArchiveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "archive",
    abstract: "List, read and query the elements of an archive.",
    discussion: """
      An archive is one folder, whose elements have a primary key each. These commands only read, \
      and work while a program uses the archive, on the state of the moment; they leave no trace \
      in the times of access. Elements come out as JSON. The folder is one like those of larder \
      cache: its rm, verify, rebuild, salvage, compact and backup work on it, too.

      Keys are text. Those that are not, or not printable, are shown as 0x and hexadecimal digits, \
      and given with --hex; keys of type Int are shown and given as numbers with --int.

      EXAMPLES
        larder archive ls --long users.archive       what there is, by primary key
        larder archive get users.archive ada | jq .  one element
        larder archive query users.archive --where 'age >= 30' --sort name
        larder archive stat users.archive            how much it holds, its writer
      """,
    subcommands: [ArchiveLs.self, ArchiveGet.self, ArchiveQuery.self, ArchiveStat.self])
}
