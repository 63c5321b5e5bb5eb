// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// Keys that Swift calls equal are one key, everywhere, whatever their bytes.
enum Equals {
  static let program = Program(
    name: "keys", summary: "equal keys in every store, in memory and on disk", run: run)

  private static let composed = "caf\u{E9}"
  private static let decomposed = "cafe\u{301}"

  struct Place: Codable, Hashable, Sendable {
    var name: String
    var height: Double
  }

  struct Query: Codable, Hashable, Sendable {
    var filters: Set<String>
    var prices: [UInt64: [String]]

    /// The order in memory depends on the room that there was.
    init(_ filters: [String], roomFor count: Int) {
      self.filters = Set(minimumCapacity: count)
      prices = Dictionary(minimumCapacity: count)
      for filter in filters {
        self.filters.insert(filter)
        prices[UInt64(filter.utf8.count)] = [filter]
      }
    }
  }

  private static func run(_ session: Session) throws {
    try pair(session, "text", composed, decomposed, unlike: "cafe")
    try pair(session, "zero", 0.0, -0.0, unlike: 1.0)
    try pair(
      session, "place", Place(name: composed, height: 0.0), Place(name: decomposed, height: -0.0),
      unlike: Place(name: "cafe", height: 0.0))
    let filters = ["a", "new", "size 42", "sale", "in blue or black"]
    try pair(
      session, "query", Query(filters, roomFor: 1), Query(filters.reversed(), roomFor: 300),
      unlike: Query(["new", "sale"], roomFor: 2))
    try notANumber(session)
    try ranges(session)
  }

  private static let promise = "Equal keys are one key"

  /// Each of the two finds, replaces and removes what was stored under the other.
  private static func pair<Key: Hashable & Codable & Sendable>(
    _ session: Session, _ name: String, _ one: Key, _ other: Key, unlike: Key
  ) throws {
    for flushes in [false, true] {
      let what = "\(name)\(flushes ? ", flushed" : "")"
      let disk = try Shelf<Key>.disk(session.path("disk \(what)"))
      try exercise(disk, "DiskCache: \(what)", one, other, unlike, flushes)
      let cache = try Shelf<Key>.cache(session.path("cache \(what)"))
      try exercise(cache, "Cache: \(what)", one, other, unlike, flushes)
      let entries = try Shelf<Key>.entries(session.path("entries \(what)"))
      try exercise(entries, "EntryCache: \(what)", one, other, unlike, flushes)
      let archive = try Shelf<Key>.archive(session.path("archive \(what)"))
      try exercise(archive, "Archive: \(what)", one, other, unlike, flushes)
    }
  }

  private static func exercise<Key: Hashable>(
    _ shelf: Shelf<Key>, _ what: String, _ one: Key, _ other: Key, _ unlike: Key,
    _ flushes: Bool
  ) throws {
    func check(_ key: Key, _ expected: String?, _ moment: String) throws {
      let found = try shelf.value(key)
      expect(
        found == expected, promise,
        "\(what): \(found ?? "nothing") in place of \(expected ?? "nothing"), \(moment)")
    }
    func flush() throws { if flushes { try shelf.checkpoint() } }
    try shelf.set("0", unlike)
    try shelf.set("1", one)
    try flush()
    try check(other, "1", "read by the other")
    try shelf.set("2", other)
    try flush()
    try check(one, "2", "replaced by the other")
    let count = try shelf.count()
    expect(count == 2, promise, "\(what): \(count) entries of 2")
    try shelf.reopen()
    try check(one, "2", "reopened")
    try check(other, "2", "reopened, read by the other")
    try shelf.remove(one)
    try flush()
    try check(other, nil, "removed by the other")
    try check(one, nil, "removed")
    try shelf.set("3", other)
    try shelf.remove(other)
    try check(one, nil, "removed again")
    try check(unlike, "0", "which is another key")
    try shelf.close()
  }

