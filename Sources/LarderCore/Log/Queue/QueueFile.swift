// SPDX-License-Identifier: MIT

import CLarder
import CLarderSystem
public import Foundation

/// What opening a queue found in its file, which lies beside the log.
///
/// Damage costs no message: what the file does not say any more is delivered again, and its
/// attempts count from 0.
public struct LogQueueRecovery: Sendable, Hashable {
  /// How many of the file's slots could not be read.
  public internal(set) var damagedSlots = 0

  /// Where a file was moved that could not be used: its header was damaged, or it belongs to
  /// another log. nil if there was none. Nothing needs it any more; Larder leaves it there.
  public internal(set) var setAside: URL?
}

/// The file of a queue: which messages beyond the watermark are done, and how often the others
/// were delivered.
///
/// Each message has a slot, that of its number modulo the window, which is written by one call when
/// something happens to the message. So a process that is killed leaves every slot as it was before
/// or after that call, and there is nothing to recover.
final class QueueFile: Sendable {
  let path: String
  let header: QueueHeader
  private let seed: UInt32
  private let file: Int32
  private let facts: larder_os_facts

  private init(path: String, header: QueueHeader, file: Int32) throws(LarderError) {
    self.path = path
    self.header = header
    self.file = file
    seed = header.checksum
    var facts = larder_os_facts()
    let status = larder_os_file_facts_get(file, &facts)
    self.facts = facts
    try check(status, "look at \(path)")
  }

  deinit { larder_os_file_close(file) }

  func write(_ slot: QueueSlot) throws(LarderError) {
    let index = slot.sequence % UInt64(header.window)
    let offset = UInt64(QueueHeader.size) + index * UInt64(QueueSlot.size)
    try Self.write(slot.bytes(seed: seed), file, at: offset, path)
  }

  /// Makes what was written survive a power cut.
  func sync() throws(LarderError) { try check(larder_os_file_sync(file), "sync \(path)") }

  /// Throws `.replaced` if the next opening would not find the file.
  func checkPlace() throws(LarderError) {
    try withUnsafePointer(to: facts) { facts throws(LarderError) in
      try check(larder_os_file_check_place(file, facts, path), "find \(path) again")
    }
  }
}

// MARK: - Opening

extension QueueFile {
  /// What there is to know before a queue's file is opened.
  struct Request {
    let place: SideFile
    /// As a new file is to begin.
    let header: QueueHeader
    /// The number that the log's next message gets.
    let nextSequence: UInt64
    let trustsOtherUsers: Bool
  }

  /// Opens the file, or makes it. Only for one who has the log open for writing.
  ///
  /// - Returns: The file, and the slots that could be read.
  /// - Throws: `.notALarderFile`, `.incompatibleVersion`, `.configurationMismatch` (of another
  ///   queue), `.untrusted`, `.diskFull`, `.io`: the file is as it was then.
  static func open(
    _ request: Request, _ recovery: inout LogQueueRecovery
  ) throws(LarderError) -> (QueueFile, [QueueSlot]) {
    let place = request.place
    let path = place.path
    let wanted = request.header
    larder_os_file_sweep_beside(place.folder, place.name, "new")
    var file: Int32 = -1
    let status = larder_os_file_open_in(
      place.folder, place.name, Int32(LARDER_OS_WRITE), 0, &file)
    if status == LARDER_OS_ENOENT { return (try create(request), []) }
    try check(status, "open \(path)")
    var isKept = false
    defer { if !isKept { larder_os_file_close(file) } }
    let bytes = try contents(file, request)
    switch QueueHeader.read(bytes) {
    case .foreign:
      throw LarderError(
        .notALarderFile,
        "The file \(path) is not that of a queue; it was left as it is. Move it to use the queue.")
    case .unknownVersion(let version):
      throw LarderError(
        .incompatibleVersion,
        "The file \(path) is of version \(version); this release reads \(QueueHeader.version).")
    case .damaged: break
    case .intact(let header):
      guard header.name == wanted.name else {
        throw LarderError(
          .configurationMismatch, "The file \(path) is that of another queue than asked for.")
      }
      let slots = slots(in: bytes, header)
      // A log that does not have these numbers yet is another one, or an older copy.
      guard header.logCreated == wanted.logCreated,
        slots.allSatisfy({ $0.sequence < request.nextSequence })
      else { break }
      isKept = true
      recovery.damagedSlots = damagedSlots(bytes, header, readable: slots.count)
      return (try QueueFile(path: path, header: header, file: file), slots)
    }
    recovery.setAside = try setAside(place)
    return (try create(request), [])
  }

