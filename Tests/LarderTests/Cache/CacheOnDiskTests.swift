// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Memory over a real disk: what RECache's users know, and what it did wrong.
struct CacheOnDiskTests {
  private struct User: Codable, Equatable {
    var name: String
    var born: Date
  }

  private let directory: TemporaryDirectory
  private var path: String { directory.file("users").path }

  init() throws { directory = try TemporaryDirectory() }

  @Test func pathGivesTheNameAndAnEmptyOneIsRefused() throws {
    let cache = try Cache<String, User>(at: .path(path))
    #expect(cache.name == "users")
    #expect(cache.memoryCache.name == "users")
    #expect(cache.diskCache?.path == path)
    #expect(cache.description.hasSuffix(" (users)"))
    #expect(errorCode { try Cache<String, User>(at: "") } == .invalidArgument)
    #expect(errorCode { try Cache<String, User>(at: .named("")) } == .invalidArgument)
    #expect(errorCode { try Cache<String, User>(at: .named("a/b")) } == .invalidArgument)
    #expect(errorCode { try Cache<String, User>(at: .path(path)) } == .busy)
    try cache.close()
    var configuration = CacheConfiguration<String, User>()
    configuration.name = "people"
    #expect(try Cache(at: .path(path), configuration: configuration).name == "people")
  }

  @Test func nameIsAFolderAmongTheUsersCaches() throws {
    let name = "larder-test-\(UUID().uuidString)"
    let cache = try Cache<String, Data>(at: .named(name))
    #expect(cache.name == name)
    let folder = try #require(cache.diskCache?.path)
    defer { try? FileManager.default.removeItem(atPath: folder) }  // It is a test's own.
    try cache.set(Data([1]), forKey: "a")
    try cache.close()
    #expect(folder.hasSuffix("/" + name))
    let again = try Cache<String, Data>(at: .named(name), coder: .data, keyCoder: .string)
    #expect(try again.value(forKey: "a") == Data([1]))
    try again.close()
  }

  @Test func destroyingTakesTheFolder() throws {
    var configuration = CacheConfiguration<String, Data>()
    configuration.keepsHotKeys = true
    let cache = try Cache(at: .path(path), configuration: configuration)
    try cache.set(Data([1]), forKey: "a")
    try cache.destroy()
    #expect(try directory.names == [])
    #expect(errorCode { try cache.value(forKey: "a") } == .closed)
    let next = try Cache(at: .path(path), configuration: configuration)
    try cache.destroy()
    try next.set(Data([2]), forKey: "a")
    #expect(try next.value(forKey: "a") == Data([2]))
    try next.destroy()
    #expect(try directory.names == [])
  }

  @Test func destroyingIsAwaited() async throws {
    let cache = try Cache<String, Data>(at: .path(path))
    try await cache.set(Data([1]), forKey: "a")
    try await cache.destroy()
    #expect(try directory.names == [])
  }

