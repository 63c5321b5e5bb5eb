// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// Opening a log as the command line asks for it.
enum LogCreation {
  static let defaultCapacity: UInt64 = 64 << 20

  /// Opens the log at `path` for reading only, while whoever has it goes on.
  static func read(_ path: String) throws -> RingHandle {
    try StandardStreams.requireOutput(outside: path)
    return try RingHandle(path: path, options: RingOptions(readOnly: true))
  }

  /// A log that is read.
  struct Reading: ~Copyable {
    let ring: RingHandle
    /// Why it could not be opened; then this is a copy of what is intact.
    let damage: LarderError?
  }

  /// Opens the log at `path` to print it, and however damaged it is.
  static func readIntact(_ path: String) throws -> Reading {
    do {
      return Reading(ring: try read(path), damage: nil)
    } catch let damage as LarderError where damage.code == .damaged {
      let files = FileManager.default
      let folder = files.temporaryDirectory.appendingPathComponent("larder-" + UUID().uuidString)
      try files.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      // Open files have no need of their names.
      defer { try? files.removeItem(at: folder) }
      let copy = folder.appendingPathComponent("log", isDirectory: false)
      _ = try MessageLog<Data>.salvage(from: .path(path), to: .url(copy))
      return Reading(
        ring: try RingHandle(path: copy.path, options: RingOptions(readOnly: true)), damage: damage)
    }
  }

  /// Opens the log at `path` for writing, or creates it with what is asked for, else 64 MiB and
  /// overwriting.
  ///
  /// - Throws: `.configurationMismatch` if the log exists and something else was asked for, or if
  ///   lines of text are not what its coder makes.
  static func open(
    _ path: String, capacity: UInt64?, policy: PolicyChoice?, keepsTimes: Bool, others: OtherUsers
  ) throws -> RingHandle {
    try StandardStreams.requireOutput(outside: path)
    var options = RingOptions(syncInterval: .seconds(1))
    options.trustsOtherUsers = others.areTrusted
    var creation = options
    creation.capacity = capacity ?? defaultCapacity
    creation.overwrite = (policy ?? .overwrite).isOverwriting
    creation.keepsTimes = keepsTimes
    let ring = try open(path, options, orCreate: creation)
    // The file's own settings were taken, so a difference can be told setting by setting.
    let statistics = try ring.statistics()
    guard ContentFormat.takesText(statistics.format) else {
      throw LarderError(
        .configurationMismatch,
        "\(path) holds messages of the format \"\(statistics.format)\", and lines of text are not. "
          + "Append to it with a program that uses this coder, or lines to a log of their own.")
    }
    if let capacity, capacity != statistics.capacity {
      throw mismatch(
        path, "has \(describe(statistics.capacity)), and --capacity asks for \(describe(capacity))")
    }
    if let policy, policy.isOverwriting != (statistics.whenFull == .overwriteOldest) {
      throw mismatch(
        path,
        policy.isOverwriting
          ? "refuses when it is full, and --overwrite asks for the opposite"
          : "overwrites its oldest messages, and --refuse asks for the opposite")
    }
    if keepsTimes && !statistics.keepsTimes {
      throw mismatch(path, "keeps no times of its messages, and --timestamps asks for them")
    }
    return ring
  }

  private static func open(
    _ path: String, _ options: RingOptions, orCreate creation: RingOptions
  ) throws(LarderError) -> RingHandle {
    if isNewOrEmpty(path) { return try RingHandle(path: path, options: creation) }
    var options = options
    options.existing = true
    do {
      return try RingHandle(path: path, options: options)
    } catch  where error.code == .invalidArgument {
      // Nothing in it says how large it is: zeros, as a power cut behind its creation leaves.
      return try RingHandle(path: path, options: creation)
    }
  }

  /// Refuses a log of which messages are lost to damage, before it is opened for writing: that
  /// would settle for what is left.
  ///
  /// What a power cut took of what was not synced is no damage, and no reason to stop a service.
  ///
  /// - Parameter undone: What is not done then, as a message has it.
  static func requireWhole(_ path: String, undone: String) throws {
    // What cannot be read, and whoever writes to it, opening for writing tells of.
    guard !isNewOrEmpty(path), let ring = try? read(path),
      try ring.statistics().writerProcess == nil
    else { return }
    let report = try ring.recovery()
    guard report.lost > 0, report.cut == 0 else { return }
    throw LarderError(
      .damaged,
      "\(path): damaged, \(Quantity.count(report.lost, "message")) lost and "
        + "\(Quantity.count(report.intact, "message")) intact; nothing was \(undone). "
        + "larder log salvage copies what is intact to a new log, which can be used then")
  }

  private static func mismatch(_ path: String, _ difference: String) -> LarderError {
    LarderError(
      .configurationMismatch,
      "\(path) exists and \(difference). Leave the option away to use the log as it is, or change "
        + "it with larder log resize.")
  }

  /// Both forms, as two sizes can look alike in units.
  private static func describe(_ bytes: UInt64) -> String {
    "\(Quantity.bytes(bytes)) (\(Quantity.count(bytes, "byte")))"
  }

  private static func isNewOrEmpty(_ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { return errno == ENOENT }
    return status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
  }
}
