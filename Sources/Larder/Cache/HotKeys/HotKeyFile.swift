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

  let folder: StoreFolder

  /// A ring is opened by its path alone.
  private func url(_ name: String) -> URL {
    URL(fileURLWithPath: folder.location, isDirectory: true).appendingPathComponent(name)
  }

  /// The keys' bytes, the hottest first; none if there is no file.
  func read() throws -> [Data] {
    if folder.isReplaced { throw folder.replaced }
    do {
      let log = try MessageLog<Data>(readingFrom: .url(url(Self.name)), coder: .data)
      defer { try? log.close() }  // It was only read.
      return try log.messages()
    } catch let error as LarderError where error.errno == ENOENT {
      return []
    }
  }

  /// As ``read()``; none if nothing is lost with what cannot be read.
  func keys() throws -> [Data] {
    do { return try read() } catch let error as LarderError where isWorthless(error) { return [] }
  }

  /// Whether nothing is lost with a file that could not be read: one of ours that is damaged, or
  /// what a power cut leaves of one.
  func isWorthless(_ failure: LarderError) -> Bool { failure.code == .damaged || isBlank }

  /// Whether there is nothing in the file but zeros.
  private var isBlank: Bool {
    guard let open = try? folder.open(), let file = try? open.file(Self.name, 0) else {
      return false
    }
    defer { larder_os_file_close(file) }
    var facts = larder_os_facts()
    guard larder_os_file_facts_get(file, &facts) == LARDER_OK, facts.is_regular,
      facts.bytes <= 2 * UInt64(Self.byteLimit)
    else { return false }
    var bytes = Data(count: Int(facts.bytes))
    var count = 0
    let status = bytes.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { larder_os_file_read_at(file, $0, bytes.count, 0, &count) }
    }
    return (status ?? Int32(LARDER_OK)) == LARDER_OK && bytes.allSatisfy { $0 == 0 }
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
    let open = try folder.open()
    try open.remove(Self.newName)
    // Each may need some bytes more, to be a multiple of eight.
    let size = kept.isEmpty ? 0 : bytes / kept.count + 9
    let capacity = MessageLog<Data>.capacity(
      forMessages: max(kept.count, 1), ofSize: size, consumerSlots: 0)
    guard let capacity else { return }
    let log = try MessageLog<Data>(
      at: .url(url(Self.newName)), capacity: capacity, whenFull: .refuse, coder: .data,
      configuration: MessageLogConfiguration(syncInterval: nil, consumerSlots: 0))
    try log.append(contentsOf: kept)
    try log.close()
    // If we crash here, the next write replaces it.
    try open.rename(Self.newName, to: Self.name)
  }
}
