// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The Swift examples of the article on the disk cache.
@Suite("The examples on disk caching") struct DiskCachingExamples {
  private let directory: TemporaryDirectory
  private let folder: URL
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("cache")
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func openAndUse() throws {
    // Example: disk cache
    let pages = try DiskCache<String, Data>(at: .url(folder))
    try pages.set(Data("<h1>Home</h1>".utf8), forKey: "/")
    try pages.set(Data("<h1>News</h1>".utf8), forKey: "/news", expiration: .seconds(60))

    if let page = try pages.value(forKey: "/news") {
      print(page.count)  // 13
    }
    // End of example
    #expect(transcript.lines == ["13"])
    #expect(try pages.count == 2)
  }

  @Test func limits() throws {
    // Example: disk limits
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.countLimit = 100_000
    configuration.sizeLimit = 1.gigabytes
    configuration.freeDiskSpaceLimit = 4 << 30
    configuration.expiration = .seconds(30 * 24 * 3600)
    let images = try DiskCache(at: .url(folder), configuration: configuration)
    // End of example
    try images.set(Data(count: 10), forKey: "a")
    #expect(try images.size == 10)
    #expect(images.sizeLimit == 1.gigabytes)
  }

  @Test func extendedData() throws {
    let pages = try DiskCache<String, Data>(at: .url(folder))
    let body = Data("<h1>Home</h1>".utf8)
    // Example: extended data
    try pages.set(body, forKey: "/", extendedData: Data("etag: 7".utf8))
    let tag = try pages.extendedData(forKey: "/")
    // End of example
    #expect(tag == Data("etag: 7".utf8))
    #expect(try pages.value(forKey: "/") == body)
  }

  @Test func together() throws {
    let accounts = try DiskCache<String, Int>(at: .url(folder))
    try accounts.set(["ada": 10, "grace": 0])
    // Example: disk batch
    try accounts.batch { batch in
      try batch.set(7, forKey: "ada")
      try batch.set(3, forKey: "grace")
      try batch.remove(forKey: "charles")
    }
    // End of example
    #expect(try accounts.values(forKeys: ["ada", "grace"]) == ["ada": 7, "grace": 3])
  }

  @Test func list() throws {
    let pages = try DiskCache<String, Data>(at: .url(folder))
    for path in ["/", "/news/1", "/news/2", "/old"] {
      try pages.set(Data(path.utf8), forKey: path)
    }
    // Example: list on disk
    for entry in try pages.entries(.prefix("/news/"), order: .byKeyDescending, limit: 10) {
      print(entry.key, entry.value.count)
    }
    let removed = try pages.remove(prefix: "/news/")
    // End of example
    #expect(transcript.lines == ["/news/2 7", "/news/1 7"])
    #expect(removed == 2)
    #expect(try pages.keys() == ["/", "/old"])
  }

  @Test func certainty() throws {
    let orders = try DiskCache<Int, String>(at: .url(folder))
    // Example: disk durability
    try orders.set("paid", forKey: 17, durability: .power)

    for number in 18...1000 { try orders.set("new", forKey: number) }
    try orders.sync()
    // End of example
    #expect(try orders.count == 984)
  }

  @Test func readElsewhere() throws {
    let writer = try DiskCache<String, Data>(at: .url(folder))
    try writer.set(Data("seen".utf8), forKey: "key")
    // Example: read-only
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.isReadOnly = true
    let reader = try DiskCache(at: .url(folder), configuration: configuration)
    let value = try reader.value(forKey: "key")
    // End of example
    #expect(value == Data("seen".utf8))
    try writer.set(Data("later".utf8), forKey: "key")
    #expect(try reader.value(forKey: "key") == Data("later".utf8))
  }

  private struct User: Codable, Equatable, Sendable {
    var name: String
  }

  private struct Server {
    func user(_ id: Int) async throws -> User { User(name: "user \(id)") }
  }

  @Test func memoryOverDisk() async throws {
    let server = Server()
    // Example: two tiers
    var configuration = CacheConfiguration<Int, User>()
    configuration.memory.countLimit = 1000
    configuration.disk.sizeLimit = 1.gigabytes
    let users = try Cache<Int, User>(at: .url(folder), configuration: configuration)

    let user = try await users.value(forKey: 7) { try await server.user(7) }
    // End of example
    #expect(user == User(name: "user 7"))
    #expect(users.memoryCache.peek(forKey: 7) == user)
    #expect(try await users.diskCache?.value(forKey: 7) == user)
    try await users.close()
  }

  @Test func checkAndRescue() throws {
    let pages = try DiskCache<String, Data>(at: .url(folder))
    for number in 1...100 { try pages.set(Data(count: 1000), forKey: "key \(number)") }
    let path = folder.path
    let rescuedPath = directory.file("rescued").path
    // Example: verify and salvage
    let report = try pages.verify()
    if !report.isIntact {
      try? pages.close()  // The log keeps what a damaged index cannot take.
      let rescued = try DiskCache<String, Data>.salvage(from: .path(path), to: .path(rescuedPath))
      print("\(rescued.intact) entries are there again.")
    }
    // End of example
    #expect(report.intact == 100)
    #expect(report.damaged == 0)
  }
}
