// SPDX-License-Identifier: MIT

import CLarder
import CLarderSystem
import Foundation
import Synchronization

/// Opens the file of a log, first and again: after a suspension, and for a reader when the log was
/// resized. Later openings take that log and no other one.
final class RingOpener: Sendable {
  let options: RingOptions
  /// From the root on, so that it means the same when the process goes to another folder.
  let path: String
  private let latest = Atomic<Int64>(0)

  init(path: String, options: RingOptions) throws(LarderError) {
    try RingHandle.validate(path: path)
    // Where it cannot be told, the path as it is opens the file, or says why not.
    self.path = (try? DiskFolder.absolute(path)) ?? path
    self.options = options
  }

  /// When the log was created that was opened last, by which it is known; 0 before the first
  /// opening. It changes if its file was gone at a resumption, before anybody can use the new one:
  /// whoever finds it unchanged after having found something open has that log.
  var created: Int64 { latest.load(ordering: .acquiring) }

  func open() throws(LarderError) -> SuspendableHandle.Opened {
    try open(expecting: created)
  }

  /// - Parameter created: When the log was created that an existing file has to be of; 0 for any.
  /// - Throws: `.replaced` for another one.
  func open(expecting created: Int64) throws(LarderError) -> SuspendableHandle.Opened {
    var options = options
    options.created = created
    var raw = try options.raw()
    var detail = larder_ring_detail()
    var opened: OpaquePointer?
    let status = larder_ring_open(path, &raw, &detail, &opened)
    guard status == LARDER_OK, let opened else {
      throw LarderError(
        status: status == LARDER_OK ? Int32(LARDER_EINVALID) : status, doing: "open \(path)",
        reason: RingFailure.reason(status, path: path, detail: detail, asked: raw))
    }
    let owner = RingOwner(opened, syncsAtEnd: options.syncsAtEnd)
    var statistics = larder_ring_statistics()
    try check(larder_ring_statistics_get(opened, &statistics), "look into \(path)")
    latest.store(statistics.created_ns, ordering: .releasing)
    if !options.readOnly { try options.files.apply(to: path) }
    return SuspendableHandle.Opened(pointer: opened, owner: owner)
  }

  /// Whether nothing more comes to the file that a reader has open: it was deleted, or another one
  /// has its name.
  func isReplaced(_ ring: SuspendableHandle) -> Bool {
    guard options.readOnly else { return false }
    return ring.withPointer { larder_ring_check_place($0) } == Int32(LARDER_EREPLACED)
  }

  /// Has a reader whose file was replaced go on with the new one, if that is the same log. Its
  /// cursors find their positions again by number.
  ///
  /// - Throws: `.replaced` if it is another log, or an older copy, or if there is none.
  func reopen(_ ring: SuspendableHandle) throws(LarderError) {
    let count = ring.resumptionCount
    try ring.replace(resumptionCount: count) { old throws(LarderError) in
      var known: UInt64 = 0
      var next: UInt64 = 0
      // Of one that cannot be read every number is known.
      if larder_ring_next_sequence(old, &known) != LARDER_OK { known = .max }
      let opened: SuspendableHandle.Opened
      do throws(LarderError) {
        opened = try open()
      } catch {
        throw failure(cause: error)
      }
      guard larder_ring_next_sequence(opened.pointer, &next) == LARDER_OK, next >= known else {
        throw failure(cause: nil)
      }
      return opened
    } shut: {
      _ = larder_ring_shutdown_unsynced($0)
    }
  }

  /// That a position, or what was made with a number, is of a log that the handle had before.
  func anotherLog(_ doing: String) -> LarderError {
    LarderError(
      status: Int32(LARDER_EREPLACED), doing: doing,
      reason: "the file was gone when the log was resumed, and the one that was made has numbers "
        + "of its own, from 1 on")
  }

  private func failure(cause: LarderError?) -> LarderError {
    var error = LarderError(status: Int32(LARDER_EREPLACED), doing: "read \(path) any further")
    error.cause = cause?.code == .replaced ? nil : cause
    return error
  }
}

extension RingHandle {
  /// Throws `.replaced` if the next opening would not find the file.
  package func checkPlace() throws(LarderError) {
    try check(suspension.call(waits: false) { larder_ring_check_place($0) }, "find \(path) again")
  }

  /// Of a log opened for reading: goes on with the file of the same log that has taken the place of
  /// the one that is open.
  ///
  /// - Throws: `.replaced` if there is none.
  package func refresh() throws(LarderError) {
    if opener.isReplaced(suspension) { try opener.reopen(suspension) }
  }

  /// When the log was created, which tells one log from another: one that was resized has it still.
  package func created() throws(LarderError) -> Int64 { try rawStatistics().created_ns }

  /// Lends a file beside the log's, whose name ends with `suffix`.
  ///
  /// - Throws: `.replaced` if the log's file is not there under its name any more.
  func withSideFile<R, E: Error>(
    _ suffix: String, waits: Bool = false, _ body: (SideFile) throws(E) -> R
  ) throws -> R {
    var folder: Int32 = -1
    var name = ""
    let status = try suspension.call(waits: waits) { ring in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
        empty[0] = 0
        guard var start = UnsafePointer(empty.baseAddress) else { return Int32(LARDER_EINVALID) }
        let status = larder_ring_folder_open(ring, &folder, &start)
        name = String(cString: start)
        return status
      }
    }
    if status == LARDER_EREPLACED {
      throw LarderError(
        status: status, doing: "open \(opener.path)\(suffix)",
        reason: "the log's file beside it was moved, deleted or replaced; open the log again")
    }
    try check(status, "find the folder of \(path)")
    defer { larder_os_file_close(folder) }
    return try body(
      SideFile(folder: folder, name: name + suffix, path: opener.path + suffix))
  }
}

/// A file beside a log's, by the folder that the log's file is in: wherever the log's path leads
/// by now.
struct SideFile {
  /// A descriptor.
  let folder: Int32
  let name: String
  /// For messages, and to tell whether the file is still there.
  let path: String

  /// The file whose name has that behind this one's.
  func beside(_ suffix: String) -> SideFile {
    SideFile(folder: folder, name: name + suffix, path: path + suffix)
  }
}
