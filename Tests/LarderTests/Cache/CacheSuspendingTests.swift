// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// A cache whose disk is suspended: memory goes on, and nothing is lost or out of date.
struct CacheSuspendingTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("cache").path }

  private func open(_ policy: CacheWritePolicy = .writeThrough) throws -> Cache<Int, String> {
    var configuration = CacheConfiguration<Int, String>()
    configuration.writePolicy = policy
    return try Cache(at: .path(path), coder: .string, configuration: configuration)
  }

  private func visit<R>(_ body: (DiskCache<Int, String>) async throws -> R) async throws -> R {
    let path = path
    let visitor = try await DiskCache<Int, String>.opening {
      try DiskCache(at: .path(path), coder: .string)
    }
    let result = try await body(visitor)
    try await visitor.close()
    return result
  }

  @Test func memoryGoesOnAndTheDiskDoesNot() async throws {
    let cache = try open()
    try await cache.set("one", forKey: 1)
    try await cache.suspend()
    #expect(cache.isSuspended && cache.diskCache?.isSuspended == true)
    #expect(filesHeld(under: directory.url) == [])
    #expect(try await cache.value(forKey: 1) == "one")
    await #expect(throws: LarderError.self) { try await cache.value(forKey: 2) }
    await #expect(throws: LarderError.self) { try await cache.set("two", forKey: 2) }
    #expect(try await cache.value(forKey: 3) { "loaded" } == "loaded")
    try await visit { try await $0.set("visitor", forKey: 5) }
    try await cache.resume()
    try await cache.set("two", forKey: 2)
    #expect(try await cache.value(forKey: 5) == "visitor")
    try await cache.close()
  }

  @Test func memoryIsEmptiedIfOthersWrote() async throws {
    let cache = try open()
    try await cache.set("one", forKey: 1)
    try await cache.suspend()
    try await cache.resume()
    #expect(cache.memoryCache.count == 1)
    try await cache.suspend()
    try await visit { try await $0.set("visitor", forKey: 1) }
    try await cache.resume()
    #expect(try await cache.value(forKey: 1) == "visitor")
  }

  @Test func blockingCallsDoTheSame() throws {
    let cache = try open()
    try cache.set("one", forKey: 1)
    try cache.suspend()
    #expect(errorCode { try cache.value(forKey: 2) } == .suspended)
    try cache.resume()
    #expect(try cache.value(forKey: 1) == "one")
  }

  @Test func whatWaitsIsFlushedBeforeAndAfter() async throws {
    let cache = try open(.writeBack(queueLimit: 100))
    for key in 0..<10 { try await cache.set("\(key)", forKey: key) }
    try await cache.suspend()
    #expect(cache.statistics.pendingWrites == 0)
    try await cache.set("later", forKey: 1)
    #expect(cache.statistics.pendingWrites == 1)
    #expect(try await cache.value(forKey: 1) == "later")
    #expect(try await visit { try await $0.value(forKey: 1) } == "1")
    try await cache.resume()
    try await cache.checkpoint()
    try await cache.close()
    #expect(try await visit { try await $0.value(forKey: 1) } == "later")
  }

  @Test func aCacheWithWritesWaitingIsNotClosed() async throws {
    let cache = try open(.writeBack(queueLimit: 100))
    try await cache.suspend()
    try await cache.set("one", forKey: 1)
    await #expect(throws: LarderError.self) { try await cache.close() }
    try await cache.resume()
    try await cache.close()
    #expect(try await visit { try await $0.value(forKey: 1) } == "one")
  }

  @Test func whatCannotBeResumedStaysSuspended() async throws {
    let cache = try open()
    try await cache.set("one", forKey: 1)
    try await cache.suspend()
    try await visit { _ in
      await #expect(throws: LarderError.self) { try await cache.resume() }
      #expect(cache.isSuspended)
    }
    try await cache.resume()
    try await cache.set("two", forKey: 2)
  }

  @Test func tiersOfOthersAreSuspendedToo() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    try await cache.suspend(calls: .wait)
    try await cache.suspend(calls: .fail)
    try await cache.resume()
    try await cache.resume()
    #expect(tier.suspensions == [.wait, nil])
    try await cache.close()
    await #expect(throws: LarderError.self) { try await cache.suspend() }
    await #expect(throws: LarderError.self) { try await cache.resume() }
  }
}
