// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// All stores with their records, and the workloads over them.
final class YCSBRunner {
  let records: Int
  let rivals: [any YCSBStore]
  private let ours: any YCSBStore
  private let generator: YCSBGenerator
  private var samples: [[YCSBOperation]] = []
  private var workload: YCSBWorkload?

  init(_ bench: Bench, records: Int) throws {
    self.records = records
    generator = YCSBGenerator(records: records)
    ours = try Self.load(YCSBLarder.self, bench, records)
    rivals = try Self.rivals.filter { $0.absence == nil }.map { try Self.load($0, bench, records) }
  }

  static var rivals: [any YCSBStore.Type] {
    [YCSBRocksDB.self, YCSBSQLite.self, YCSBLMDB.self]
  }

  private static func load<Store: YCSBStore>(
    _ type: Store.Type, _ bench: Bench, _ records: Int
  ) throws -> any YCSBStore {
    let name = "ycsb-\(type.name)"
    _ = bench.freshFolder(name)
    let store = try type.init(bench.fresh(name), records: records)
    let start = rivals_now_ns()
    let record = UnsafeMutableRawBufferPointer.allocate(
      byteCount: YCSBRecord.bytes, alignment: 8)
    defer { record.deallocate() }
    try store.beginLoad()
    for number in 0..<records {
      let key = YCSBRecord.key(number)
      YCSBRecord.fill(record: record, key: key)
      try store.insert(UnsafeRawBufferPointer(record), under: key)
    }
    try store.endLoad()
    if !bench.quick {
      let seconds = Double(rivals_now_ns() - start) / 1e9
      Progress.note("\(type.name): \(records) records loaded in \(significant(seconds)) s")
    }
    return store
  }

  /// How many calls a sample has: scans are the work of many.
  func count(_ workload: YCSBWorkload) -> Int {
    max(2000, records / 10) / (workload == .e ? 10 : 1)
  }

  /// The calls of a sample, the same for all stores, made when the first asks for them.
  private func operations(_ workload: YCSBWorkload, _ sample: Int) -> [YCSBOperation] {
    if self.workload != workload {
      self.workload = workload
      samples = []
    }
    while samples.count <= sample {
      samples.append(generator.operations(of: workload, count: count(workload)))
    }
    return samples[sample]
  }

  func sampleOfOurs(_ workload: YCSBWorkload, _ sample: Int, _ bench: Bench) throws -> Double {
    try Self.run(operations(workload, sample), in: ours, bench)
  }

  func sampleOfRivals(
    _ workload: YCSBWorkload, _ sample: Int, _ bench: Bench
  ) throws -> [Double] {
    let operations = operations(workload, sample)
    return try rivals.map { try Self.run(operations, in: $0, bench) }
  }

  private static func run<Store: YCSBStore>(
    _ operations: [YCSBOperation], in store: Store, _ bench: Bench
  ) throws -> Double {
    let record = UnsafeMutableRawBufferPointer.allocate(
      byteCount: YCSBRecord.bytes, alignment: 8)
    defer { record.deallocate() }
    let time = try bench.time(operations.count, loop: .swift) {
      try run(operations, in: store, record)
      try store.finish()
    }
    store.settle()
    return time
  }

  @inline(never)
  private static func run<Store: YCSBStore>(
    _ operations: [YCSBOperation], in store: Store, _ record: UnsafeMutableRawBufferPointer
  ) throws {
    let field = UnsafeMutableRawBufferPointer(rebasing: record[..<YCSBRecord.fieldBytes])
    var lastSync = rivals_now_ns()
    for (turn, operation) in operations.enumerated() {
      let key = operation.key
      switch operation.kind {
      case .read: try expect(store.read(key) == 1)
      case .update:
        YCSBRecord.fill(field, key: key, version: turn)
        try store.update(operation.number, of: key, to: UnsafeRawBufferPointer(field))
      case .readModifyWrite:
        try expect(store.read(key) == 1)
        YCSBRecord.fill(field, key: key, version: turn)
        try store.update(operation.number, of: key, to: UnsafeRawBufferPointer(field))
      case .insert:
        YCSBRecord.fill(record: record, key: key)
        try store.insert(UnsafeRawBufferPointer(record), under: key)
      case .scan: try expect(store.scan(from: key, limit: operation.number) > 0)
      }
      if turn % 64 == 0, rivals_now_ns() - lastSync > 1_000_000_000 {
        try store.sync()
        lastSync = rivals_now_ns()
      }
    }
  }

  /// Speed counts only where the answer is right.
  @inline(__always)
  private static func expect(_ isRight: Bool) throws {
    if !isRight { throw Failure(description: "a record is missing, or not what was stored") }
  }
}
