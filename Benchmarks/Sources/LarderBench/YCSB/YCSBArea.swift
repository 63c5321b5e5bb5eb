// SPDX-License-Identifier: MIT
import Foundation

/// The workloads of YCSB over the store of the disk cache.
enum YCSBArea: Area {
  static let name = "ycsb"
  static let title = "YCSB"
  static let quickEffort = Effort(fewest: 3, most: 301, seconds: 1)

  static var rows: [Row] { rows(Scale()) }

  static func rows(_ scale: Scale) -> [Row] {
    YCSBWorkload.allCases.map { row($0, records: scale.records) }
  }

  static func run(_ rows: [Row], _ bench: Bench, _ machine: Machine) throws -> AreaReport {
    // The stores take gigabytes.
    defer { bench.endShared(name) }
    return try measured(rows, bench, machine)
  }

  private static func row(_ workload: YCSBWorkload, records: Int?) -> Row {
    let present = YCSBRunner.rivals.filter { $0.absence == nil }
    return Row(
      id: "disk.ycsb.\(workload.rawValue)",
      ours: """
        \(workload.description); 1,000,000 records (quick: 20,000, or as --records says) of ten \
        fields of 100 B, a tenth as many calls a sample; \(YCSBLarder.settings)
        """,
      rival: Rival(
        name: "best of " + present.map { $0.name }.joined(separator: ", "),
        settings: present.map { $0.settings }.joined(separator: "\n  ")),
      goal: .ratio(workload == .e ? 1 : 0.8)
    ) { bench in
      let runner = try bench.shared(name) {
        try YCSBRunner(bench, records: records ?? (bench.quick ? 20_000 : 1_000_000))
      }
      var (ourSample, theirSample) = (0, 0)
      var theirs: [[Double]] = []
      return Contest(
        ours: {
          defer { ourSample += 1 }
          return try runner.sampleOfOurs(workload, ourSample, bench)
        },
        rival: {
          defer { theirSample += 1 }
          let times = try runner.sampleOfRivals(workload, theirSample, bench)
          theirs.append(times)
          return times.min() ?? .nan
        },
        remarks: {
          let medians = runner.rivals.indices.map { rival in
            "\(type(of: runner.rivals[rival]).name) \(duration(median(theirs.map { $0[rival] })))"
          }
          return ["\(runner.records) records; " + medians.joined(separator: ", ")]
        })
    }
  }
}
