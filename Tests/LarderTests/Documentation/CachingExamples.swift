// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Synchronization
import Testing

#if LARDER_TSAN
  private typealias Mutex = WatchedMutex
#endif

/// The Swift examples of the article on the memory cache.
@Suite("The examples on caching") struct CachingExamples {
  private let transcript = Transcript()

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func limitByCost() {
    let logo = Data(count: 2000)
    let thumbnail = Data(count: 1000)
    // Example: cost
    var configuration = MemoryCacheConfiguration<String, Data>()
    configuration.costLimit = 64 << 20
    let images = MemoryCache(configuration)

    images["logo"] = logo
    images.set(thumbnail, forKey: "thumbnail", cost: 0)
    images.costLimit = 100  // The logo is larger, and is evicted now.
    // End of example
    #expect(images.keys() == ["thumbnail"])
    #expect(images.totalCost == 0)
  }

  @Test func expirations() throws {
    // Example: expiration
    let sessions = MemoryCache<String, Int>(expiration: .afterAccess(.seconds(1800)))
    sessions["ada"] = 7
    sessions.set(8, forKey: "guest", expiration: .seconds(60))
    sessions.set(
      9, forKey: "job",
      expiration: Expiration(afterWrite: .seconds(3600), afterAccess: .seconds(60)))
    // End of example
    let lives = Dictionary(
      uniqueKeysWithValues: sessions.entries().map { ($0.key, $0.expires?.timeIntervalSinceNow) })
    #expect(lives.count == 3)
    #expect(try #require(lives["ada"] ?? nil) > 1000)
    #expect(try #require(lives["guest"] ?? nil) <= 60)
    #expect(try #require(lives["job"] ?? nil) <= 60)
  }

  @Test func livesOfTheirOwn() throws {
    // Example: lives
    var configuration = MemoryCacheConfiguration<String, Data>()
    configuration.expiration = .seconds(3600).spread(by: 0.1)
    configuration.expirationForEntry = { key, _ in key.hasPrefix("/live") ? .seconds(60) : nil }
    let pages = MemoryCache(configuration)
    // End of example
    pages["/live/1"] = Data()
    pages["/"] = Data()
    let lives = Dictionary(
      uniqueKeysWithValues: pages.entries().map { ($0.key, $0.expires?.timeIntervalSinceNow) })
    #expect(try #require(lives["/live/1"] ?? nil) <= 60)
    #expect(try #require(lives["/"] ?? nil) > 3200)
  }

  @Test func aClockForTests() {
    // Example: clock
    let elapsed = Mutex(Duration.zero)
    var configuration = MemoryCacheConfiguration<String, Int>()
    configuration.expiration = .seconds(60)
    configuration.clock = CacheClock(
      now: { elapsed.withLock { $0 } },
      date: { Date(timeIntervalSince1970: elapsed.withLock { $0 } / .seconds(1)) })
    let cache = MemoryCache(configuration)

    cache["key"] = 1
    elapsed.withLock { $0 = .seconds(59) }
    print(cache["key"] == 1)  // true
    elapsed.withLock { $0 = .seconds(60) }
    print(cache["key"] == nil)  // true
    // End of example
    #expect(transcript.lines == ["true", "true"])
  }

  private struct Database {
    func user(_ id: Int) throws -> String { "user \(id)" }
  }

  private struct Response {
    var body = "news"
    var maximumAge = Duration.seconds(86_400)
    var isPrivate = false
    var etag = Data("7".utf8)
    var isNotModified = false
  }

  private struct Server {
    func user(_ id: Int) async throws -> String { "user \(id)" }
    func users(_ ids: [Int]) async throws -> [Int: String] {
      Dictionary(uniqueKeysWithValues: ids.map { ($0, "user \($0)") })
    }
    func get(_ path: String, ifNoneMatch tag: Data? = nil) async throws -> Response {
      Response(isNotModified: tag == Response().etag)
    }
  }

  @Test func load() throws {
    let users = MemoryCache<Int, String>()
    let database = Database()
    // Example: load
    let user = try users.value(forKey: 7) { try database.user(7) }
    // End of example
    #expect(user == "user 7" && users[7] == "user 7")
    #expect(users.statistics.loads == 1)
  }

  @Test func loadAsynchronously() async throws {
    let users = MemoryCache<Int, String>()
    let server = Server()
    // Example: load asynchronously
    let user = try await users.value(forKey: 8, expiration: .seconds(3600)) {
      try await server.user(8)
    }
    // End of example
    #expect(user == "user 8" && users[8] == "user 8")
    #expect(users.statistics.loads == 1)
  }