  @Test func valuesAreWhatTheCoderMakes() throws {
    let plain = try Cache<String, Data>(at: .path(directory.file("data").path))
    try plain.set(Data("as it is".utf8), forKey: "k")
    try plain.close()
    let cbor = try Cache<String, User>(at: .path(directory.file("cbor").path))
    let json = try Cache<String, User>(at: .path(directory.file("json").path), coder: .json)
    let list = try Cache<String, User>(at: .path(directory.file("plist").path), coder: .binaryPlist)
    let user = User(name: "Ada", born: Date(timeIntervalSince1970: 1234.5))
    for cache in [cbor, json, list] {
      try cache.set(user, forKey: "ada")
      cache.memoryCache.removeAll()
      #expect(try cache.value(forKey: "ada") == user)
      try cache.close()
    }
    func bytes(_ name: String, _ key: String) throws -> Data? {
      let coder = Coder<Data>(encode: { $0 }, decode: { $0 })
      return try DiskCache<String, Data>(at: .path(directory.file(name).path), coder: coder)
        .value(forKey: key)
    }
    #expect(try bytes("data", "k") == Data("as it is".utf8))
    #expect(try bytes("cbor", "ada") == Coder<User>.cbor.encode(user))
    #expect(try bytes("json", "ada")?.first == UInt8(ascii: "{"))
    #expect(try bytes("plist", "ada")?.starts(with: Data("bplist".utf8)) == true)
    #expect(
      errorCode { try Cache<String, User>(at: .path(directory.file("json").path)) }
        == .configurationMismatch)
  }

  @Test func everythingSurvivesTheCache() async throws {
    let ada = User(name: "Ada", born: Date(timeIntervalSince1970: 0))
    do {
      let cache = try Cache<Int, User>(at: .path(path))
      try await cache.set(ada, forKey: -1, cost: 12, extendedData: Data([7]))
      try await cache.close()
    }
    let cache = try Cache<Int, User>(at: .path(path))
    #expect(cache.memoryCache.isEmpty)
    #expect(try await cache.contains(-1))
    #expect(try await cache.value(forKey: -1) == ada)
    #expect(cache.memoryCache.count == 1)
    // RECache: 0.
    #expect(cache.memoryCache.totalCost == 12)
    #expect(try await cache.extendedData(forKey: -1) == Data([7]))
    #expect(try await cache.diskCache?.extendedData(forKey: -1) == Data([7]))
    try await cache.remove(forKey: -1)
    #expect(try await cache.diskCache?.contains(-1) == false)
    try await cache.close()
  }

  private func read(_ cache: Cache<Int, String>, _ key: Int) throws -> String? {
    try cache.value(forKey: key)
  }

  @Test func aCopyInMemoryEndsWithItsOriginalHoweverLongItTook() async throws {
    let clock = CacheTestClock()
    var configuration = CacheConfiguration<Int, String>()
    configuration.clock = clock.clock
    let slow = Coder<String>(
      encode: { Data($0.utf8) },
      decode: { bytes in
        clock.advance(5)
        return String(decoding: bytes, as: UTF8.self)
      })
    let cache = try Cache<Int, String>(at: .path(path), coder: slow, configuration: configuration)
    for isBlocking in [true, false] {
      try await cache.set("x", forKey: 1, expiration: .seconds(60))
      cache.memoryCache.removeAll()
      clock.advance(50)
      let found = isBlocking ? try read(cache, 1) : try await cache.value(forKey: 1)
      #expect(found == "x" && cache.memoryCache.contains(1))
      clock.advance(5)
      #expect(!cache.memoryCache.contains(1))
      #expect(try await cache.value(forKey: 1) == nil)
    }
    try await cache.close()
  }

  @Test func expirationIsThatOfBothTiersAndCountsFromTheWrite() throws {
    let clock = CacheTestClock()
    var configuration = CacheConfiguration<String, String>()
    configuration.clock = clock.clock
    configuration.expiration = .seconds(100)
    let cache = try Cache(at: .path(path), configuration: configuration)
    #expect(cache.memoryCache.expiration == .seconds(100))
    #expect(cache.diskCache?.expiration == .seconds(100))
    try cache.set("a", forKey: "a")
    try cache.set("b", forKey: "b", expiration: .seconds(1000))
    clock.advance(60)
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: "a") == "a")
    clock.advance(40)
    // RECache counted from the promotion.
    #expect(try cache.value(forKey: "a") == nil)
    #expect(try !cache.contains("a"))
    #expect(try cache.value(forKey: "b") == "b")
    clock.advance(899)
    #expect(try cache.value(forKey: "b") == "b")
    clock.advance(1)
    #expect(try cache.value(forKey: "b") == nil)
    try cache.close()
  }

  @Test func memoryNeverKeepsWhatTheDiskRefuses() throws {
    struct Refusal: Error {}
    let coder = Coder<String>(
      format: "picky",
      encode: { value in
        if value == "refused" { throw Refusal() }
        return Data(value.utf8)
      }, decode: { String(decoding: $0, as: UTF8.self) })
    let cache = try Cache<String, String>(at: .path(path), coder: coder)
    try cache.set("old", forKey: "a")
    for key in ["a", "b"] {
      let failure = error { try cache.set("refused", forKey: key) }
      #expect(failure?.code == .encoding && failure?.cause is Refusal)
    }
    #expect(try cache.value(forKey: "a") == "old")
    #expect(try cache.value(forKey: "b") == nil)
    #expect(cache.memoryCache.peek(forKey: "b") == nil)
    let long = String(repeating: "x", count: 70_000)
    #expect(errorCode { try cache.set("value", forKey: long) } == .tooLarge)
    #expect(cache.memoryCache.peek(forKey: long) == nil)
    try cache.diskCache?.close()
    #expect(errorCode { try cache.set("new", forKey: "a") } == .closed)
    #expect(!cache.memoryCache.contains("a"))
  }

  @Test func whatIsAskedOfTheDiskIsCounted() throws {
    let cache = try Cache<String, String>(at: .path(path))
    try cache.set([("a", "one"), ("b", "two")].map { (key: $0.0, value: $0.1) })
    try cache.set(nil, forKey: "a")
    try cache.remove(forKeys: ["b"])
    let long = String(repeating: "x", count: 70_000)
    #expect(errorCode { try cache.set("value", forKey: long) } == .tooLarge)
    #expect(errorCode { try cache.remove(forKey: long) } == .tooLarge)
    let counted = cache.statistics.tiers[0]
    #expect(counted.writes == 2 && counted.removals == 2 && counted.failures == 2)
    try cache.close()
  }

  @Test func readOnlyDiskRefusesAndMemoryAgrees() throws {
    let writer = try Cache<String, String>(at: .path(path))
    try writer.set("one", forKey: "a")
    var configuration = CacheConfiguration<String, String>()
    configuration.disk.isReadOnly = true
    let reader = try Cache(at: .path(path), configuration: configuration)
    #expect(try reader.value(forKey: "a") == "one")
    #expect(errorCode { try reader.set("two", forKey: "a") } == .readOnly)
    #expect(errorCode { try reader.remove(forKey: "a") } == .readOnly)
    #expect(try reader.value(forKey: "a") == "one")
    try reader.close()
    try writer.close()
  }

  @Test func writeBackReachesTheDiskAtTheLatestWhenItIsClosed() async throws {
    var configuration = CacheConfiguration<Int, String>()
    configuration.writePolicy = .writeBack(queueLimit: 50)
    let cache = try Cache(at: .path(path), configuration: configuration)
    for key in 0..<1000 { try await cache.set("\(key)", forKey: key, cost: key) }
    try await cache.remove(forKey: 0)
    try await cache.close()
    let disk = try DiskCache<Int, String>(at: .path(path))
    #expect(try disk.count == 999)
    #expect(try await disk.value(forKey: 999) == "999")
    #expect(try await disk.value(forKey: 0) == nil)
    try await disk.close()
  }

  @Test(arguments: [("caf\u{E9}/a", "cafe\u{301}/"), ("cafe\u{301}/a", "caf\u{E9}/")])
  func aPrefixInAnotherFormGoesFromBoth(key: String, prefix: String) async throws {
    let cache = try Cache<String, Int>(at: .path(path))
    try await cache.set(1, forKey: key)
    try await cache.set(2, forKey: "cafe")
    #expect(try await cache.remove(prefix: prefix) == 1)
    #expect(try await cache.value(forKey: key) == nil)
    #expect(try await cache.value(forKey: "cafe") == 2)
    try await cache.close()
  }

  @Test func prefixesGoFromBoth() async throws {
    let cache = try Cache<String, Int>(at: .path(path))
    for key in ["a/1", "a/2", "b"] { try await cache.set(1, forKey: key) }
    #expect(try await cache.remove(prefix: "a/") == 2)
    #expect(try cache.diskCache?.count == 1)
    #expect(cache.memoryCache.keys() == ["b"])
    try await cache.removeAll { _, _ in true }
    #expect(try cache.diskCache?.count == 0)
    #expect(cache.memoryCache.isEmpty)
    try await cache.close()
  }

  @Test func furtherTierAnswersWhatTheDiskHasNot() async throws {
    let far = FakeTier<String, String>("far")
    var configuration = CacheConfiguration<String, String>()
    configuration.furtherTiers = [far]
    try far.writeNow(CacheTierEntry(value: "far", cost: 3, extendedData: Data([1])), "a")
    let cache = try Cache(at: .path(path), configuration: configuration)
    #expect(try await cache.value(forKey: "a") == "far")
    #expect(try await cache.diskCache?.value(forKey: "a") == "far")
    #expect(try await cache.diskCache?.extendedData(forKey: "a") == Data([1]))
    #expect(cache.statistics.tiers.map(\.name) == ["users", "far"])
    #expect(cache.statistics.tiers.map(\.promotions) == [1, 0])
    try await cache.set("near", forKey: "b")
    #expect(far["b"] == "near")
    try await cache.close()
  }

  @Test @MainActor func asynchronousCallsLeaveTheCallersThread() async throws {
    // The coder waits for what only the main actor can do: if it were called there, it would
    // wait for ever.
    let isWanted = CacheCounter()
    let isDone = DispatchSemaphore(value: 0)
    let coder = Coder<Int>(
      encode: { value in
        isWanted.add()
        isDone.wait()
        return Data("\(value)".utf8)
      },
      decode: { bytes in
        isWanted.add()
        isDone.wait()
        return Int(String(decoding: bytes, as: UTF8.self)) ?? 0
      })
    let cache = try Cache<Int, Int>(at: .path(path), coder: coder)
    let helper = Task { @MainActor in
      for number in 1...2 {
        await until { isWanted.value >= number }
        isDone.signal()
      }
    }
    try await cache.set(1, forKey: 1)
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: 1) == 1)
    await helper.value
    try await cache.close()
  }
}
