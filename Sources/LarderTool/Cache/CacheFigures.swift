// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// What every `stat` shows of a folder.
struct CacheFigures {
  let folder: String
  let statistics: StoreStatistics
  let kind: StoreKind
  private let count: Int
  private let cost: Int
  private let segmentCount: Int
  private let logSize: UInt64

  /// Reads them, while whoever has the folder goes on.
  init(_ folder: String) throws {
    try self.init(folder, try CacheFolder.read(folder))
  }

  init(_ folder: String, _ cache: RawCache) throws {
    self.folder = folder
    (count, cost) = (try cache.count, try cache.size.bytes)
    statistics = try cache.statistics
    kind = StoreKind(statistics)
    // Figures of the log are those of the last checkpoint, before which it has files, too.
    let files = Self.segmentSizes(folder)
    segmentCount = max(statistics.segmentCount, files.count)
    logSize =
      statistics.segmentCount > 0 ? statistics.logSize : files.reduce(0) { $0.adding(clamping: $1) }
  }

  private static func segmentSizes(_ folder: String) -> [UInt64] {
    let log = folder + "/log"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: log)) ?? []
    return names.filter { $0.hasSuffix(".seg") }.compactMap {
      let attributes = try? FileManager.default.attributesOfItem(atPath: log + "/" + $0)
      return (attributes?[.size] as? NSNumber)?.uint64Value
    }
  }

  /// Prints them.
  ///
  /// - Parameters:
  ///   - noun: What is counted, in the plural.
  ///   - rows: What only such a folder has, for people.
  ///   - fields: The same for programs.
  func print(
    json: Bool, noun: String = "entries", rows: [(String, String)],
    fields: (inout JSONObject) -> Void
  ) throws {
    var output = StandardOutput()
    if json {
      try object(fields).write(to: &output)
    } else {
      try output.write(table(noun, rows))
    }
    try output.flush()
  }

  private func table(_ noun: String, _ more: [(String, String)]) -> String {
    let s = statistics
    let rows: [(String, String)] =
      [
        (noun, Quantity.count(count)),
        ("values", Quantity.bytes(UInt64(cost))),
        ("log", "\(Quantity.count(segmentCount, "segment")) of \(Quantity.bytes(logSize))"),
        (
          "live in the log",
          s.segmentCount > 0
            ? inUse(s.liveSize, of: s.logSize) : "not known before the first checkpoint"
        ),
        ("index", inUse(s.dataSizeInUse, of: s.dataSize)),
        (
          "not in the index",
          CacheText.entries(s.pendingCount)
            + (s.journalSize > 0 ? " of \(Quantity.bytes(s.journalSize))" : "")
        ),
        ("last version", Quantity.count(s.lastVersion)),
        ("in the index to", Quantity.count(s.indexedVersion)),
        ("on the disk to", Quantity.count(s.syncedVersion)),
        ("open in", s.writerProcess.map { "process \($0)" } ?? "no process that writes"),
      ] + more + [
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

  private func object(_ fields: (inout JSONObject) -> Void) -> JSONObject {
    let s = statistics
    var object = JSONObject()
    object.add("folder", folder)
    object.add("count", count)
    object.add("cost", cost)
    object.add("pendingCount", s.pendingCount)
    object.add("journalSize", s.journalSize)
    object.add("segmentCount", segmentCount)
    object.add("logSize", logSize)
    object.add("liveSize", s.liveSize)
    object.add("dataSize", s.dataSize)
    object.add("dataSizeInUse", s.dataSizeInUse)
    object.add("lastVersion", s.lastVersion)
    object.add("flushedVersion", s.indexedVersion)
    object.add("syncedVersion", s.syncedVersion)
    object.add("writerProcess", s.writerProcess)
    fields(&object)
    object.add("created", s.created.timeIntervalSince1970)
    object.add("formatVersion", s.formatVersion)
    return object
  }
}