  /// NaN equals not even itself, so nothing could be found under it again.
  private static func notANumber(_ session: Session) throws {
    let shelves: [(String, Shelf<Double>)] = try [
      ("DiskCache", .disk(session.path("nan disk"))),
      ("Cache", .cache(session.path("nan cache"))),
      ("EntryCache", .entries(session.path("nan entries"))),
      ("Archive", .archive(session.path("nan archive"))),
    ]
    for (name, shelf) in shelves {
      for key in [Double.nan, -.nan, .signalingNaN] {
        do {
          try shelf.set("nan", key)
          broken("A key that is not a number is a typed error", "\(name) took it")
        } catch let error as LarderError {
          let isTyped = error.code == .encoding || error.code == .invalidArgument
          expect(isTyped, "A key that is not a number is a typed error", "\(name): \(error)")
        }
      }
      let count = try shelf.count()
      expect(count == 0, "What is refused changes nothing", "\(name) has \(count) entries")
      try shelf.close()
    }
  }

  /// Prefixes and ranges mean what they mean of the keys themselves.
  private static func ranges(_ session: Session) throws {
    let cache = try DiskCache<String, Data>(at: .path(session.path("ranges")))
    for number in 0..<10 { try cache.set(Data(), forKey: "\(composed)/\(number)") }
    let found = try cache.keys(.prefix("\(decomposed)/"))
    expect(found.count == 10, promise, "keys(.prefix): \(found.count) of 10 under an equal prefix")
    let removed = try cache.remove(prefix: "\(decomposed)/")
    expect(removed == 10, promise, "remove(prefix:): \(removed) of 10 under an equal prefix")
    try cache.close()
  }
}

/// Text under keys, in any of the stores.
private final class Shelf<Key: Hashable & Codable & Sendable> {
  var value: (Key) throws -> String? = { _ in nil }
  var set: (String, Key) throws -> Void = { _, _ in }
  var remove: (Key) throws -> Void = { _ in }
  var count: () throws -> Int = { 0 }
  var checkpoint: () throws -> Void = {}
  var close: () throws -> Void = {}
  private let open: (Shelf) throws -> Void

  private init(_ open: @escaping (Shelf) throws -> Void) throws {
    self.open = open
    try open(self)
  }

  func reopen() throws {
    try close()
    try open(self)
  }

  static func disk(_ path: String) throws -> Shelf {
    try Shelf { shelf in
      let cache = try DiskCache<Key, String>(at: .path(path))
      shelf.value = { try cache.value(forKey: $0) }
      shelf.set = { try cache.set($0, forKey: $1) }
      shelf.remove = { try cache.remove(forKey: $0) }
      shelf.count = { try cache.count }
      shelf.checkpoint = { try cache.checkpoint() }
      shelf.close = { try cache.close() }
    }
  }

  static func cache(_ path: String) throws -> Shelf {
    try Shelf { shelf in
      let cache = try Cache<Key, String>(at: .path(path))
      shelf.value = { try cache.value(forKey: $0) }
      shelf.set = { try cache.set($0, forKey: $1) }
      shelf.remove = { try cache.remove(forKey: $0) }
      shelf.count = { try cache.diskCache?.count ?? 0 }
      // A reader finds it on disk then, and not in memory.
      shelf.checkpoint = {
        try cache.diskCache?.checkpoint()
        cache.memoryCache.removeAll()
      }
      shelf.close = { try cache.close() }
    }
  }

  static func entries(_ path: String) throws -> Shelf {
    try Shelf { shelf in
      let cache = try EntryCache<Key>(at: .path(path), valueCount: 1, version: 1)
      shelf.value = { try cache.snapshot(forKey: $0)?.string(at: 0) }
      shelf.set = { try cache.setValues([Data($0.utf8)], forKey: $1) }
      shelf.remove = { try cache.remove(forKey: $0) }
      shelf.count = { try cache.count }
      shelf.checkpoint = { try cache.checkpoint() }
      shelf.close = { try cache.close() }
    }
  }

  static func archive(_ path: String) throws -> Shelf {
    try Shelf { shelf in
      let archive = try Archive<Item<Key>>(at: .path(path))
      shelf.value = { try archive.element(forID: $0)?.text }
      shelf.set = { try archive.upsert(Item(id: $1, text: $0)) }
      shelf.remove = { try archive.delete(id: $0) }
      shelf.count = { try archive.count }
      shelf.checkpoint = { try archive.checkpoint() }
      shelf.close = { try archive.close() }
    }
  }
}

private struct Item<Key: Hashable & Codable & Sendable>: Codable, Identifiable, Sendable {
  var id: Key
  var text: String
}
