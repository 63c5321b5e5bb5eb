// SPDX-License-Identifier: MIT

internal import CLarderSystem
import Foundation
import LarderCore

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
    defer { larder_os_file_close(lock) }
    for name in names { try remove(folder + "/" + name) }
    others()
    // The lock goes last, and while it is held: until then, nobody makes a new store here.
    try remove(folder + "/lock")
    // A folder that is gone, or that holds what is not ours, is as it should be.
    let status = larder_os_folder_remove(folder)
    if status == LARDER_OK || [ENOENT, ENOTEMPTY, EEXIST].contains(status) { return }
    throw LarderError(status: status, doing: "delete the folder \(folder)")
  }

  private static func remove(_ path: String) throws {
    let status = larder_os_file_remove(path)
    if status == LARDER_OK || status == ENOENT { return }
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
    var file: Int32 = -1
    var status = larder_os_file_open(folder + "/lock", Int32(LARDER_OS_WRITE), 0, &file)
    if status == ENOENT || status == ENOTDIR { return -1 }
    if status == LARDER_OK { status = larder_os_file_lock(file) }
    if status == LARDER_OK { return file }
    larder_os_file_close(file)
    if status != LARDER_EBUSY { throw LarderError(status: status, doing: "lock \(folder)") }
    throw LarderError(
      .busy, "Could not delete \(folder): somebody has it open for writing; nothing was deleted.")
  }
}
