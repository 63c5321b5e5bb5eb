// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

/// A program whose standard input, output or error is closed opens every kind of store: none of
/// their files is one of the three.
struct StandardDescriptorTests {
  private struct Book: Codable, Identifiable, Sendable {
    var id: Int
    var title: String
  }

  private struct Failure: Error {
    let description: String
  }

  @Test func noFileIsAStandardDescriptor() async {
    await #expect(processExitsWith: .success) { try Self.tryAll() }
  }

  /// In a process of its own.
  private static func tryAll() throws {
    for closed in 0..<8 {
      let directory = try TemporaryDirectory()
      let saved = (0..<3).map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
      let missing = (0..<3).filter { closed >> $0 & 1 == 1 }.map { Int32($0) }
      for descriptor in missing { close(descriptor) }
      let result = Result { try openAll(directory, missing) }
      for descriptor in missing { dup2(saved[Int(descriptor)], descriptor) }
      for descriptor in saved { close(descriptor) }
      try result.get()
    }
  }

  /// - Parameter missing: What is closed. The system's libraries may have something of their own
  ///   there, but no file.
  private static func look(_ step: String, _ missing: [Int32]) throws {
    for descriptor in missing {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { continue }
      let kind = status.st_mode & S_IFMT
      guard kind == S_IFREG || kind == S_IFDIR else { continue }
      throw Failure(description: "\(step): a file is open as descriptor \(descriptor)")
    }
  }

  private static func openAll(_ directory: TemporaryDirectory, _ missing: [Int32]) throws {
    let log = try MessageLog(
      at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .overwriteOldest,
      coder: .string)
    for number in 0..<100 { try log.append("message \(number)", durability: .power) }
    try look("a log", missing)
    let disk = try DiskCache<String, Data>(at: .path(directory.file("disk").path))
    try disk.set(Data(count: 100_000), forKey: "key")
    try disk.checkpoint()
    try look("a disk cache", missing)
    let exported = try disk.exportValue(forKey: "key", to: directory.url)
    try look("an exported value", missing)
    let cache = try Cache<String, Book>(at: .path(directory.file("cache").path))
    try cache.set(Book(id: 1, title: "one"), forKey: "key")
    try cache.checkpoint()
    try look("a cache", missing)
    let entries = try EntryCache<String>(at: .path(directory.file("entries").path), valueCount: 2)
    try entries.setValues([Data(count: 1), Data(count: 1 << 20)], forKey: "key")
    try entries.checkpoint()
    try look("an entry cache", missing)
    let archive = try Archive<Book>(
      at: .path(directory.file("archive").path), indexes: [ArchiveIndex("title", \.title)])
    try archive.insert(all: (0..<100).map { Book(id: $0, title: "\($0)") })
    try archive.checkpoint()
    try look("an archive", missing)
    try disk.backup(to: directory.file("backup").path)
    try look("a backup", missing)
    for line in 0..<100 {
      // As print would.
      for descriptor in missing { _ = write(descriptor, "line \(line)\n", 8) }
    }
    guard try exported.map({ try Data(contentsOf: $0) }) == Data(count: 100_000) else {
      throw Failure(description: "the exported value is another one")
    }
    try log.close()
    try disk.close()
    try cache.close()
    try entries.close()
    try archive.close()
    try look("closing", missing)
    let again = try MessageLog(
      at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .overwriteOldest,
      coder: .string)
    guard try again.statistics.count == 100 else {
      throw Failure(description: "messages are missing")
    }
    try again.close()
  }
}
