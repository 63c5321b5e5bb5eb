// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

#if canImport(UIKit)
  import UIKit
#elseif canImport(AppKit)
  import AppKit
#endif

/// The code of the page "Coming from RECache and YYCache": its example, and every cell of its
/// tables.
@Suite("Coming from RECache and YYCache") struct ComingFromRECacheExamples {
  private let directory: TemporaryDirectory
  private let path: String
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("users").path
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  private struct User: Codable, Equatable, Sendable {
    var name: String
  }

  private let user = User(name: "Ada")

  @Test func theSameProgram() async throws {
    // Example: from RECache
    let cache = try Cache<String, User>(at: .path(path))
    cache.memoryCache.countLimit = 1000
    cache.diskCache?.sizeLimit = 1.gigabytes

    try await cache.set(User(name: "Ada"), forKey: "ada", expiration: .days(7))
    if let user = try await cache.value(forKey: "ada") {
      print(user.name)  // Ada
    }
    // End of example
    #expect(transcript.lines == ["Ada"])
  }

  @Test func opening() throws {
    let name = "larder-tests-\(UUID().uuidString)"
    let configuration = CacheConfiguration<String, User>()
    let named = try Cache<String, User>(at: .named(name), configuration: configuration)
    let folder = try #require(named.diskCache?.directoryURL)
    defer { try? FileManager.default.removeItem(at: folder) }  // Nothing depends on it.
    #expect(named.name == name)
    let json = try Cache<String, User>(at: .path(path), coder: .json)
    try json.set(user, forKey: "ada")
    #expect(try json.value(forKey: "ada") == user)
    let plist = try DiskCache<String, User>(
      at: .path(directory.file("plist").path), coder: .binaryPlist)
    try plist.set(user, forKey: "ada")
    #expect(try plist.value(forKey: "ada") == user)
    let data = try DiskCache<String, Data>(at: .path(directory.file("data").path), coder: .data)
    try data.set(Data(), forKey: "")
    #expect(try data.value(forKey: "") == Data())
    let coder = Coder<Int>(
      encode: { Data(String($0).utf8) },
      decode: { Int(String(decoding: $0, as: UTF8.self)) ?? 0 })
    let own = try DiskCache<Int, Int>(at: .path(directory.file("own").path), coder: coder)
    try own.set(7, forKey: 1)
    #expect(try own.value(forKey: 1) == 7)
    #if canImport(UIKit) || canImport(AppKit)
      #expect(Coder.image(jpegCompressionQuality: 0.9).format == "image")
    #endif
  }

  @Test func bothTiers() throws {
    let cache = try Cache<String, User>(at: .path(path))
    let extendedData = Data("etag: 7".utf8)
    try cache.set(user, forKey: "ada", cost: 10, extendedData: extendedData)
    try cache.set(nil, forKey: "grace")
    #expect(try cache.contains("ada"))
    #expect(try cache.extendedData(forKey: "ada") == extendedData)
    let found = try cache.valueWithExtendedData(forKey: "ada")
    #expect(found?.value == user && found?.extendedData == extendedData)
    try cache.remove(forKey: "ada")
    try cache.removeAll { done, total in done <= total }
    try cache.removeAll()
    #expect(cache.description.contains("users"))
  }

  @Test func memory() async throws {
    let memory = MemoryCache<String, User>(policy: .lru, countLimit: 1000, costLimit: 64 << 20)
    memory.set(user, forKey: "ada", cost: 100)
    memory["grace"] = User(name: "Grace")
    #expect(memory.count == 2 && memory.totalCost > 100)
    memory.countLimit = 100
    memory.costLimit = 1 << 20
    memory.expiration = .seconds(300)
    memory.autoTrimInterval = .seconds(5)
    memory.trim(toCount: 10)
    memory.trim(toCost: 50)
    memory.removeExpired()
    memory.remove(forKey: "grace")
    #expect(memory.peek(forKey: "ada") == nil && memory.keys().isEmpty)
    memory.set(user, forKey: "ada", expiration: Expiration(afterAccess: .seconds(60)))
    memory.pin("ada")
    memory.removeAll()
    var configuration = MemoryCacheConfiguration<String, User>()
    configuration.removesAllOnMemoryWarning = false
    configuration.removesAllInBackground = false
    configuration.onMemoryWarning = { $0.trim(toCount: 10) }
    configuration.onEnterBackground = { $0.trim(toCount: 10) }
    configuration.releasesOnMainThread = false
    configuration.releasesAsynchronously = true
    configuration.onRemoval = { _ in }
    let other = MemoryCache(configuration)
    let user = user
    #expect(try await other.value(forKey: "ada") { user } == user)
  }

  @Test func disk() async throws {
    var configuration = DiskCacheConfiguration<String, User>()
    configuration.inlineThreshold = 20 << 10
    configuration.autoTrimInterval = .seconds(60)
    configuration.freeDiskSpaceLimit = 1 << 20
    configuration.fileNameProvider = { "\($0).cbor" }
    let disk = try DiskCache<String, User>(at: .path(path), configuration: configuration)
    try await disk.set(["ada": user, "grace": User(name: "Grace")])
    disk.countLimit = 1000
    disk.sizeLimit = 1.gigabytes
    disk.expiration = .days(30)
    #expect(try disk.count == 2 && disk.size > 0)
    let file = try await disk.exportValue(forKey: "ada", to: directory.url)
    #expect(file?.lastPathComponent == "ada.cbor")
    try await disk.removeExpired()
    try await disk.trim(toCount: 10)
    try await disk.trim(toSize: 1.megabytes)
    #expect(try await disk.trim(toCount: 1) == 1)
    #expect(try disk.statistics.damaged == 0)
    try await disk.removeAll { done, total in done <= total }
  }

  @Test func whatTheStorageHad() throws {
    let disk = try DiskCache<String, Data>(at: .path(path), coder: .data)
    let hour = Date(timeIntervalSinceNow: -3600)
    try disk.set(["a": Data(count: 10), "b": Data(count: 2000), "c": Data(count: 30)])
    #expect(try disk.values(forKeys: ["a", "b"]).count == 2)
    #expect(try disk.info(forKey: "a")?.size == 10)
    #expect(try disk.infos(limit: 10).count == 3)
    #expect(try disk.entries(.prefix("a"), order: .byKey).count == 1)
    #expect(try disk.keys(order: .leastRecentFirst).count == 3)
    #expect(try disk.removeAll { $0.size > 1000 } == 1)
    #expect(try disk.removeAll { $0.written < hour } == 0)
    try disk.remove(forKeys: ["a", "b"])
    #expect(try disk.count == 1)
  }
}
