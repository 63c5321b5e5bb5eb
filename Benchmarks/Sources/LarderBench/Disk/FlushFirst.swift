// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// A store of very many entries, to be opened and flushed again and again.
private final class LargeStore {
  private let path: String
  private var store: LarderStore?
  private var next = 0

  init(_ path: String, count: Int) throws {
    self.path = path
    let filled = try LarderSizeStore(path)
    let (draws, payloads) = (Draws(count: count), Payloads(size: 100))
    for tenth in 0..<10 {
      try filled.fill(count * tenth / 10..<count * (tenth + 1) / 10, draws, payloads)
      Progress.note("disk.flush.first: \(tenth + 1) of 10 parts of \(count) puts")
    }
    try filled.flushAndSync()
  }

  func firstFlush() throws -> Double {
    store = nil
    DeviceBytes.leavePageCache(path)
    let opened = try LarderStore(path)
    store = opened
    return try flush(opened)
  }

  func laterFlush() throws -> Double {
    if store == nil { _ = try firstFlush() }
    guard let store else { return .nan }
    return try flush(store)
  }

  /// Of one put, which is in the time.
  private func flush(_ store: LarderStore) throws -> Double {
    next += 1
    let start = rivals_now_ns()
    try withUnsafeBytes(of: next) { try store.put($0, under: next) }
    try store.flush()
    return Double(rivals_now_ns() - start)
  }
}

extension DiskArea {
  static func flushFirst(_ keys: Int) -> Row {
    Row(
      id: "disk.flush.first",
      ours: """
        larder_store_put of one entry and larder_store_flush, the first ones after a store of \
        \(keys) random puts was opened, whose files were taken out of the page cache before \
        (posix_fadvise)
        """,
      rival: Rival(name: "ours, a later one", settings: "the same once more, in the same store"),
      goal: keys == 10_000_000 ? .ratio(5) : .none,
      effort: Effort(fewest: Effort.judged, most: 21, seconds: 4), takesLong: keys > 200_000
    ) { bench in
      let large = try LargeStore(bench.freshFolder("flush.first"), count: keys)
      return Contest(
        ours: { try large.firstFlush() }, rival: { try large.laterFlush() },
        close: { _ = bench.freshFolder("flush.first") })
    }
  }
}
