// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

/// A value that is about to be stored, wherever its bytes are.
enum EntryPiece: Sendable {
  case data(Data)
  case spool(EntrySpool)
  /// One that another version of the entry has.
  case old(EntrySnapshot, Int)

  var count: Int {
    switch self {
    case .data(let data): data.count
    case .spool(let spool): spool.count
    case .old(let snapshot, let index): snapshot.bytes.length(at: index)
    }
  }

  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    switch self {
    case .data(let data): try data.withUnsafeBytes(body)
    case .spool(let spool): try spool.withBytes(body)
    case .old(let snapshot, let index): try snapshot.bytes.withBytes(at: index, body)
    }
  }
}

extension [EntryPiece] {
  /// The most bytes that are put together in memory.
  private static var memoryLimit: Int { 8 << 20 }

  /// Lends the values one after the other, as the store wants them, and the head that says
  /// how to cut them again.
  ///
  /// - Returns: What `body` does: the version that was stored.
  func withRecord(
    folder: StoreFolder,
    _ body: (_ head: UnsafeRawBufferPointer, _ values: UnsafeRawBufferPointer) throws -> UInt64?
  ) throws -> UInt64? {
    let lengths = map(\.count)
    return try withUnsafeTemporaryAllocation(
      byteCount: EntryHead.byteCount(count), alignment: 8
    ) { head in
      EntryHead.write(lengths, into: head)
      return try withJoined(lengths.reduce(0, +), folder) {
        try body(UnsafeRawBufferPointer(head), $0)
      }
    }
  }

  private func withJoined(
    _ total: Int, _ folder: StoreFolder, _ body: (UnsafeRawBufferPointer) throws -> UInt64?
  ) throws -> UInt64? {
    if count == 1 { return try self[0].withBytes(body) }
    if total <= Self.memoryLimit {
      return try withUnsafeTemporaryAllocation(byteCount: total, alignment: 1) { target in
        var offset = 0
        for piece in self {
          try piece.withBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: bytes)
            offset += bytes.count
          }
        }
        return try body(UnsafeRawBufferPointer(target))
      }
    }
    let spool = EntrySpool(folder: folder, memoryLimit: 0)
    for piece in self { _ = try piece.withBytes { try spool.append($0) } }
    spool.seal()
    return try spool.withBytes(body)
  }
}
