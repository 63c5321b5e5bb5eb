// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore

struct CacheStat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Show a cache's figures: entries, room, journal, who has it.",
    discussion: """
      Works while a program uses the cache. Versions number the writes of a cache from its \
      beginning. With --json, sizes are in bytes and the time is in seconds since 1970.

      EXAMPLES
        larder cache stat users.cache
        larder cache stat --json users.cache | jq '.count, .writerProcess'
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    let cache = try CacheFolder.read(folder)
    let (count, cost) = (try cache.totalCount, try cache.totalCost)
    let statistics = try cache.statistics
    var output = StandardOutput()
    if json {
      try object(statistics, count, cost).write(to: &output)
    } else {
      try output.write(table(statistics, count, cost))
    }
    try output.flush()
  }

  private func table(_ s: DiskCacheStatistics, _ count: Int, _ cost: Int) -> String {
    let rows: [(String, String)] = [
      ("entries", Quantity.count(count)),
      ("values", Quantity.bytes(UInt64(cost))),
      ("data file", inUse(s.dataSizeInUse, of: s.dataSize)),
      ("journal", inUse(s.journalSize, of: s.journalCapacity)),
      ("in the journal", CacheText.entries(s.pendingCount)),
      ("last version", Quantity.count(s.lastVersion)),
      ("flushed to", Quantity.count(s.flushedVersion)),
      ("on the disk to", Quantity.count(s.syncedVersion)),
      ("open in", s.writerProcess.map { "process \($0)" } ?? "no process that writes"),
      ("value format", s.format.isEmpty ? "any" : s.format),
      ("created", s.created.formatted(.iso8601)),
      ("file format", "version \(s.formatVersion)"),
    ]
    let width = (rows.map(\.0.count).max() ?? 0) + 2
    return "\(folder)\n"
      + rows.map { "  \($0.padding(toLength: width, withPad: " ", startingAt: 0))\($1)\n" }.joined()
  }

  private func inUse(_ used: UInt64, of size: UInt64) -> String {
    let percent = size > 0 ? Double(used) / Double(size) * 100 : 0
    return "\(Quantity.bytes(used)) of \(Quantity.bytes(size)) in use, "
      + "\(Quantity.decimals(percent, 1)) %"
  }

  private func object(_ s: DiskCacheStatistics, _ count: Int, _ cost: Int) -> JSONObject {
    var object = JSONObject()
    object.add("folder", folder)
    object.add("count", count)
    object.add("cost", cost)
    object.add("pendingCount", s.pendingCount)
    object.add("journalCapacity", s.journalCapacity)
    object.add("journalSize", s.journalSize)
    object.add("dataSize", s.dataSize)
    object.add("dataSizeInUse", s.dataSizeInUse)
    object.add("lastVersion", s.lastVersion)
    object.add("flushedVersion", s.flushedVersion)
    object.add("syncedVersion", s.syncedVersion)
    object.add("writerProcess", s.writerProcess.map { UInt64($0) })
    object.add("format", s.format)
    object.add("created", s.created.timeIntervalSince1970)
    object.add("formatVersion", s.formatVersion)
    return object
  }
}
