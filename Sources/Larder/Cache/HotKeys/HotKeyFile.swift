// SPDX-License-Identifier: MIT

import CLarderSystem
import Foundation
import LarderCore

/// The file `hot` in the folder of a disk cache: the keys that a memory above it had, the
/// hottest first.
///
/// It is a ring, with the bytes of one key in each message: so it knows of itself whether it is
/// whole, and of which version.
struct HotKeyFile: Sendable {
  static let name = "hot"
  /// It is made under this name, and renamed.
  static let newName = "hot.new"

  /// The most keys and bytes that are kept.
  static let countLimit = 1_000_000
  static let byteLimit = 64 << 20

  let folder: String

  private func url(_ name: String) -> URL {
    URL(fileURLWithPath: folder, isDirectory: true).appendingPathComponent(name)
  }

  /// The keys' bytes, the hottest first; none if there is no file.
  func read() throws -> [Data] {
    do {
      let log = try MessageLog<Data>(readingFrom: url(Self.name), coder: .data)
      defer { try? log.close() }  // It was only read.
      return try log.messages()
    } catch let error as LarderError where error.errno == ENOENT {
      return []
    }
  }

  /// Whether there is nothing in the file but zeros.
  var isBlank: Bool {
    let path = url(Self.name).path
    let facts = try? FileManager.default.attributesOfItem(atPath: path)
    guard facts?[.type] as? FileAttributeType == .typeRegular,
      let bytes = FileManager.default.contents(atPath: path)
    else { return false }
    return bytes.allSatisfy { $0 == 0 }
  }

  /// Takes the place of the file, if there is one.
  func write(_ keys: some Sequence<Data>) throws {
    var kept: [Data] = []
    var bytes = 0
    for key in keys.prefix(Self.countLimit) {
      bytes += key.count
      if bytes > Self.byteLimit { break }
      kept.append(key)
    }
    let new = url(Self.newName)
    try remove(new)
    // Each may need some bytes more, to be a multiple of eight.
    let size = kept.isEmpty ? 0 : bytes / kept.count + 9
    let capacity = MessageLog<Data>.maximumBytes(
      forMessages: max(kept.count, 1), ofSize: size, consumerSlots: 0)
    guard let capacity else { return }
    let log = try MessageLog<Data>(
      fileURL: new, maximumBytes: capacity, whenFull: .refuse, coder: .data,
      configuration: MessageLogConfiguration(syncInterval: nil, consumerSlots: 0))
    try log.append(contentsOf: kept)
    try log.close()
    // If we crash here, the next write replaces it.
    try check(
      larder_os_file_rename(new.path, url(Self.name).path), "rename \(new.path) to \(Self.name)")
  }

  private func remove(_ file: URL) throws {
    let status = larder_os_file_remove(file.path)
    if status != ENOENT { try check(status, "delete \(file.path)") }
  }
}
