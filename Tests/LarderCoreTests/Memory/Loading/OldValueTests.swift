// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Loads that get what there is, in memory alone.
struct OldValueTests {
  private let clock = ManualClock()

  private func load(
    _ cache: MemoryCache<Int, String>, _ body: (OldValue<String>?) throws -> LoadedValue<String>
  ) throws -> String {
    try cache.value(forKey: 1, orLoad: body)
  }

  @Test func oldValueIsRenewedWithItsExtendedData() async throws {
    let ear = Ear<Int, String>()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.refreshAfter = .seconds(10)
      $0.onRemoval = { ear.hear($0) }
    }
    let first = try load(cache) {
      #expect($0 == nil)
      return LoadedValue("one", extendedData: Data([1]), refreshAfter: .seconds(5))
    }
    #expect(first == "one")
    clock.advance(5)
    let second = try load(cache) {
      #expect(
        $0 == OldValue(value: "one", extendedData: Data([1]), refreshAfter: .seconds(5)))
      return $0?.unchanged(extendedData: Data([2])) ?? LoadedValue("lost")
    }
    // As long as before.
    clock.advance(4)
    #expect(try await cache.value(forKey: 1) { _ in LoadedValue("early") } == "one")
    clock.advance(1)
    // In the background.
    let third = try await cache.value(forKey: 1) { old in
      #expect(
        old == OldValue(value: "one", extendedData: Data([2]), refreshAfter: .seconds(5)))
      return LoadedValue("two")
    }
    #expect(second == "one" && third == "one")
    await until { cache.peek(forKey: 1) == "two" }
    clock.advance(10)
    #expect(try load(cache) { LoadedValue("three \($0?.extendedData == nil)") } == "three true")
    // Renewed with other data, it was written again.
    #expect(ear.all.map(\.value) == ["one", "one", "two"])
    #expect(cache.contradiction() == nil)
  }

  /// Or a value that was given a short life would have that of the cache, or none.
  @Test(arguments: [true, false])
  func whatItHadOfItsOwnItHasAgain(isLoaded: Bool) throws {
    let cache = makeCache {
      $0.clock = clock.clock
      $0.expiration = .seconds(1000)
      $0.refreshAfter = .seconds(500)
      $0.staleIfError = .seconds(100)
    }
    if isLoaded {
      _ = try load(cache) { _ in LoadedValue("one", expiration: .seconds(10)) }
    } else {
      cache.set("one", forKey: 1, expiration: .seconds(10))
    }
    for _ in 0..<3 {
      clock.advance(9)
      #expect(cache[1] == "one")
      clock.advance(1)
      #expect(cache[1] == nil)
      let value = try load(cache) { old in
        #expect(old == OldValue(value: "one", expiration: .seconds(10)))
        return try #require(old).unchanged()
      }
      #expect(value == "one")
    }
    // Its own no longer.
    clock.advance(10)
    _ = try load(cache) { try #require($0).unchanged(expiration: .never) }
    clock.advance(499)
    #expect(cache[1] == "one")
    cache[1] = "two"
    clock.advance(999)
    #expect(cache[1] == "two")
    clock.advance(1)
    #expect(cache[1] == nil)
  }

  @Test func expiredValueIsRenewedWhileItIsKept() throws {
    for grace in [Duration.seconds(5), nil] {
      let cache = makeCache {
        $0.clock = clock.clock
        $0.expiration = .seconds(10)
        $0.staleIfError = grace
      }
      cache[1] = "one"
      clock.advance(12)
      let value = try load(cache) { $0?.unchanged() ?? LoadedValue("new") }
      #expect(value == (grace == nil ? "new" : "one") && cache[1] == value)
      clock.advance(9)
      #expect(cache[1] == value && cache.contradiction() == nil)
    }
  }

  @Test func whatIsKeptWithValuesLeavesWithThem() throws {
    // Numbers have nothing to destroy, but what is kept with them has.
    let cache = MemoryCache<Int, Int>(
      {
        var configuration = MemoryCacheConfiguration<Int, Int>()
        configuration.policy = .lru
        configuration.countLimit = 100
        configuration.refreshAfter = .seconds(1000)
        return configuration
      }())
    let data = Data(repeating: 7, count: 100)
    for round in 0..<3 {
      for key in 0..<1000 {
        _ = try cache.value(forKey: key) { LoadedValue(key, extendedData: data) }
        if key % 5 == 0 { cache.remove(forKey: key) }
        if key % 7 == 0 { cache[key] = 1 }
        if key % 11 == 0 { cache.update(forKey: key) { $0 = nil } }
      }
      #expect(cache.count <= 100 && cache.contradiction() == nil)
      if round == 1 { cache.removeAll() }
    }
  }
}
