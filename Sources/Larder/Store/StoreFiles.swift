// SPDX-License-Identifier: MIT

import CLarderStore
import CLarderSystem
import Foundation
import LarderCore

/// Deletes the files of a store that is closed.
enum StoreFiles {
  /// The index goes first: a log without it is taken for damage, so that what is left of a
  /// store that was deleted in part is never opened as if it were whole.
  private static let names = [
    "data.new", "index.new/data.mdb", "index.new/lock.mdb", "data.mdb", "lock.mdb", "feed",
    "damaged", HotKeyFile.name, HotKeyFile.newName,
  ]

  /// Deletes them, and the folder if nothing else is in it.
  ///
  /// - Parameter others: Deletes what else is ours in the folder, before the lock goes.
  /// - Throws: `.busy` if somebody has the store open for writing; `.replaced`.
  static func delete(
    _ folder: StoreFolder, others: (borrowing OpenFolder) -> Void = { _ in }
  ) throws {
    let open = try folder.open()
    let lock = try lock(open)
    defer { larder_os_file_close(lock) }
    // Whoever had the lock may have deleted the store, and somebody else made the next one.
    try folder.confirm(open)
    for name in names { try open.remove(name) }
    if let log = try open.folder("log") {
      for name in try segments(log) { try log.remove(name) }
    }
    for name in ["index.new", "log"] { try open.remove(folder: name) }
    others(open)
    // The lock goes last, and while it is held: until then, nobody makes a new store here.
    try open.remove("lock")
    try remove(open, at: folder.location)
  }

  /// Deletes the cache of single values in a folder that nobody has open here.
  ///
  /// - Throws: What opening it throws, if it is none; `.configurationMismatch` if it holds
  ///   something else; `.busy`.
  static func deleteCache(_ path: String) throws {
    var options = StoreOptions()
    options.isReadOnly = true
    let folder: StoreFolder
    do {
      let store = try StoreHandle(path: path, options: options)
      let format = try store.statistics().content_format
      try store.shutdown()
      guard ArchiveFormat(number: format) == nil, EntryFormat(number: format) == nil else {
        throw LarderError(
          .configurationMismatch,
          "Could not delete \(path): it holds \(StoreFailure.content(format)), which is no cache "
            + "of single values; nothing was deleted.")
      }
      folder = store.folder
    } catch let error as LarderError where error.errno == ENOENT {
      return
    } catch let error as LarderError where error.code == .damaged {
      folder = try StoreFolder(
        path: path, location: DiskFolder.absolute(path), isReadOnly: true)
      // It was one.
      guard let log = try folder.open().folder("log"), try !segments(log).isEmpty else {
        throw error
      }
    }
    try delete(folder)
  }

  /// Names of the files of the log.
  private static func segments(_ log: borrowing OpenFolder) throws(LarderError) -> [String] {
    try log.names().filter { $0.wholeMatch(of: /[0-9a-f]{8}\.seg/) != nil }
  }

  /// Deletes a folder that is empty, and has not made room for another one.
  private static func remove(_ folder: borrowing OpenFolder, at location: String) throws {
    var own = larder_os_identity()
    var there = larder_os_identity()
    guard larder_os_file_identify_in(folder.descriptor, ".", &own) == LARDER_OK,
      larder_os_file_identify(location, &there) == LARDER_OK,
      own.device == there.device, own.inode == there.inode
    else { return }
    let status = larder_os_folder_remove(location)
    if [ENOENT, ENOTEMPTY, EEXIST, ENOTDIR].contains(status) { return }
    try check(status, "delete the folder \(folder.path)")
  }

  /// Takes the store's lock as the C core does.
  ///
  /// - Returns: the file, to be closed; −1 if there is none.
  private static func lock(_ folder: borrowing OpenFolder) throws(LarderError) -> Int32 {
    let file: Int32
    do throws(LarderError) { file = try folder.file("lock", LARDER_OS_WRITE) } catch {
      if error.errno == ENOENT { return -1 }
      throw error
    }
    let status = larder_os_file_lock(file)
    if status == LARDER_OK { return file }
    larder_os_file_close(file)
    if status != LARDER_EBUSY { try check(status, "lock \(folder.path)") }
    throw LarderError(
      .busy,
      "Could not delete \(folder.path): somebody has it open for writing; nothing was deleted.")
  }
}
