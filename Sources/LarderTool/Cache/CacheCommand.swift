// SPDX-License-Identifier: MIT
import ArgumentParser

struct CacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "List, read, change, check and repair caches on disk.",
    discussion: """
      A cache is one folder. It holds values under keys, each with the times of its writing and \
      of its end. What was stored survives the end of the program that stored it, however it \
      ends. ls, get, stat, verify and backup only read, and work while a program uses the cache, \
      on the state of the moment. set, rm, compact and rebuild need it for themselves, as salvage \
      does its source, and say which process has it.

      Keys are text. Those that are not, or not printable, are shown as 0x and hexadecimal digits, \
      and given with --hex; keys of type Int are shown and given as numbers with --int.

      EXAMPLES
        larder cache ls --long users.cache        what there is, by key
        larder cache get users.cache ada | jq .   one value
        larder cache set tokens.cache ada s3cret --expires 1h
        larder cache stat users.cache             how much it holds, its writer
      """,
    subcommands: [
      CacheLs.self, CacheGet.self, CacheSet.self, CacheRm.self, CacheStat.self, CacheVerify.self,
      CacheRebuild.self, CacheSalvage.self, CacheCompact.self, CacheBackup.self,
    ])
}
