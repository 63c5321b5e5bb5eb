// SPDX-License-Identifier: MIT

import CLarder
import CLarderSystem
public import Foundation

extension MessageLog {
  /// The log's identity, for the name of what it is shipped to.
  ///
  /// Made at random at the first call, and kept in a file beside the log's: its name with
  /// `.identity` behind it. Logs opened for reading have it, too, and make it if the folder lets
  /// them.
  ///
  /// It says which log the numbers belong to, and so stays when the log is resized. A log that
  /// was deleted and made again gets another one, as its numbers begin again, and so does one that
  /// was salvaged. A copy of the log's file alone gets one of its own as well: it is another log
  /// from then on. Who moves a log, or puts back a backup to go on with it, takes both files along.
  /// Of two that go on with the same identity the sink refuses the one that is behind, with
  /// `.configurationMismatch`, but cannot tell one that is ahead: do not do that.
  ///
  /// - Returns: The identity.
  /// - Throws: `.notALarderFile` if the file is something else, `.damaged`,
  ///   `.incompatibleVersion`, `.untrusted` (it is to be written to, and another user's),
  ///   `.busy` if another process keeps it locked; `.replaced` if the log's file is not in its
  ///   place any more; `.readOnly`, `.io`, `.diskFull`; `.closed`.
  ///   The file is as it was then.
  /// - Complexity: O(1); one sync of the device when it is made.
  public func identity() throws -> UUID {
    try handle.refresh()
    let created = try handle.created()
    return try handle.withSideFile(IdentityFile.suffix, waits: true) { place throws(LarderError) in
      let file = IdentityFile(place: place, trustsOtherUsers: handle.trustsOtherUsers)
      if let identity = try file.find(created) { return identity }
      let identity = try file.make(created)
      if !isReader { try handle.files.apply(to: place.path) }
      return identity
    }
  }
}

/// The identities of the logs that had a path: one record for each, by when the log was created.
///
/// Records are only added, under a lock, and on the device before anybody uses them. So what a
/// crash leaves of one at the end was used by nobody.
struct IdentityFile {
  static let suffix = ".identity"
  private static let magic = Array("LARDIDEN".utf8)
  private static let version: UInt32 = 1
  private static let recordBytes = 64
  private static let maximumBytes = 1 << 20
  /// What one who adds a record takes is a sync.
  private static let patience = 400

  let place: SideFile
  let trustsOtherUsers: Bool
  private var path: String { place.path }

  /// - Returns: nil if there is none yet.
  func find(_ created: Int64) throws(LarderError) -> UUID? {
    var file: Int32 = -1
    let status = larder_os_file_open_in(place.folder, place.name, 0, 0, &file)
    if status == LARDER_OS_ENOENT { return nil }
    try check(status, "open \(path)")
    defer { larder_os_file_close(file) }
    return try identity(created, in: contents(file))
  }

  /// Adds one, unless somebody else did meanwhile.
  func make(_ created: Int64) throws(LarderError) -> UUID {
    var file: Int32 = -1
    try check(
      larder_os_file_open_in(
        place.folder, place.name, Int32(LARDER_OS_WRITE | LARDER_OS_CREATE), 0o644, &file),
      "open \(path)")
    defer { larder_os_file_close(file) }
    var facts = larder_os_facts()
    try check(larder_os_file_facts_get(file, &facts), "look at \(path)")
    try check(larder_os_trust_check(&facts, trustsOtherUsers), "open \(path)")
    try lock(file)
    defer { larder_os_file_unlock(file) }
    let bytes = try contents(file)
    if let identity = try identity(created, in: bytes) { return identity }
    let identity = UUID()
    let record = Self.record(identity, created)
    try check(
      larder_os_file_write_at(
        file, record, record.count, UInt64(bytes.count / Self.recordBytes * Self.recordBytes)),
      "write \(record.count) bytes to \(path)")
    try check(larder_os_file_sync(file), "sync \(path)")
    try check(larder_os_folder_sync(place.folder), "sync the folder of \(path)")
    return identity
  }

  /// Deletes the file, unless it is something else.
  func remove() {
    var file: Int32 = -1
    let status = larder_os_file_open_in(place.folder, place.name, 0, 0, &file)
    defer { larder_os_file_close(file) }
    guard status == LARDER_OK, (try? contents(file))?.starts(with: Self.magic) == true else {
      return
    }
    _ = larder_os_file_remove_in(place.folder, place.name)
  }

  private func lock(_ file: Int32) throws(LarderError) {
    for _ in 0..<Self.patience {
      let status = larder_os_file_lock(file)
      if Int(status) != LARDER_EBUSY { return try check(status, "lock \(path)") }
      Thread.sleep(forTimeInterval: 0.005)
    }
    throw LarderError(.busy, "Could not lock \(path): another process has it locked.")
  }

  /// All whole records; none of what a crash left of the last.
  private func contents(_ file: Int32) throws(LarderError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
    var count = 0
    try check(larder_os_file_read_at(file, &bytes, bytes.count, 0, &count), "read \(path)")
    let magic = bytes.prefix(min(count, Self.magic.count))
    guard count < Self.maximumBytes,
      magic.elementsEqual(Self.magic.prefix(magic.count)) || magic.allSatisfy({ $0 == 0 })
    else {
      throw LarderError(
        .notALarderFile, "The file \(path) does not hold identities; it was left as it is.")
    }
    var whole = count / Self.recordBytes
    while whole > 0, bytes[range(of: whole - 1)].allSatisfy({ $0 == 0 }) { whole -= 1 }
    return Array(bytes.prefix(whole * Self.recordBytes))
  }

  private func range(of index: Int) -> Range<Int> {
    index * Self.recordBytes..<(index + 1) * Self.recordBytes
  }

  private func identity(_ created: Int64, in bytes: [UInt8]) throws(LarderError) -> UUID? {
    for index in 0..<bytes.count / Self.recordBytes {
      let record = Array(bytes[range(of: index)])
      guard record.starts(with: Self.magic),
        record.load(at: 60, as: UInt32.self) == Self.checksum(record)
      else {
        throw LarderError(
          .damaged, "The file \(path) is damaged; remove it to ship the log under a new identity.")
      }
      let found = record.load(at: 8, as: UInt32.self)
      guard found == Self.version else {
        throw LarderError(
          .incompatibleVersion,
          "The file \(path) is of version \(found); this release reads \(Self.version).")
      }
      if record.load(at: 16, as: Int64.self) == created {
        return record.withUnsafeBytes { bytes in
          UUID(uuid: bytes.loadUnaligned(fromByteOffset: 24, as: uuid_t.self))
        }
      }
    }
    return nil
  }

  private static func record(_ identity: UUID, _ created: Int64) -> [UInt8] {
    var record = magic + [UInt8](repeating: 0, count: recordBytes - magic.count)
    record.store(version, at: 8)
    record.store(created, at: 16)
    withUnsafeBytes(of: identity.uuid) { record.replaceSubrange(24..<40, with: $0) }
    record.store(checksum(record), at: 60)
    return record
  }

  private static func checksum(_ record: [UInt8]) -> UInt32 {
    record.withUnsafeBytes { larder_crc32c(0, $0.baseAddress, 60) }
  }
}
