// SPDX-License-Identifier: MIT

internal import CLarderStore
internal import CLarderSystem
import Foundation
import LarderCore

/// Deletes the files of a store that is closed.
enum StoreFiles {
  /// The index goes first: a log without it is taken for damage, so that what is left of a
  /// store that was deleted in part is never opened as if it were whole.
  private static let names = [
    "data.new", "index.new/data.mdb", "index.new/lock.mdb", "data.mdb", "lock.mdb", "feed",
    HotKeyFile.name, HotKeyFile.newName,
  ]

  /// Deletes them, and the folder if nothing else is in it.
  ///
  /// - Parameter others: Deletes what else is ours in the folder, before the lock goes.
  /// - Throws: `.busy` if somebody has the store open for writing.
  static func delete(_ folder: String, others: () -> Void = {}) throws {
    let lock = try lock(folder)
    defer { larder_os_file_close(lock) }
    for name in names + segments(folder) { try remove(folder + "/" + name) }
    for name in ["index.new", "log"] { try remove(folder: folder + "/" + name) }
    others()
    // The lock goes last, and while it is held: until then, nobody makes a new store here.
    try remove(folder + "/lock")
    try remove(folder: folder)
  }

  /// Deletes the cache of single values in a folder that nobody has open here.
  ///
  /// - Throws: What opening it throws, if it is none; `.configurationMismatch` if it holds
  ///   something else; `.busy`.
  static func deleteCache(_ folder: String) throws {
    var options = StoreOptions()
    options.isReadOnly = true
    do {
      let store = try StoreHandle(path: folder, options: options)
      let format = try store.statistics().content_format
      try store.shutdown()
      guard ArchiveFormat(number: format) == nil, EntryFormat(number: format) == nil else {
        throw LarderError(
          .configurationMismatch,
          "Could not delete \(folder): it holds \(StoreFailure.content(format)), which is no cache "
            + "of single values; nothing was deleted.")
      }
    } catch let error as LarderError where error.errno == ENOENT {
      return
    } catch let error as LarderError where error.code == .damaged && !segments(folder).isEmpty {
      // It was one.
    }
    try delete(folder)
  }

  /// Names of the files of the log.
  private static func segments(_ folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/log")) ?? []
    return names.filter { $0.wholeMatch(of: /[0-9a-f]{8}\.seg/) != nil }.map { "log/" + $0 }
  }

  private static func remove(_ path: String) throws {
    let status = larder_os_file_remove(path)
    if status == LARDER_OK || status == ENOENT || status == ENOTDIR { return }
    throw LarderError(status: status, doing: "delete \(path)")
  }

  /// A folder that is gone, or that holds what is not ours, is as it should be.
  private static func remove(folder path: String) throws {
    let status = larder_os_folder_remove(path)
    if status == LARDER_OK || [ENOENT, ENOTEMPTY, EEXIST, ENOTDIR].contains(status) { return }
    throw LarderError(status: status, doing: "delete the folder \(path)")
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