  /// Removes the file of a queue; leaves one of anything else.
  static func remove(_ place: SideFile) throws(LarderError) -> Bool {
    let path = place.path
    var file: Int32 = -1
    let status = larder_os_file_open_in(
      place.folder, place.name, Int32(LARDER_OS_WRITE), 0, &file)
    if status == LARDER_OS_ENOENT { return false }
    try check(status, "open \(path)")
    defer { larder_os_file_close(file) }
    var header = [UInt8](repeating: 0, count: QueueHeader.size)
    var count = 0
    try check(larder_os_file_read_at(file, &header, header.count, 0, &count), "read \(path)")
    // Of what begins with zeros nobody can tell whose it is: it may be set aside, but not deleted.
    var isForeign = header.prefix(QueueHeader.magic.count).allSatisfy { $0 == 0 }
    if case .foreign = QueueHeader.read(header) { isForeign = true }
    if isForeign {
      throw LarderError(
        .notALarderFile, "The file \(path) is not that of a queue; it was left as it is.")
    }
    try check(larder_os_file_remove_in(place.folder, place.name), "remove \(path)")
    return true
  }

  private static func contents(
    _ file: Int32, _ request: Request
  ) throws(LarderError) -> [UInt8] {
    var facts = larder_os_facts()
    let path = request.place.path
    try check(larder_os_file_facts_get(file, &facts), "look at \(path)")
    try check(larder_os_trust_check(&facts, request.trustsOtherUsers), "open \(path)")
    let most = QueueHeader.size + QueueHeader.windows.upperBound * QueueSlot.size
    var bytes = [UInt8](repeating: 0, count: min(Int(clamping: facts.bytes), most))
    var count = 0
    try check(larder_os_file_read_at(file, &bytes, bytes.count, 0, &count), "read \(path)")
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private static func slots(in bytes: [UInt8], _ header: QueueHeader) -> [QueueSlot] {
    let seed = header.checksum
    return slotRanges(bytes, header).compactMap { index, range in
      guard let slot = QueueSlot(bytes[range], seed: seed),
        slot.sequence % UInt64(header.window) == UInt64(index)
      else { return nil }
      return slot
    }
  }

  private static func slotRanges(
    _ bytes: [UInt8], _ header: QueueHeader
  ) -> [(index: Int, range: Range<Int>)] {
    (0..<Int(header.window)).compactMap { index in
      let start = QueueHeader.size + index * QueueSlot.size
      return start + QueueSlot.size <= bytes.count ? (index, start..<start + QueueSlot.size) : nil
    }
  }

  private static func damagedSlots(
    _ bytes: [UInt8], _ header: QueueHeader, readable: Int
  ) -> Int {
    let ranges = slotRanges(bytes, header)
    let unused = ranges.count { bytes[$0.range].allSatisfy { $0 == 0 } }
    return Int(header.window) - unused - readable
  }

  private static func setAside(_ place: SideFile) throws(LarderError) -> URL {
    let suffix = ".aside-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    let target = place.path + suffix
    try check(
      larder_os_file_rename_in(place.folder, place.name, place.name + suffix),
      "move \(place.path) to \(target)")
    return URL(fileURLWithPath: target)
  }

  /// Makes a file that has no slots yet, whole and on the device before it gets its name.
  private static func create(_ request: Request) throws(LarderError) -> QueueFile {
    let place = request.place
    let path = place.path
    var file: Int32 = -1
    var name: UnsafeMutablePointer<CChar>?
    try check(
      larder_os_file_make_beside(place.folder, place.name, "new", 0o600, &file, &name),
      "make a file beside \(path)")
    defer { free(name) }
    do {
      var bytes = request.header.bytes
      bytes += [UInt8](
        repeating: 0, count: Int(request.header.window) * QueueSlot.size)
      try write(bytes, file, at: 0, path)
      try check(larder_os_file_sync(file), "sync \(path)")
      try check(larder_os_file_rename_in(place.folder, name, place.name), "make \(path)")
    } catch {
      _ = larder_os_file_remove_in(place.folder, name)
      larder_os_file_close(file)
      throw error
    }
    let made = try QueueFile(path: path, header: request.header, file: file)
    try check(larder_os_folder_sync(place.folder), "sync the folder of \(path)")
    return made
  }

  private static func write(
    _ bytes: [UInt8], _ file: Int32, at offset: UInt64, _ path: String
  ) throws(LarderError) {
    try check(
      larder_os_file_write_at(file, bytes, bytes.count, offset),
      "write \(bytes.count) bytes to \(path)")
  }
}
