// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import Synchronization

/// A policy of ours, and the column of the reference that it is compared with.
struct StudiedPolicy: Sendable {
  let name: String
  let policy: EvictionPolicy
  let column: String

  static let all = [
    StudiedPolicy(name: "lru", policy: .lru, column: "LRU"),
    StudiedPolicy(name: "fifo", policy: .fifo, column: "FIFO"),
    StudiedPolicy(name: "s3fifo", policy: .s3fifo, column: "S3-FIFO"),
    StudiedPolicy(name: "adaptive", policy: .adaptive, column: "WTLFU-ghost"),
  ]
}

/// One trace with a cache of one size. All ratios are percent of the accesses.
struct HitRatioCell: Sendable {
  let trace: String
  let percent: Double
  let capacity: Int
  /// By the names of `StudiedPolicy`.
  let hits: [String: Double]
  /// By columns of the reference, the optimum among them; empty where it does not know the cell.
  let reference: [String: Double]
  let computedOptimum: Double

  /// The reference's where it has one.
  var optimum: Double { reference[ReferenceTable.optimum] ?? computedOptimum }

  /// Smaller caches have too few entries for their figures to mean much in an average.
  var counts: Bool { capacity >= 20 && optimum > 0 }

  /// Ours less the reference's, in points.
  func difference(_ policy: StudiedPolicy) -> Double? {
    guard let ours = hits[policy.name], let theirs = reference[policy.column] else { return nil }
    return ours - theirs
  }
}

/// All traces with all sizes and policies, by the cache as a program uses it: a look-up, and after
/// a miss a set.
struct HitRatioStudy: Sendable {
  let cells: [HitRatioCell]
  let sized: SizedStudy
  /// Columns of the reference.
  let referencePolicies: [String]
  /// Where the traces come from, and what was left out; whole sentences.
  let remarks: [String]
  let isReal: Bool

  /// Percent of the keys that a trace has in all; the capacity is at least four.
  static let sizes = [0.1, 1, 10]

  init(_ bench: Bench) throws {
    var remarks: [String] = []
    var traces = GeneratedTraces.all
    var reference = ReferenceTable("")
    var sizedReference = SizedReference("")
    let folder = bench.traces.map { URL(fileURLWithPath: $0) } ?? TraceFolder.standard
    do {
      let found = try TraceFolder(folder)
      traces = found.traces
      reference = found.reference
      sizedReference = found.sizedReference
      isReal = true
      remarks.append("\(traces.count) traces of \(folder.lastPathComponent).")
    } catch {
      // Asked for by name, they must be there.
      if bench.traces != nil { throw error }
      isReal = false
      remarks.append("Real traces are skipped: \(error). These are generated, and have no goals.")
    }
    let jobs = Jobs(traces, reference, quick: bench.quick)
    try jobs.run()
    cells = jobs.cells
    sized = try SizedStudy(traces, sizedReference)
    referencePolicies = reference.policies
    if !jobs.skipped.isEmpty {
      remarks.append("Out of time, left out: \(jobs.skipped.joined(separator: ", ")).")
    }
    self.remarks = remarks
  }
}

/// The work, divided among threads by trace.
private final class Jobs: Sendable {
  private struct State {
    var next = 0
    var done = 0
    var cells: [Int: [HitRatioCell]] = [:]
    var skipped: [String] = []
    var error: (any Error)?
  }

  private let traces: [Trace]
  private let reference: ReferenceTable
  private let quick: Bool
  private let deadline = Date(timeIntervalSinceNow: 28)
  /// The largest first, so that the threads end together; with a deadline the smallest, so that as
  /// many as possible are done.
  private let order: [Int]
  private let state = Mutex(State())

  init(_ traces: [Trace], _ reference: ReferenceTable, quick: Bool) {
    self.traces = traces
    self.reference = reference
    self.quick = quick
    order = traces.indices.sorted {
      quick ? traces[$0].size < traces[$1].size : traces[$0].size > traces[$1].size
    }
  }

  /// In the order of the traces.
  var cells: [HitRatioCell] {
    state.withLock { state in traces.indices.flatMap { state.cells[$0] ?? [] } }
  }

  var skipped: [String] { state.withLock { $0.skipped } }

  func run() throws {
    let all = DispatchGroup()
    for _ in 0..<max(2, ProcessInfo.processInfo.activeProcessorCount) {
      all.enter()
      Thread.detachNewThread {
        while let number = self.take() {
          do {
            let cells = try self.study(self.traces[number])
            self.state.withLock {
              $0.cells[number] = cells
              $0.done += 1
            }
          } catch {
            self.state.withLock { $0.error = $0.error ?? error }
          }
        }
        all.leave()
      }
    }
    all.wait()
    Progress.clear()
    if let error = state.withLock({ $0.error }) { throw error }
  }

  private func take() -> Int? {
    state.withLock { state in
      guard state.error == nil, state.next < order.count else { return nil }
      let number = order[state.next]
      state.next += 1
      Progress.show("hitratio: \(traces[number].name), \(state.done) of \(traces.count) done …")
      return number
    }
  }

  private func study(_ trace: Trace) throws -> [HitRatioCell] {
    if isLate(trace.name) { return [] }
    let keys = try trace.load()
    let belady = Belady(keys)
    var known = reference.cells(of: trace.name)
    if known.isEmpty {
      known = HitRatioStudy.sizes.map { .init(percent: $0, capacity: nil, hits: [:]) }
    }
    var cells: [HitRatioCell] = []
    for cell in known {
      if isLate("\(trace.name) \(plain(cell.percent)) %") { break }
      let part = (Double(belady.uniqueKeys) * cell.percent / 100).rounded(.toNearestOrEven)
      let capacity = cell.capacity ?? max(4, Int(part))
      func ratio(_ hits: Int) -> Double { 100 * Double(hits) / Double(keys.count) }
      var hits: [String: Double] = [:]
      for policy in StudiedPolicy.all {
        hits[policy.name] = ratio(Self.hits(of: keys, policy.policy, capacity: capacity))
      }
      cells.append(
        HitRatioCell(
          trace: trace.name, percent: cell.percent, capacity: capacity, hits: hits,
          reference: cell.hits,
          computedOptimum: ratio(belady.hits(capacity: capacity))))
    }
    return cells
  }

  private func isLate(_ what: String) -> Bool {
    guard quick, Date() > deadline else { return false }
    state.withLock { $0.skipped.append(what) }
    return true
  }

  @inline(never)
  private static func hits(of keys: [UInt64], _ policy: EvictionPolicy, capacity: Int) -> Int {
    var configuration = MemoryCacheConfiguration<UInt64, UInt8>()
    configuration.policy = policy
    configuration.countLimit = capacity
    configuration.autoTrimInterval = .zero  // Nothing expires.
    let cache = MemoryCache(configuration)
    var hits = 0
    for key in keys {
      if cache.value(forKey: key) != nil {
        hits += 1
      } else {
        cache.set(0, forKey: key)
      }
    }
    return hits
  }
}
