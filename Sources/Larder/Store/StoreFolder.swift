// SPDX-License-Identifier: MIT

import CLarderSystem
import Foundation
import LarderCore

/// The folder that a store was opened in, whatever its path leads to later.
///
/// A path is looked up each time: the process may have gone to another folder, this one may have
/// been moved, and another store may lie in its place. So a handle never goes by its path
/// again, but by the descriptor that ``open()`` gives.
struct StoreFolder: Sendable {
  /// As it was given, for messages alone.
  let path: String
  /// The same from the root on, wherever the process goes.
  let location: String
  /// The file in it that tells it from others: the lock is made and deleted with its store. Of one
  /// that is only read, and may have none, it is the folder itself.
  private let mark: String
  private let identity: larder_os_identity

  /// Remembers the folder that lies there now.
  ///
  /// - Parameter location: The path from the root on.
  init(path: String, location: String, isReadOnly: Bool) throws(LarderError) {
    self.path = path
    self.location = location
    mark = isReadOnly ? "." : "lock"
    var found = larder_os_identity()
    try check(larder_os_file_identify(location + "/" + mark, &found), "open \(path)")
    identity = found
  }

  /// Opens it.
  ///
  /// - Throws: `.replaced` if something else lies there by now, or nothing.
  func open() throws(LarderError) -> OpenFolder {
    let folder: OpenFolder
    do throws(LarderError) {
      folder = try OpenFolder(at: location, named: path)
    } catch {
      throw Self.isMissing(error.errno) ? replaced : error
    }
    try confirm(folder)
    return folder
  }

  /// Throws `.replaced` if a folder is not this one, or has another store in it by now.
  func confirm(_ folder: borrowing OpenFolder) throws(LarderError) {
    var there = larder_os_identity()
    let status = larder_os_file_identify_in(folder.descriptor, mark, &there)
    if status != LARDER_OK || !isSame(there) { throw replaced }
  }

  /// What its path leads to.
  enum Finding {
    case same, other, nothing
  }

  /// What its path leads to by now; what cannot be looked at is taken for the same.
  var finding: Finding {
    var there = larder_os_identity()
    let status = larder_os_file_identify(location + "/" + mark, &there)
    if status == LARDER_OK { return isSame(there) ? .same : .other }
    return Self.isMissing(status) ? .nothing : .same
  }

  /// Whether something else lies there by now, or nothing.
  var isReplaced: Bool { finding != .same }

  /// Whether a path leads to nothing: a part of it is missing, a file, or a link to itself.
  private static func isMissing(_ errno: Int32?) -> Bool {
    errno == ENOENT || errno == ENOTDIR || errno == ELOOP
  }

  private func isSame(_ other: larder_os_identity) -> Bool {
    // Not every file system says when a file was made.
    let isAsOld = other.born_ns == identity.born_ns || other.born_ns == 0 || identity.born_ns == 0
    return other.device == identity.device && other.inode == identity.inode && isAsOld
  }

  var replaced: LarderError {
    LarderError(
      .replaced,
      """
      The store that was opened in \(path) does not lie there any more; nothing was changed in \
      what lies there now. Put it back, or open it where it is.
      """, errno: finding == .nothing ? ENOENT : nil)
  }

  /// `.replaced` if that is why a call failed with this status; else nil.
  func replaced(_ status: Int32?) -> LarderError? {
    if status == Int32(LARDER_EREPLACED) { return replaced }
    // What cannot be found is in a folder that is elsewhere.
    return (Self.isMissing(status) || status == EIO) && isReplaced ? replaced : nil
  }
}

/// A folder by its descriptor: what is done in it is done there, wherever it is moved meanwhile.
struct OpenFolder: ~Copyable {
  /// For messages.
  let path: String
  let descriptor: Int32

  /// - Parameters:
  ///   - location: Whose last part may be a symbolic link to it.
  ///   - path: What messages call it.
  init(at location: String, named path: String) throws(LarderError) {
    var file: Int32 = -1
    try check(larder_os_folder_open(location + "/.", &file), "open the folder \(path)")
    self.path = path
    descriptor = file
  }

  private init(_ name: String, in folder: borrowing OpenFolder) throws(LarderError) {
    path = folder.path + "/" + name
    var file: Int32 = -1
    try check(larder_os_folder_open_in(folder.descriptor, name, &file), "open the folder \(path)")
    descriptor = file
  }

  deinit { larder_os_file_close(descriptor) }

  /// A folder in this one; nil if there is none of that name.
  func folder(_ name: String) throws(LarderError) -> OpenFolder? {
    do throws(LarderError) { return try OpenFolder(name, in: self) } catch {
      if error.errno == ENOENT || error.errno == ENOTDIR || error.errno == ELOOP { return nil }
      throw error
    }
  }

  /// The names in it.
  func names() throws(LarderError) -> [String] {
    var names: [String] = []
    let status = withUnsafeMutablePointer(to: &names) { names in
      larder_os_folder_list_in(
        descriptor,
        { names, name in
          let names = names?.assumingMemoryBound(to: [String].self)
          if let name { names?.pointee.append(String(cString: name)) }
          return 0
        }, names)
    }
    try check(status, "list \(path)")
    return names
  }

  /// Opens a file in it, to be closed.
  ///
  /// - Parameter flags: `LARDER_OS_…`.
  func file(_ name: String, _ flags: Int, mode: UInt32 = 0) throws(LarderError) -> Int32 {
    var file: Int32 = -1
    try check(
      larder_os_file_open_in(descriptor, name, Int32(flags), mode, &file), "open \(path)/\(name)")
    return file
  }

  func rename(_ name: String, to new: String) throws(LarderError) {
    try check(
      larder_os_file_rename_in(descriptor, name, new), "rename \(path)/\(name) to \(new)")
  }

  /// Deletes a file in it, if it is there.
  func remove(_ name: String) throws(LarderError) {
    let status = larder_os_file_remove_in(descriptor, name)
    if status == ENOENT || status == ENOTDIR { return }
    try check(status, "delete \(path)/\(name)")
  }

  /// Deletes a folder in it, if it is there and empty: one that holds what is not ours stays.
  func remove(folder name: String) throws(LarderError) {
    let status = larder_os_folder_remove_in(descriptor, name)
    if [ENOENT, ENOTEMPTY, EEXIST, ENOTDIR].contains(status) { return }
    try check(status, "delete the folder \(path)/\(name)")
  }
}
