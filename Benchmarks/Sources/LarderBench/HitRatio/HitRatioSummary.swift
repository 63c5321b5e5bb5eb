// SPDX-License-Identifier: MIT

/// A policy's figures over all cells.
struct HitRatioSummary {
  let name: String
  let isOurs: Bool
  /// Mean of hit ratio / optimal hit ratio over the cells that count; `nil` if a figure is missing.
  let mean: Double?
  /// The same for each size.
  let meanBySize: [Double: Double]
  /// The most points below LRU in any cell.
  let belowLRU: Double?
  /// The most points between ours and the reference's in any cell that both have.
  let fromReference: Double?

  static func ours(_ policy: StudiedPolicy, _ study: HitRatioStudy) -> HitRatioSummary {
    HitRatioSummary(
      policy.name, isOurs: true, study, hits: { $0.hits[policy.name] }, lru: { $0.hits["lru"] },
      fromReference: study.cells.compactMap { $0.difference(policy) }.map(abs).max())
  }

  static func reference(_ column: String, _ study: HitRatioStudy) -> HitRatioSummary {
    HitRatioSummary(
      column, isOurs: false, study, hits: { $0.reference[column] }, lru: { $0.reference["LRU"] },
      fromReference: nil)
  }

  private init(
    _ name: String, isOurs: Bool, _ study: HitRatioStudy,
    hits: (HitRatioCell) -> Double?, lru: (HitRatioCell) -> Double?, fromReference: Double?
  ) {
    self.name = name
    self.isOurs = isOurs
    self.fromReference = fromReference
    func mean(_ cells: [HitRatioCell]) -> Double? {
      let parts = cells.compactMap { cell in hits(cell).map { $0 / cell.optimum } }
      guard !parts.isEmpty, parts.count == cells.count else { return nil }
      return parts.reduce(0, +) / Double(parts.count)
    }
    let counted = study.cells.filter { $0.counts }
    self.mean = mean(counted)
    meanBySize = Dictionary(grouping: counted) { $0.percent }.compactMapValues(mean)
    belowLRU = study.cells.compactMap { cell in
      guard let lru = lru(cell), let hits = hits(cell) else { return nil }
      return lru - hits
    }.max()
  }
}

extension HitRatioStudy {
  var ours: [HitRatioSummary] { StudiedPolicy.all.map { .ours($0, self) } }

  /// Those of the reference's policies that it has figures of for every cell.
  var others: [HitRatioSummary] {
    referencePolicies.map { .reference($0, self) }.filter { $0.mean != nil }
  }

  /// The most points between the optimum computed here and the reference's.
  var optimumFromReference: Double? {
    cells.compactMap { cell in
      cell.reference[ReferenceTable.optimum].map { abs(cell.computedOptimum - $0) }
    }.max()
  }
}
