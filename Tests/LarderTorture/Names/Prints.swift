// SPDX-License-Identifier: MIT
import Foundation

/// All that is in a folder, but for what belongs to one who may change it.
struct Prints: Equatable {
  private struct Print: Equatable {
    var inode: UInt64
    var mode: UInt64
    /// Of a folder in a store, when a name in it came or went.
    var changed: Int64
    var bytes: Data
  }

  private var files: [String: Print] = [:]

  /// - Parameters:
  ///   - root: The folder, from the root on.
  ///   - own: Paths that belong to the one, with all that is below them.
  init(of root: String, without own: [String]) throws {
    try add(root, own, depth: 0)
  }

  private mutating func add(_ folder: String, _ own: [String], depth: Int) throws {
    guard let list = opendir(folder) else { return }
    defer { closedir(list) }
    while let entry = readdir(list) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      let path = folder + "/" + name
      if name == "." || name == ".." || own.contains(path) { continue }
      var facts = stat()
      // An open store may have removed it meanwhile.
      guard lstat(path, &facts) == 0 else { continue }
      let isFolder = facts.st_mode & S_IFMT == S_IFDIR
      files[path] = Print(
        inode: UInt64(facts.st_ino), mode: UInt64(facts.st_mode),
        changed: isFolder && depth > 0 ? changed(facts) : 0,
        bytes: isFolder ? Data() : try content(path, Int(facts.st_size)))
      if isFolder { try add(path, own, depth: depth + 1) }
    }
  }

  private func changed(_ facts: stat) -> Int64 {
    #if canImport(Darwin)
      let time = facts.st_mtimespec
    #else
      let time = facts.st_mtim
    #endif
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private func content(_ path: String, _ size: Int) throws -> Data {
    guard let file = fopen(path, "r") else { return Data() }
    defer { fclose(file) }
    var bytes = Data(count: size)
    let count = bytes.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { fread($0, 1, size, file) } ?? 0
    }
    return bytes.prefix(count)
  }

  /// What is not as it was, by its path.
  func differences(from before: Prints) -> [String] {
    let all = Set(files.keys).union(before.files.keys)
    return all.filter { files[$0] != before.files[$0] }.sorted().map { path in
      let (old, new) = (before.files[path], files[path])
      if new == nil { return "\(path) is gone" }
      if old == nil { return "\(path) is new" }
      if old?.bytes != new?.bytes { return "\(path) has other bytes" }
      return "\(path) is not as it was"
    }
  }
}
