// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Deleting the folder of a cache that is closed.
struct DiskCacheDeletingTests {
  private typealias Cache = DiskCache<String, Data>

  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("cache").path
  }

  private func make() throws {
    let cache = try Cache(at: .path(path))
    for number in 0..<50 { try cache.set(Data(count: 10_000), forKey: "\(number)") }
    try cache.checkpoint()
    try cache.set(Data("pending".utf8), forKey: "pending")
    try cache.close()
  }

  private var names: [String] {
    FileManager.default.subpaths(atPath: directory.url.path)?.sorted() ?? []
  }

  @Test func nothingIsLeftOfACache() throws {
    try make()
    try Cache.delete(at: .path(path))
    #expect(names == [])
    // Of whatever keys and values.
    try make()
    try DiskCache<Int, Int>.delete(at: .path(path))
    #expect(names == [])
  }

  @Test func nothingIsLeftThatATaskDeletes() async throws {
    try make()
    try await Cache.delete(at: .path(path))
    #expect(names == [])
  }

  @Test func withoutACacheNothingHappens() throws {
    try Cache.delete(at: .path(path))
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try Cache.delete(at: .path(path))
    #expect(names == ["cache"])
  }

  @Test func whatIsNotTheCachesStays() throws {
    try make()
    for name in ["notes", "log/notes", "log/1.seg", "log/00000001.seg.bak"] {
      try Data("mine".utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }
    try Cache.delete(at: .path(path))
    #expect(
      names == [
        "cache", "cache/log", "cache/log/00000001.seg.bak", "cache/log/1.seg", "cache/log/notes",
        "cache/notes",
      ])
  }

  @Test func aCacheThatIsOpenIsNotDeleted() throws {
    try make()
    let cache = try Cache(at: .path(path))
    #expect(errorCode { try Cache.delete(at: .path(path)) } == .busy)
    #expect(try cache.value(forKey: "pending") == Data("pending".utf8))
    try cache.close()
    try Cache.delete(at: .path(path))
    #expect(names == [])
  }

  @Test func whoeverReadsGoesOn() throws {
    try make()
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.isReadOnly = true
    let reader = try Cache(at: .path(path), configuration: configuration)
    #expect(try reader.value(forKey: "7") == Data(count: 10_000))
    try Cache.delete(at: .path(path))
    #expect(names == [])
    #expect(try reader.value(forKey: "7") == Data(count: 10_000))
  }

  @Test func aDamagedCacheIsDeleted() throws {
    try make()
    try Data("damaged".utf8).write(to: URL(fileURLWithPath: path + "/data.mdb"))
    try Cache.delete(at: .path(path))
    #expect(names == [])
  }

  @Test(arguments: ["", "short", "no database, but longer than the head of one"])
  func aForeignFolderIsLeftAsItIs(_ content: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    for name in content.isEmpty ? ["notes"] : ["data.mdb", "notes"] {
      let text = String(repeating: content, count: content.count > 10 ? 500 : 1)
      try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }
    let before = names
    let code = errorCode { try Cache.delete(at: .path(path)) }
    #expect(code == (content.isEmpty ? nil : .notALarderFile))
    #expect(names == before)
  }

  private struct Book: Codable, Identifiable, Sendable {
    var id: Int
  }

  @Test func anArchiveAndACacheOfEntriesAreNoCache() throws {
    let archive = try Archive<Book>(at: .path(path))
    try archive.insert(Book(id: 1))
    try archive.close()
    #expect(errorCode { try Cache.delete(at: .path(path)) } == .configurationMismatch)
    #expect(try Archive<Book>(at: .path(path)).count == 1)
    let entries = directory.file("entries").path
    try EntryCache<String>(at: .path(entries), valueCount: 2).close()
    #expect(errorCode { try Cache.delete(at: .path(entries)) } == .configurationMismatch)
    #expect(FileManager.default.fileExists(atPath: entries + "/data.mdb"))
  }

  @Test func anErrorSaysWhatAFolderHoldsInstead() throws {
    let archive = try Archive<Book>(at: .path(path))
    try archive.insert(Book(id: 1))
    try archive.close()
    let error = #expect(throws: LarderError.self) { try Cache(at: .path(path)) }
    let message = try #require(error?.message)
    #expect(message.contains("it holds elements of an archive") && !message.contains("?"))
    let entries = directory.file("entries").path
    try EntryCache<String>(at: .path(entries), valueCount: 2).close()
    #expect(
      #expect(throws: LarderError.self) { try Cache(at: .path(entries)) }?.message
        .contains("it holds entries of 2 values") == true)
  }
}
