// SPDX-License-Identifier: MIT
import CRivals
import Foundation

// The rows on what becomes of a store that has very many entries, all from one run of each side.
extension DiskArea {
  static func sizeRows(_ keys: Int) -> [Row] {
    let name = Scale.name(keys)
    // The goals are those of ten million.
    func goal(_ ratio: Double) -> Goal { keys == 10_000_000 ? .ratio(ratio) : .none }
    let upserts = "\(keys) puts of 100 B under keys drawn at random from as many, one thread"
    return [
      size(
        "disk.set.\(name)", keys, "larder_store_put, defaults: \(upserts); flush and sync are in",
        "Put", "the same puts; a flush and a sync of the log are in the time", goal(0.5)
      ) { $0.put },
      size(
        "disk.set.\(name).growth", keys,
        "how much longer a put takes in the last fifth of disk.set.\(name) than in the first",
        "Put", "its own growth", goal(2), unit: "times", showsGrowth: true
      ) { ($0.fifths.last ?? .nan) / ($0.fifths.first ?? .nan) },
      size(
        "disk.device.\(name)", keys,
        """
        bytes written by disk.set.\(name): through write calls (wchar in /proc/self/io), and what \
        puts and cleaning stored into the log, which is mapped
        """, "Put", "through write calls; what compactions write after the end is not in",
        goal(1.2),
        unit: "bytes"
      ) { $0.device },
      size(
        "disk.space.\(name)", keys, "bytes on disk after disk.set.\(name), the store closed",
        "Put", "the same", goal(2), unit: "bytes"
      ) { $0.space },
      size(
        "disk.get.\(name)", keys,
        """
        larder_store_get of keys drawn at random from those put, after disk.set.\(name), 500,000 \
        of them or all; the value is not copied
        """, "Get", "one get_pinned an entry, which makes no copy, once no compaction is under way",
        goal(0.3)
      ) { $0.get },
    ]
  }

  private static func size(
    _ id: String, _ keys: Int, _ ours: String, _ what: String, _ does: String, _ goal: Goal,
    unit: String = "ns", showsGrowth: Bool = false, _ figure: @escaping (SizeRun) -> Double
  ) -> Row {
    var rival = Rival.rocksDB(what, compresses: false, does: does)
    if unit == "bytes", rival.absence == nil { rival.absence = DeviceBytes.absence }
    return Row(
      id: id, ours: ours, rival: rival, goal: goal, unit: unit,
      effort: Effort(fewest: 1, most: 1, seconds: 0, warmsUp: false), takesLong: keys > 200_000
    ) { bench in
      let runs = bench.shared("size \(keys)") { SizeRuns(bench, count: keys) }
      var (ourPair, theirPair) = (0, 0)
      return Contest(
        ours: {
          defer { ourPair += 1 }
          return figure(try runs.ours(ourPair))
        },
        rival: {
          defer { theirPair += 1 }
          return figure(try runs.rival(theirPair))
        },
        remarks: { showsGrowth ? runs.growthRemarks : [] })
    }
  }
}

/// The runs of both sides, made when the first row asks for them.
private final class SizeRuns {
  private let bench: Bench
  private let count: Int
  private var ourRuns: [SizeRun] = []
  private var theirRuns: [SizeRun] = []

  init(_ bench: Bench, count: Int) {
    self.bench = bench
    self.count = count
  }

  func ours(_ pair: Int) throws -> SizeRun {
    if pair == ourRuns.count {
      ourRuns.append(
        try SizeRun.measure("Larder", bench, count: count) { try LarderSizeStore($0) })
    }
    return ourRuns[pair]
  }

  func rival(_ pair: Int) throws -> SizeRun {
    if pair == theirRuns.count {
      theirRuns.append(
        try SizeRun.measure("RocksDB", bench, count: count) { try RocksSizeStore($0) })
    }
    return theirRuns[pair]
  }

  var growthRemarks: [String] {
    let (ours, theirs) = (Growth(), Growth())
    for run in ourRuns { ours.note(small: run.fifths.first ?? .nan) }
    for run in theirRuns { theirs.note(small: run.fifths.first ?? .nan) }
    func list(_ runs: [SizeRun]) -> String {
      (0..<5).map { fifth in duration(median(runs.map { $0.fifths[fifth] })) }
        .joined(separator: ", ")
    }
    return Growth.remarks("the first fifth", ours, theirs) + [
      "fifths: ours \(list(ourRuns))", "fifths: rival \(list(theirRuns))",
    ]
  }
}
