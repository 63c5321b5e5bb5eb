// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Following what is written to caches of entries and to archives.
struct OtherChangeFeedTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func changes<C>(_ feed: ChangeFeed<C>) throws -> [[C]] {
    var changes: [[C]] = []
    while let event = try feed.next(timeout: .zero) { changes.append(event.changes) }
    return changes
  }

  @Test func entriesAreToldWithTheirValues() throws {
    let cache = try EntryCache<String>(
      at: .path(directory.file("entries").path), valueCount: 2, keyCoder: .string)
    let feed = try cache.changes()
    let values = [Data("head".utf8), Data()]
    try cache.setValues(values, forKey: "a")
    try cache.remove(forKey: "a")
    try cache.removeAll()
    #expect(
      try changes(feed) == [
        [.put(key: "a", values: values)], [.removed(key: "a")], [.removedAll],
      ])
    try cache.setValues(values, forKey: "b")
    var found: [EntryCacheChange<String>] = []
    let token = try cache.changeLog.snapshot { found.append($0) }
    #expect(found == [.put(key: "b", values: values)])
    #expect(try changes(cache.changes(since: token)).isEmpty)
  }

  private struct Book: Codable, Identifiable, Sendable, Equatable {
    var id: Int
    var title: String
  }

  @Test func elementsAreToldByTheirPrimaryKeys() throws {
    let books = try Archive<Book>(
      at: .path(directory.file("books").path), indexes: [ArchiveIndex("title", \.title)])
    let feed = try books.changes()
    var log = books.changeLog
    #expect(try log.cursors.isEmpty)
    let book = Book(id: 1, title: "Leviathan")
    try books.upsert(book)
    try books.delete(id: 1)
    try books.deleteAll()
    #expect(
      try changes(feed) == [
        [.upserted(id: 1, element: book)], [.removed(id: 1)], [.removedAll],
      ])
    try books.upsert(book)
    log = books.changeLog
    var found: [ArchiveChange<Book>] = []
    let token = try log.snapshot { found.append($0) }
    #expect(found == [.upserted(id: 1, element: book)])
    #expect(try token.version == log.now.version)
  }
}
