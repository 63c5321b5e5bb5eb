// SPDX-License-Identifier: MIT
import CLarder
import CRivals
import Foundation

/// A ring of the C core, and the loops over it. Closed when the last reference goes.
final class RingFile {
  let ring: OpaquePointer
  private let path: String

  init(_ path: String, capacity: UInt64, overwrite: Bool) throws {
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = capacity
    options.flags = overwrite ? UInt32(LARDER_RING_OVERWRITE) : 0
    var opened: OpaquePointer?
    try check(larder_ring_open(path, &options, nil, &opened))
    guard let opened else { throw Failure(description: "no ring") }
    ring = opened
    self.path = path
  }

  deinit { larder_ring_close(ring) }

  func append(_ message: Data, count: Int) throws {
    try message.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      try check(rivals_loop_ring(ring, base, bytes.count, count))
    }
  }

  func appendSynced(_ message: Data, count: Int) throws {
    try message.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      try check(rivals_loop_ring_synced(ring, base, bytes.count, count))
    }
  }

  /// Appends `count` messages on each of `threads` threads. Returns the nanoseconds it took.
  func append(_ message: Data, count: Int, threads: Int, synced: Bool) throws -> UInt64 {
    var elapsed: UInt64 = 0
    try message.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      try check(
        rivals_loop_ring_threads(
          ring, synced, UInt32(threads), base, bytes.count, count, &elapsed))
    }
    return elapsed
  }

  /// Drops the pages written, so that closing has next to nothing to sync. The ring is of no use
  /// after it.
  func forget(capacity: UInt64) {
    let header: UInt64 = 1 << 16
    rivals_file_forget(path, header, capacity - header)
  }
}

/// The bare store of CRivals.
final class BareFile {
  private let bare: OpaquePointer

  init(_ path: String, capacity: UInt64) throws {
    var opened: OpaquePointer?
    try check(rivals_bare_open(path, capacity, &opened))
    guard let opened else { throw Failure(description: "no file") }
    bare = opened
  }

  deinit { rivals_bare_close(bare) }

  func append(_ message: Data, count: Int) throws {
    try message.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      try check(rivals_loop_bare(bare, base, bytes.count, count))
    }
  }
}

/// A file of 1 MiB that is overwritten by one `write` a message, round and round: a 4-byte length
/// and the message, joined beforehand.
final class WrittenFile {
  private let file: Int32
  private let frame: Data
  private var offset = 0
  private static let capacity = 1 << 20

  init(_ path: String, message: Data) throws {
    file = rivals_file_create(path, Self.capacity)
    if file < 0 { try check(-file) }
    frame = withUnsafeBytes(of: UInt32(message.count).littleEndian) { Data($0) } + message
  }

  deinit { rivals_file_close(file) }

  /// `count` messages fit into the file.
  func append(count: Int, synced: Bool) throws {
    if offset + count * frame.count > Self.capacity {
      try check(rivals_file_rewind(file))
      offset = 0
    }
    offset += count * frame.count
    try frame.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      try check(
        synced
          ? rivals_loop_write_synced(file, base, bytes.count, count)
          : rivals_loop_write(file, base, bytes.count, count))
    }
  }
}
