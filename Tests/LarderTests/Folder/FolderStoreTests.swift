// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What all stores in a folder can do, done to each.
struct FolderStoreTests {
  struct Note: Codable, Identifiable, Equatable {
    var id: Int
    var text: String
  }

  /// A kind of store with one value under the key 1.
  enum Kind: CaseIterable {
    case values, entries, archive

    func open(_ path: String, isReadOnly: Bool = false) throws -> any FolderStore {
      switch self {
      case .values:
        var configuration = DiskCacheConfiguration<Int, String>()
        configuration.isReadOnly = isReadOnly
        return try DiskCache<Int, String>(at: .path(path), configuration: configuration)
      case .entries:
        var configuration = EntryCacheConfiguration()
        configuration.isReadOnly = isReadOnly
        return try EntryCache<Int>(at: .path(path), valueCount: 1, configuration: configuration)
      case .archive:
        var configuration = ArchiveConfiguration()
        configuration.isReadOnly = isReadOnly
        return try Archive<Note>(
          at: .path(path), indexes: [ArchiveIndex("text", \.text)], configuration: configuration)
      }
    }

    func set(_ text: String, in store: any FolderStore) throws {
      switch store {
      case let cache as DiskCache<Int, String>: try cache.set(text, forKey: 1)
      case let cache as EntryCache<Int>: try cache.setValues([Data(text.utf8)], forKey: 1)
      case let archive as Archive<Note>: try archive.upsert(Note(id: 1, text: text))
      default: Issue.record("another store")
      }
    }

    func text(in store: any FolderStore) throws -> String? {
      switch store {
      case let cache as DiskCache<Int, String>: return try cache.value(forKey: 1)
      case let cache as EntryCache<Int>:
        return try cache.snapshot(forKey: 1).map {
          String(decoding: try $0.data(at: 0), as: UTF8.self)
        }
      case let archive as Archive<Note>:
        let found = try archive.where { $0.text == "one" || $0.text == "two" }.first()
        #expect(try archive.element(forID: 1) == found)
        return found?.text
      default: return nil
      }
    }
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func path(_ name: String = "store") -> String { directory.file(name).path }

  @Test(arguments: Kind.allCases)
  func whatAllCanDo(kind: Kind) throws {
    let store = try kind.open(path())
    try kind.set("one", in: store)
    #expect(try store.statistics.pendingCount > 0)
    try store.checkpoint()
    try store.sync()
    #expect(try store.statistics.pendingCount == 0 && store.statistics.count == 1)
    #expect(try store.recovery.isIntact && !store.isSuspended && !store.isClosed)
    #expect(store.directoryURL.path == path())
    try store.suspend()
    #expect(store.isSuspended)
    #expect(errorCode { try kind.text(in: store) } == .suspended)
    let other = try kind.open(path())
    try kind.set("two", in: other)
    try other.close()
    try store.resume()
    #expect(try !store.isSuspended && kind.text(in: store) == "two")
    try store.close()
    try store.close()
    #expect(store.isClosed)
    #expect(errorCode { try kind.text(in: store) } == .closed)
  }

  @Test(arguments: Kind.allCases)
  func theSameAwaited(kind: Kind) async throws {
    let store = try kind.open(path())
    try kind.set("one", in: store)
    try await store.checkpoint()
    try await store.sync()
    #expect(try store.statistics.pendingCount == 0)
    try await store.backup(to: path("copy"))
    try await store.suspend()
    try await store.resume()
    #expect(try kind.text(in: store) == "one")
    try await store.close()
    let copy = try kind.open(path("copy"))
    #expect(try kind.text(in: copy) == "one")
    try await copy.destroy()
    #expect(!FileManager.default.fileExists(atPath: path("copy")))
  }

  /// As it was at that moment, waiting writes and indexes included.
  @Test(arguments: Kind.allCases)
  func aBackupIsAStore(kind: Kind) throws {
    let store = try kind.open(path())
    try kind.set("one", in: store)
    var calls = 0
    try store.backup(to: path("copy")) { _, _ in
      calls += 1
      return true
    }
    try kind.set("two", in: store)
    #expect(errorCode { try store.backup(to: path("copy")) } == .io)
    let copy = try kind.open(path("copy"))
    #expect(try kind.text(in: copy) == "one" && kind.text(in: store) == "two")
    if let archive = copy as? Archive<Note> { #expect(try archive.verify().isIntact) }
    if let cache = copy as? EntryCache<Int> { #expect(try cache.verify().isIntact) }
    #expect(calls > 0)
  }

  @Test(arguments: Kind.allCases, [false, true])
  func whatIsDestroyedIsGoneAndNothingElse(kind: Kind, isSuspended: Bool) throws {
    let store = try kind.open(path())
    try kind.set("one", in: store)
    let foreign = directory.file("store/mine.txt")
    try Data("mine".utf8).write(to: foreign)
    let reader = try kind.open(path(), isReadOnly: true)
    #expect(errorCode { try reader.destroy() } == .readOnly)
    if isSuspended { try store.suspend(calls: .wait) }
    try store.destroy()
    try store.destroy()
    #expect(store.isClosed)
    let rest = try FileManager.default.contentsOfDirectory(atPath: path())
    #expect(rest == ["mine.txt"])
    try FileManager.default.removeItem(at: foreign)
    let next = try kind.open(path())
    #expect(try kind.text(in: next) == nil)
    try next.destroy()
    #expect(!FileManager.default.fileExists(atPath: path()))
  }
}
