// SPDX-License-Identifier: MIT

import Foundation
import Larder
import Testing

/// A store that is filled with one checkpoint. Every one is opened with the defaults, but for what
/// would have another checkpoint come first.
protocol GrowingStore {
  /// Writes so many entries, and flushes.
  func fill(_ count: Int) throws
  /// Finds all of them, by all there is to find them by.
  func expect(_ count: Int) throws
  var isSound: Bool { get throws }
  func close() throws
}

extension GrowingStore {
  /// As an address on the web.
  func key(_ number: Int) -> String {
    "https://images.example.org/thumbnails/" + String(repeating: "x", count: 250) + "/\(number)"
  }

  /// Enough of so many to look at one by one, the last one among them.
  func sample(_ count: Int) -> StrideThrough<Int> {
    stride(from: count - 1, through: 0, by: -(count / 2000 + 1))
  }
}

struct GrowingCache: GrowingStore {
  let cache: DiskCache<String, Data>

  init(path: String, isReadOnly: Bool) throws {
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.checkpointInterval = .zero
    configuration.journalCapacity = 4 << 30
    configuration.isReadOnly = isReadOnly
    cache = try DiskCache(at: .path(path), configuration: configuration)
  }

  func fill(_ count: Int) throws {
    for number in 0..<count { try cache.set(Data("\(number)".utf8), forKey: key(number)) }
    try cache.checkpoint()
  }

  func expect(_ count: Int) throws {
    #expect(try cache.count == count)
    for number in sample(count) {
      #expect(try cache.value(forKey: key(number)) == Data("\(number)".utf8))
    }
  }

  var isSound: Bool { get throws { try cache.verify().isIntact } }
  func close() throws { try cache.close() }
}

struct GrowingEntryCache: GrowingStore {
  let cache: EntryCache<String>

  init(path: String, isReadOnly: Bool) throws {
    var configuration = EntryCacheConfiguration()
    configuration.checkpointInterval = .zero
    configuration.journalCapacity = 4 << 30
    configuration.isReadOnly = isReadOnly
    cache = try EntryCache(
      at: .path(path), valueCount: 2, keyCoder: .string, configuration: configuration)
  }

  func fill(_ count: Int) throws {
    for number in 0..<count {
      try cache.setValues([Data("head".utf8), Data("\(number)".utf8)], forKey: key(number))
    }
    try cache.checkpoint()
  }

  func expect(_ count: Int) throws {
    #expect(try cache.count == count)
    for number in sample(count) {
      #expect(try cache.snapshot(forKey: key(number))?.string(at: 1) == "\(number)")
    }
  }

  var isSound: Bool { get throws { try cache.verify().isIntact } }
  func close() throws { try cache.close() }
}

/// An element with four things to find it by.
struct GrowingElement: Codable, Identifiable, Equatable, Sendable {
  let id: Int
  let number: Int
  let path, title, author: String

  init(_ id: Int, _ key: String) {
    self.id = id
    number = -id
    path = key
    title = "About " + key
    author = "By " + key
  }
}

struct GrowingArchive: GrowingStore {
  let archive: Archive<GrowingElement>
  let indexes: Int

  init(path: String, isReadOnly: Bool, indexes: Int) throws {
    var configuration = ArchiveConfiguration()
    configuration.checkpointInterval = .zero
    configuration.journalCapacity = 4 << 30
    configuration.isReadOnly = isReadOnly
    let all: [ArchiveIndex<GrowingElement>] = [
      ArchiveIndex("path", \.path), ArchiveIndex("title", \.title),
      ArchiveIndex("author", \.author), ArchiveIndex("number", \.number),
    ]
    self.indexes = indexes
    archive = try Archive(
      at: .path(path), indexes: Array(all.prefix(indexes)), configuration: configuration)
  }

  private func element(_ number: Int) -> GrowingElement { GrowingElement(number, key(number)) }

  func fill(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 1000) {
      try archive.upsert(all: (start..<min(count, start + 1000)).map(element))
    }
    try archive.checkpoint()
  }

  func expect(_ count: Int) throws {
    #expect(try archive.query.count() == count)
    for number in sample(count) {
      #expect(try archive.element(forID: number) == element(number))
    }
    let queries: [@Sendable (GrowingElement) -> ArchiveQuery<GrowingElement>] = [
      { [archive] wanted in archive.where { $0.path == wanted.path } },
      { [archive] wanted in archive.where { $0.title == wanted.title } },
      { [archive] wanted in archive.where { $0.author == wanted.author } },
      { [archive] wanted in archive.where { $0.number == wanted.number } },
    ]
    for number in [0, count / 2, count - 1] {
      let wanted = element(number)
      for query in queries.prefix(indexes) {
        #expect(try query(wanted).results() == [wanted])
      }
    }
  }

  var isSound: Bool { get throws { try archive.verify().isIntact } }
  func close() throws { try archive.close() }
}