  @Test func loadsThatSayHowLong() async throws {
    let pages = MemoryCache<String, String>()
    let server = Server()
    // Example: loaded values
    let page = try await pages.value(forKey: "/news") {
      let response = try await server.get("/news")
      return LoadedValue(
        response.body, expiration: .after(response.maximumAge), isStored: !response.isPrivate)
    }
    // End of example
    let entry = try #require(pages.entries().first)
    #expect(page == "news" && entry.expires != nil)
  }

  @Test func loadsThatAskWhetherTheOldValueIsRight() async throws {
    let folder = try TemporaryDirectory()
    let pages = try Cache<String, String>(at: .path(folder.file("pages").path))
    let server = Server()
    // Example: old values
    let article = try await pages.value(forKey: "/article") { old in
      let response = try await server.get("/article", ifNoneMatch: old?.extendedData)
      if let old, response.isNotModified { return old.unchanged(refreshAfter: response.maximumAge) }
      return LoadedValue(
        response.body, extendedData: response.etag, refreshAfter: response.maximumAge)
    }
    // End of example
    #expect(article == "news")
    #expect(try await pages.extendedData(forKey: "/article") == Response().etag)
    try await pages.close()
  }

  @Test func loadMany() async throws {
    let users = MemoryCache<Int, String>()
    users[7] = "seven"
    let server = Server()
    // Example: load many
    let names = try await users.values(forKeys: [7, 8, 9]) { missing in
      try await server.users(missing)  // Only those that are not there.
    }
    // End of example
    #expect(names == [7: "seven", 8: "user 8", 9: "user 9"])
  }

  @Test func survive() throws {
    // Example: failing loads
    var configuration = MemoryCacheConfiguration<Int, String>()
    configuration.expiration = .seconds(60)
    configuration.staleIfError = .seconds(3600)
    configuration.softLoadTimeout = .milliseconds(200)
    configuration.loadTimeout = .seconds(10)
    let users = MemoryCache(configuration)
    // End of example
    users.set("old", forKey: 7, expiration: .seconds(0))
    #expect(try users.value(forKey: 7) { throw LarderError(.io, "") } == "old")
  }

  @Test func changeInPlace() {
    let counters = MemoryCache<String, Int>()
    counters["home"] = 2
    // Example: update
    let visits = counters.update(forKey: "home") { count in
      count = (count ?? 0) + 1
      return count
    }
    // End of example
    #expect(visits == 3)
    #expect(counters["home"] == 3)
  }

  @Test func manyKeys() {
    let cache = MemoryCache<String, Int>()
    // Example: batches
    cache.set(["a": 1, "b": 2, "c": 3])
    print(cache.values(forKeys: ["a", "c", "d"]).count)  // 2
    cache.removeAll { key, value in value > 1 }
    print(cache.keys())  // ["a"]
    // End of example
    #expect(transcript.lines == ["2", #"["a"]"#])
  }

  @Test func entriesInOrder() {
    let cache = MemoryCache<String, Int>(policy: .lru, countLimit: 3)
    for (number, key) in ["a", "b", "c"].enumerated() {
      cache.set(number, forKey: key, cost: 10 * number)
    }
    _ = cache["a"]
    // Example: list
    for entry in cache.entries(.leastRecentFirst, limit: 2) {
      print(entry.key, entry.value, entry.cost)
    }
    // End of example
    #expect(transcript.lines == ["b 1 10", "c 2 20"])
  }

  @Test func figures() {
    let cache = MemoryCache<String, Int>(policy: .lru, countLimit: 2)
    for key in ["a", "b", "c"] { cache[key] = 1 }
    for key in ["a", "b", "c"] { _ = cache[key] }
    // Example: statistics
    let statistics = cache.statistics
    print(statistics.hits, statistics.misses, statistics.evictions)  // 2 1 1
    // End of example
    #expect(transcript.lines == ["2 1 1"])
    #expect(statistics.memoryBytes > 0)
  }

  @Test func hearWhatLeaves() async {
    let transcript = transcript
    @Sendable func print(_ items: Any...) { transcript.add(items) }
    // Example: removals
    var configuration = MemoryCacheConfiguration<String, Int>()
    configuration.countLimit = 1
    configuration.policy = .lru
    configuration.onRemoval = { print($0.key, $0.cause) }  // a evictedForCount
    let cache = MemoryCache(configuration)
    let removals = cache.removals

    cache["a"] = 1
    cache["b"] = 2
    for await removal in removals {
      print(removal.value, removal.lost)  // 1 0
      break
    }
    // End of example
    #expect(transcript.lines == ["a evictedForCount", "1 0"])
  }
}
