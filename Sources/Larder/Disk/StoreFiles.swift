// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

#if os(Linux) || os(Android)
  /// `F_OFD_SETLK`, which Swift's view of the C library leaves out.
  private let lockOfDescription: Int32 = 37
#endif

/// Deletes the files of a store that is closed.
enum StoreFiles {
  /// The index goes first: a log without it is taken for damage, so that what is left of a
  /// store that was deleted in part is never opened as if it were whole.
  private static let names = ["data.new", "data.mdb", "lock.mdb", "log"]

  /// Deletes them, and the folder if nothing else is in it.
  ///
  /// - Parameter others: Deletes what else is ours in the folder, before the lock goes.
  /// - Throws: `.busy` if somebody has the store open for writing.
  static func delete(_ folder: String, others: () -> Void = {}) throws {
    let lock = try lock(folder)
    defer { if lock >= 0 { _ = close(lock) } }
    for name in names { try remove(folder + "/" + name) }
    others()
    // The lock goes last, and while it is held: until then, nobody makes a new store here.
    try remove(folder + "/lock")
    // A folder that is gone, or that holds what is not ours, is as it should be.
    if rmdir(folder) == 0 || [ENOENT, ENOTEMPTY, EEXIST].contains(errno) { return }
    throw LarderError(status: errno, doing: "delete the folder \(folder)")
  }

  private static func remove(_ path: String) throws {
    if unlink(path) == 0 || errno == ENOENT { return }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw LarderError(.io, "Could not delete \(path).", cause: error)
    }
  }

  /// Takes the store's lock as the C core does.
  ///
  /// - Returns: the file, to be closed; −1 if there is none.
  private static func lock(_ folder: String) throws(LarderError) -> Int32 {
    let file = open(folder + "/lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    if file < 0 {
      if errno == ENOENT || errno == ENOTDIR { return -1 }
      throw LarderError(status: errno, doing: "lock \(folder) to delete it")
    }
    #if os(Linux) || os(Android)
      var whole = flock()
      whole.l_type = Int16(F_WRLCK)
      whole.l_whence = Int16(SEEK_SET)
      let isLocked = fcntl(file, lockOfDescription, &whole) == 0
    #else
      let isLocked = flock(file, LOCK_EX | LOCK_NB) == 0
    #endif
    if isLocked { return file }
    _ = close(file)
    throw LarderError(
      .busy, "Could not delete \(folder): somebody has it open for writing; nothing was deleted.")
  }
}
