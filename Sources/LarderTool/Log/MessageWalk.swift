// SPDX-License-Identifier: MIT
import LarderCore

/// Reads every message of a log, whose checksums are verified on the way, and notes which numbers
/// are missing; also while another process writes.
///
/// A skipped number is missing only if the log has not moved beyond it. A writer moves
/// the log's oldest number before it overwrites a byte, so what the log says is oldest *after* a
/// number was skipped tells whether its message had merely been overwritten.
struct MessageWalk {
  private(set) var intact: UInt64 = 0
  /// Numbers without a message, in order: damaged now, or lost before.
  private(set) var missing: [ClosedRange<UInt64>] = []

  var missingCount: UInt64 {
    missing.reduce(0) {
      $0.adding(clamping: $1.upperBound - $1.lowerBound).adding(clamping: 1)
    }
  }

  /// Walks to what is the newest message at the start.
  init(_ ring: borrowing RingHandle) throws {
    let start = try ring.statistics()
    guard var expected = start.oldestSequence, let newest = start.newestSequence else { return }
    let reader = try ring.makeReader()
    while let record = try reader.next(), record.sequence <= newest {
      if record.sequence > expected { try note(expected...record.sequence - 1, ring) }
      intact += 1
      expected = record.sequence.adding(clamping: 1)
    }
    if expected <= newest { try note(expected...newest, ring) }
  }

  private mutating func note(
    _ gap: ClosedRange<UInt64>, _ ring: borrowing RingHandle
  ) throws {
    guard let oldest = try ring.statistics().oldestSequence, oldest <= gap.upperBound else {
      return
    }
    missing.append(max(oldest, gap.lowerBound)...gap.upperBound)
  }
}
