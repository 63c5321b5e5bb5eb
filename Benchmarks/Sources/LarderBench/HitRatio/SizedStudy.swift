// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// One trace whose objects have sizes, with a cache limited in bytes.
struct SizedCell: Sendable {
  /// Percent of the accesses, and of their bytes, that were hits.
  struct Ratio: Sendable {
    let objects: Double
    let bytes: Double
  }

  let trace: String
  let percent: Double
  let capacity: Int
  /// By the names of `StudiedPolicy`.
  let hits: [String: Ratio]
  /// By policies of the reference; empty where it does not know the cell.
  let reference: [String: Ratio]
}

/// The traces that have sizes, with all policies: a look-up, and after a miss, or if an object's
/// size changed, a set whose cost is the size.
struct SizedStudy: Sendable {
  let cells: [SizedCell]

  init(_ traces: [Trace], _ reference: SizedReference) throws {
    var cells: [SizedCell] = []
    for trace in traces {
      guard let sizes = try trace.sizes?() else { continue }
      let keys = try trace.load()
      guard keys.count == sizes.count else {
        throw Failure(description: "\(trace.name) has \(keys.count) keys, \(sizes.count) sizes")
      }
      let accesses = zip(keys, sizes).map { (key: $0, size: Int($1)) }
      // An object counts with the largest size that it has.
      let all = Dictionary(zip(keys, sizes), uniquingKeysWith: max).values.reduce(0, +)
      for percent in HitRatioStudy.sizes {
        let capacity = Int(Double(all) * percent / 100)
        var hits: [String: SizedCell.Ratio] = [:]
        for policy in StudiedPolicy.all {
          hits[policy.name] = Self.hits(of: accesses, policy.policy, capacity: capacity)
        }
        cells.append(
          SizedCell(
            trace: trace.name, percent: percent, capacity: capacity, hits: hits,
            reference: reference.cell(trace.name, percent)))
      }
    }
    self.cells = cells
  }

  /// The mean over all cells; nil if a figure is missing.
  func mean(_ figure: (SizedCell) -> SizedCell.Ratio?) -> SizedCell.Ratio? {
    let figures = cells.compactMap(figure)
    guard !figures.isEmpty, figures.count == cells.count else { return nil }
    let count = Double(figures.count)
    return .init(
      objects: figures.map(\.objects).reduce(0, +) / count,
      bytes: figures.map(\.bytes).reduce(0, +) / count)
  }

  @inline(never)
  private static func hits(
    of accesses: [(key: UInt64, size: Int)], _ policy: EvictionPolicy, capacity: Int
  ) -> SizedCell.Ratio {
    var configuration = MemoryCacheConfiguration<UInt64, Int>()
    configuration.policy = policy
    configuration.costLimit = capacity
    configuration.autoTrimInterval = .zero  // Nothing expires.
    let cache = MemoryCache(configuration)
    var (objects, bytes, all) = (0, 0, 0)
    for (key, size) in accesses {
      all += size
      let found = cache.value(forKey: key)
      if found != nil {
        objects += 1
        bytes += size
      }
      if found != size { cache.set(size, forKey: key, cost: size) }
    }
    return .init(
      objects: 100 * Double(objects) / Double(accesses.count),
      bytes: 100 * Double(bytes) / Double(all))
  }
}

/// Object and byte hit ratios that were found elsewhere: `reference-sized.tsv`, with the columns
/// `NAME objects` and `NAME bytes` for each policy.
struct SizedReference: Sendable {
  let policies: [String]
  private let cells: [String: [String: SizedCell.Ratio]]

  init(_ text: String) {
    let table = TabSeparated(text)
    policies = table.columns.filter { $0.hasSuffix(" objects") }
      .map { String($0.dropLast(" objects".count)) }
    var cells: [String: [String: SizedCell.Ratio]] = [:]
    for row in table.rows {
      guard let trace = row["trace"], let percent = row["pct_of_bytes"].flatMap(Double.init)
      else { continue }
      for policy in policies {
        guard let objects = row["\(policy) objects"].flatMap(Double.init),
          let bytes = row["\(policy) bytes"].flatMap(Double.init)
        else { continue }
        cells["\(trace) \(percent)", default: [:]][policy] = .init(objects: objects, bytes: bytes)
      }
    }
    self.cells = cells
  }

  func cell(_ trace: String, _ percent: Double) -> [String: SizedCell.Ratio] {
    cells["\(trace) \(percent)"] ?? [:]
  }
}
