// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Following what is written to a disk cache. Kills, power cuts and gaps of every kind are for the
/// torture family `feed`.
struct ChangeFeedTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  private typealias Change = DiskCacheChange<Int, String>

  /// What is there to be told now.
  private func events<C>(_ feed: ChangeFeed<C>) throws -> [ChangeEvent<C>] {
    var events: [ChangeEvent<C>] = []
    while let event = try feed.next(timeout: .zero) { events.append(event) }
    return events
  }

  private func changes<C>(_ feed: ChangeFeed<C>) throws -> [[C]] {
    try events(feed).map(\.changes)
  }

  @Test(arguments: [false, true])
  func eachWriteIsToldOnceWholeAndInOrder(isReadOnly: Bool) throws {
    let cache = try place.openText()
    try cache.set("before", forKey: 0)
    let reader = try isReadOnly ? place.openText { $0.isReadOnly = true } : cache
    let feed = try reader.changes()
    try cache.set("a", forKey: 1)
    try cache.batch { batch in
      try batch.set("b", forKey: 2)
      try batch.remove(forKey: 1)
    }
    try cache.removeAll()
    #expect(
      try changes(feed) == [
        [.put(key: 1, value: "a")], [.put(key: 2, value: "b"), .removed(key: 1)], [.removedAll],
      ])
    #expect(try feed.next(timeout: .zero) == nil)
    try cache.set("c", forKey: 3)
    let last = try #require(try feed.next(timeout: nil))
    #expect(last.kind == .changes([.put(key: 3, value: "c")]))
    #expect(try last.version == #require(try cache.info(forKey: 3)).version)
    #expect(last.token.version == last.version)
  }

  /// Of a damaged cursor nobody knows whose it was: any name that is new is told of a gap.
  ///
  /// - Parameter hurt: What becomes of the file.
  private func tellsAGap(_ what: String, _ hurt: (inout Data) -> Void) throws -> Bool {
    let place = try DiskPlace()
    var cache = try place.openText()
    _ = try cache.changes(named: "mirror")
    for n in 1...5 { try cache.set("\(n)", forKey: n) }
    try cache.sync()
    try cache.close()
    let file = place.url.appendingPathComponent("feed")
    var bytes = try Data(contentsOf: file)
    hurt(&bytes)
    try bytes.write(to: file)
    cache = try place.openText()
    var told = try events(cache.changes(named: "mirror"))
    var isGap = false
    if case .gap = told.first?.kind {
      isGap = true
      #expect(told.removeFirst().changes.isEmpty && told.count <= 5, "\(what)")
    } else {
      #expect(told.count == 5, "\(what)")
    }
    try cache.close()
    cache = try place.openText()
    try cache.set("6", forKey: 6, durability: .power)
    told = try events(cache.changes(named: "mirror"))
    #expect(told.last?.changes == [.put(key: 6, value: "6")], "\(what)")
    return isGap
  }

  @Test func aDamagedCursorIsAGap() throws {
    for offset in [256, 288, 292, 303, 0, 7, 8] {
      #expect(try tellsAGap("byte \(offset)") { $0[offset] ^= 1 } == (offset >= 256 || offset == 8))
    }
    // A sector, and what a name and its positions need each.
    for zeros in [0..<512, 256..<384, 288..<304, 304..<368, 0..<4096] {
      #expect(
        try tellsAGap("zeros at \(zeros)") {
          $0.replaceSubrange(zeros, with: Data(count: zeros.count))
        })
    }
  }

  @Test func aCursorThatWasCutOffIsAGap() throws {
    for length in [1, 8, 20, 256, 300, 330] {
      #expect(try tellsAGap("\(length) bytes") { $0 = $0.prefix(length) })
    }
    // One of its two positions, and the other slots.
    for length in [360, 384, 512, 4000, 4080] {
      #expect(try !tellsAGap("\(length) bytes") { $0 = $0.prefix(length) })
    }
  }

  @Test func aFileOfOthersIsNoFeed() throws {
    let cache = try place.openText()
    let file = place.url.appendingPathComponent("feed")
    for bytes in [Data("a diary".utf8), Data(count: 4097)] {
      try bytes.write(to: file)
      #expect(errorCode { try cache.changes(named: "mirror") } == .notALarderFile)
      #expect(try Data(contentsOf: file) == bytes)
    }
  }

  @Test func aTokenThatWasStoredGoesOnWhereItWas() throws {
    var cache = try place.openText()
    let feed = try cache.changes()
    for n in 1...3 { try cache.set("\(n)", forKey: n) }
    let token = try #require(try feed.next(timeout: .zero)).token
    let stored = try JSONEncoder().encode(token)
    try cache.close()
    cache = try place.openText()
    let read = try JSONDecoder().decode(ChangeToken.self, from: stored)
    #expect(read == token)
    let expected: [[Change]] = [[.put(key: 2, value: "2")], [.put(key: 3, value: "3")]]
    #expect(try changes(cache.changes(since: read)) == expected)
    #expect(try changes(cache.changes(since: ChangeToken(data: token.data))) == expected)
  }

  @Test func whatIsNoTokenIsRefused() throws {
    let cache = try place.openText()
    #expect(errorCode { try ChangeToken(data: Data(count: 31)) } == .invalidArgument)
    let none = try ChangeToken(data: Data(count: 32))
    #expect(errorCode { try cache.changes(since: none) } == .invalidArgument)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([ChangeToken].self, from: Data(#"["AAAA"]"#.utf8))
    }
  }

  @Test func theTokenOfAnotherStoreIsAGapOfUnknownLength() throws {
    let cache = try place.openText()
    try cache.set("a", forKey: 1)
    let other = try DiskCache<Int, String>(at: .path(place.directory.file("other").path))
    try other.set("x", forKey: 9)
    let found = try events(cache.changes(since: other.changeLog.now))
    #expect(found.map(\.kind) == [.gap(missing: nil), .changes([.put(key: 1, value: "a")])])
    #expect(found[0].changes.isEmpty)
  }

  @Test func aSnapshotAndTheFeedBehindItAreEverything() throws {
    let cache = try place.openText()
    for n in 1...3 { try cache.set("\(n)", forKey: n) }
    try cache.remove(forKey: 2)
    var mirror: [Int: String] = [:]
    let token = try cache.changeLog.snapshot { change in
      if case .put(let key, let value) = change { mirror[key] = value }
      if mirror.count == 1 { try cache.set("new", forKey: 4) }
    }
    #expect(mirror == [1: "1", 3: "3"])
    let behind = try changes(cache.changes(since: token)).flatMap { $0 }
    #expect(behind.allSatisfy { $0 == .put(key: 4, value: "new") } && !behind.isEmpty)
    #expect(
      errorCode {
        try cache.changeLog.snapshot { _ in throw LarderError(.conflict, "enough") }
      } == .conflict)
  }

  @Test func theOldestWriteComesFirstIfAskedFor() throws {
    let cache = try place.openText()
    try cache.set("a", forKey: 1)
    var options = ChangeFeedOptions()
    options.startsWithOldest = true
    #expect(
      try changes(cache.changeLog.feed(options: options)) == [[.put(key: 1, value: "a")]])
  }

  @Test func aNamedCursorGoesOnBehindWhatWasAcknowledged() throws {
    let cache = try place.openText()
    #expect(try cache.changeLog.cursors.isEmpty)
    let begin = try cache.changeLog.now
    for n in 1...3 { try cache.set("\(n)", forKey: n) }
    try cache.sync()
    try {
      let feed = try cache.changes(since: begin, named: "mirror")
      #expect(errorCode { try cache.changes(named: "mirror") } == .busy)
      let first = try #require(try feed.next(timeout: .zero))
      try feed.acknowledge(first.token, durability: .power)
      #expect(try feed.next(timeout: .zero)?.version == first.version + 1)
      let cursor = try #require(try cache.changeLog.cursors.first)
      #expect(cursor.name == "mirror" && cursor.version == first.version && cursor.lag == 2)
      #expect(cursor.lagSize.bytes > 0 && cursor.maximumLag.bytes == 256 << 20)
      #expect(errorCode { try cache.changeLog.removeCursor(named: "mirror") } == .busy)
    }()
    #expect(
      try changes(cache.changes(named: "mirror"))
        == [[.put(key: 2, value: "2")], [.put(key: 3, value: "3")]])
    #expect(try cache.changeLog.removeCursor(named: "mirror"))
    #expect(try !cache.changeLog.removeCursor(named: "mirror"))
  }

  @Test func aNamedCursorIsToldOnlyWhatIsSyncedUnlessItAsksForMore() throws {
    let cache = try place.openText()
    let feed = try cache.changes(named: "mirror")
    var options = ChangeFeedOptions()
    options.certainty = .written
    let hasty = try cache.changes(named: "hasty", options: options)
    try cache.set("a", forKey: 1)
    #expect(try feed.next(timeout: .zero) == nil)
    #expect(try hasty.next(timeout: .zero) != nil)
    try cache.sync()
    #expect(try feed.next(timeout: .zero) != nil)
  }

  @Test func namesAndLagsThatCannotBeAreRefused() throws {
    let cache = try place.openText()
    #expect(errorCode { try cache.changes(named: "") } == .invalidArgument)
    let long = String(repeating: "n", count: 33)
    #expect(errorCode { try cache.changes(named: long) } == .invalidArgument)
    var options = ChangeFeedOptions()
    options.maximumLag = .zero
    #expect(errorCode { try cache.changes(named: "a", options: options) } == .invalidArgument)
    let feed = try cache.changes()
    #expect(errorCode { try feed.acknowledge(cache.changeLog.now) } == .invalidArgument)
  }

  @Test func aValueThatCannotBeDecodedIsNil() throws {
    let cache = try DiskCache<Int, String>(at: .path(place.path), coder: .json)
    let numbers = try DiskCache<Int, Int>(
      at: .path(place.path), coder: .json,
      configuration: {
        var configuration = DiskCacheConfiguration<Int, Int>()
        configuration.isReadOnly = true
        return configuration
      }())
    let feed = try numbers.changes()
    try cache.set("a", forKey: 1)
    #expect(try changes(feed) == [[.put(key: 1, value: nil)]])
  }

  // MARK: - Waiting

  @Test func aTaskIsToldOfWritesUntilTheCacheIsClosed() async throws {
    let cache = try place.openText()
    let reader = try place.openText { $0.isReadOnly = true }
    let feed = try reader.changes()
    let found = Task {
      var found: [Change] = []
      for try await event in feed {
        found += event.changes
        if found.count == 3 { try await reader.close() }
      }
      return found
    }
    for n in 1...3 { try await cache.set("\(n)", forKey: n) }
    #expect(try await found.value == (1...3).map { .put(key: $0, value: "\($0)") })
    #expect(errorCode { try feed.next(timeout: nil) } == .closed)
  }

  @Test func closingTheCacheEndsAWait() async throws {
    let cache = try place.openText()
    let feed = try cache.changes()
    let wait = Task { for try await _ in feed {} }
    let thread = Thread { #expect(errorCode { try feed.next(timeout: nil) } == .closed) }
    thread.start()
    try await cache.close()
    try await wait.value
    await until { thread.isFinished }
  }

  @Test func cancellingATaskEndsItsWaitAndNoOtherOne() async throws {
    let cache = try place.openText()
    let feed = try cache.changes()
    let wait = Task {
      for try await _ in feed {}
      return Task.isCancelled
    }
    wait.cancel()
    #expect(try await wait.value)
    try await cache.set("a", forKey: 1)
    #expect(try changes(feed) == [[.put(key: 1, value: "a")]])
  }

  @Test func lookingAndAcknowledgingDoNotWaitForATaskThatWaits() async throws {
    let cache = try place.openText()
    let feed = try cache.changes(named: "mirror")
    try await cache.set("a", forKey: 1)
    try await cache.sync()
    let first = try #require(try feed.next(timeout: nil))
    let told = Locked([Change]())
    let threads = (0..<2).map { _ in
      Thread {
        let changes = (try? feed.next(timeout: nil))?.changes ?? []
        told.withLock { $0 += changes }
      }
    }
    for thread in threads { thread.start() }
    let task = Task { try await feed.first { _ in true } }
    for _ in 0..<200 {
      #expect(try feed.next(timeout: .zero) == nil)
      try feed.acknowledge(first.token)
      await Task.yield()
    }
    #expect(try cache.changeLog.cursors.map(\.version) == [first.version])
    for key in 2...4 { try await cache.set("b", forKey: key) }
    try await cache.sync()
    let last = try #require(try await task.value).changes
    await until { threads.allSatisfy(\.isFinished) }
    let all = told.withLock { $0 } + last
    #expect(all.count == 3)
    for key in 2...4 { #expect(all.contains(.put(key: key, value: "b"))) }
  }

  @Test func afterASuspensionItGoesOnBehindItsLastEvent() async throws {
    let cache = try place.openText()
    let reader = try place.openText { $0.isReadOnly = true }
    let feed = try reader.changes()
    try await cache.set("a", forKey: 1)
    #expect(try changes(feed).count == 1)
    try await reader.suspend(calls: .wait)
    let next = Task {
      for try await event in feed { return event.changes }
      return []
    }
    try await cache.set("b", forKey: 2)
    try await reader.resume()
    #expect(try await next.value == [.put(key: 2, value: "b")])
  }

  @Test func anotherProcessIsFollowed() throws {
    guard CProgram.isCompilerThere else { return }
    let cache = try place.openData()
    let reader = try place.openData { $0.isReadOnly = true }
    let feed = try reader.changes()
    try cache.close()
    let writer = try CProgram(Self.writer, usesStore: true).start()
    #expect(try writer.ask(place.path) == "open")
    for n in 0..<20 {
      #expect(try writer.ask("key \(n)") == "0")
      let event = try #require(try feed.next(timeout: .seconds(60)))
      #expect(event.changes == [.put(key: "key \(n)", value: Data("key \(n)".utf8))])
    }
    try writer.end()
  }

  /// Stores each line under itself.
  private static let writer = """
    #include <larder_store.h>
    #include <stdio.h>
    #include <string.h>

    int main(void) {
        char line[4096];
        larder_store *store = NULL;
        while (fgets(line, sizeof line, stdin)) {
            line[strcspn(line, "\\n")] = 0;
            if (!store) {
                larder_status status = larder_store_open(line, NULL, NULL, &store);
                puts(status ? larder_strerror(status) : "open");
            } else {
                larder_store_item item;
                larder_bytes text = {(const uint8_t *)line, strlen(line)};
                larder_store_item_init(&item, text, text);
                printf("%d\\n", (int)larder_store_put(store, &item, NULL));
            }
            fflush(stdout);
        }
        larder_store_close(store);
        return 0;
    }
    """
}
