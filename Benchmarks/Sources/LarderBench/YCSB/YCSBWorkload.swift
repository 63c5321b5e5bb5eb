// SPDX-License-Identifier: MIT

/// One of the core workloads of YCSB (Cooper, Silberstein, Tam, Ramakrishnan, Sears: "Benchmarking
/// cloud serving systems with YCSB", SoCC 2010).
enum YCSBWorkload: String, CaseIterable {
  case a, b, c, d, e, f

  enum Choice { case zipf, latest }

  /// What is done of a hundred times.
  var percentages: [(operation: YCSBOperation.Kind, percent: UInt64)] {
    switch self {
    case .a: [(.read, 50), (.update, 50)]
    case .b: [(.read, 95), (.update, 5)]
    case .c: [(.read, 100)]
    case .d: [(.read, 95), (.insert, 5)]
    case .e: [(.scan, 95), (.insert, 5)]
    case .f: [(.read, 50), (.readModifyWrite, 50)]
    }
  }

  /// How the records are chosen.
  var choice: Choice { self == .d ? .latest : .zipf }

  var description: String {
    switch self {
    case .a: "50 % reads, 50 % updates of one field, Zipf 0.99"
    case .b: "95 % reads, 5 % updates of one field, Zipf 0.99"
    case .c: "reads, Zipf 0.99"
    case .d: "95 % reads, mostly of the latest records, 5 % inserts"
    case .e: "95 % scans of 1 to 100 records from one that Zipf 0.99 draws, 5 % inserts"
    case .f: "50 % reads, 50 % reads of a record followed by an update of it, Zipf 0.99"
    }
  }
}

/// One call of a workload.
struct YCSBOperation {
  enum Kind { case read, update, insert, scan, readModifyWrite }

  let kind: Kind
  let key: UInt64
  /// The field to update, or how many records to scan.
  let number: Int
}
