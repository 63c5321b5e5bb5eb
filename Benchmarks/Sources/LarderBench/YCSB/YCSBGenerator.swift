// SPDX-License-Identifier: MIT

/// Makes up the calls of the workloads, the same ones for every store.
final class YCSBGenerator {
  private let zipf: Zipf
  private let first: Int
  /// How many records there are, those included that the calls so far insert.
  private(set) var records: Int
  private var generator = SplitMix(seed: 21)

  init(records: Int) {
    self.records = records
    first = records
    zipf = Zipf(count: records, exponent: 0.99)
  }

  func operations(of workload: YCSBWorkload, count: Int) -> [YCSBOperation] {
    (0..<count).map { _ in operation(of: workload) }
  }

  private func operation(of workload: YCSBWorkload) -> YCSBOperation {
    var draw = generator.next() % 100
    var kind = YCSBOperation.Kind.read
    for (operation, percent) in workload.percentages {
      kind = operation
      if draw < percent { break }
      draw -= percent
    }
    switch kind {
    case .insert:
      records += 1
      return YCSBOperation(kind: kind, key: YCSBRecord.key(records - 1), number: 0)
    case .scan:
      return YCSBOperation(kind: kind, key: chosen(workload), number: 1 + below(100))
    case .read, .update, .readModifyWrite:
      return YCSBOperation(kind: kind, key: chosen(workload), number: below(YCSBRecord.fields))
    }
  }

  private func chosen(_ workload: YCSBWorkload) -> UInt64 {
    let rank = zipf.draw(&generator)
    switch workload.choice {
    case .latest: return YCSBRecord.key(records - 1 - rank)
    case .zipf:
      // Scrambled: which records are asked for often has nothing to do with their order.
      var scrambled = SplitMix(seed: ~UInt64(rank))
      return YCSBRecord.key(Int(scrambled.next() % UInt64(first)))
    }
  }

  private func below(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }
}
