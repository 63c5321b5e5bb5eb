// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// A cache over a tier that confirms copies, against what that tier has: at random it is gone, is
/// changed unheard, and the cache is closed and opened again.
@Suite("A model of copies that are confirmed")
struct CacheConfirmationModelTests {
  private final class Model {
    let clock = CacheTestClock()
    let folder: TemporaryDirectory
    let server: FakeTier<String, Int>
    var shared: ConfirmingTier
    var cache: Cache<String, Int>
    var random: SeededGenerator
    var isGone = false
    var confirmed = 0

    init(seed: UInt64) throws {
      folder = try TemporaryDirectory()
      server = FakeTier("shared", clock: clock.clock)
      random = SeededGenerator(seed: seed)
      (shared, cache) = try Self.open(folder, server, clock)
    }

    static func open(
      _ folder: TemporaryDirectory, _ server: FakeTier<String, Int>, _ clock: CacheTestClock
    ) throws -> (ConfirmingTier, Cache<String, Int>) {
      let shared = ConfirmingTier(server, copyLifetime: .seconds(60))
      var configuration = CacheConfiguration<String, Int>()
      configuration.clock = clock.clock
      configuration.memory.countLimit = 8
      configuration.furtherTiers = [shared]
      let cache = try Cache<String, Int>(
        at: .path(folder.file("cache").path), coder: .cbor, keyCoder: .string,
        configuration: configuration)
      return (shared, cache)
    }

    private func heard(_ invalidation: CacheInvalidation<String>) async {
      for next in [invalidation, .keys(["mark"])] {
        let count = cache.statistics.invalidations
        shared.tell(next)
        await until { [cache] in cache.statistics.invalidations > count }
      }
    }

    func step(_ number: Int) async throws {
      let key = "\(Int.random(in: 0..<20, using: &random))"
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<2:
        try? await cache.set(number, forKey: key, expiration: life())
      case 2:
        try? await cache.remove(forKey: key)
      case 3..<6:
        try shared.change(key, Bool.random(using: &random) ? number : nil)
        if !isGone { await heard(.keys([key])) }
      case 6: await toggle()
      case 7 where Int.random(in: 0..<4, using: &random) == 0: try await restart()
      case 8: clock.advance(Double.random(in: 0..<40, using: &random))
      case 9:
        let before = server[key]
        try? await cache.update(forKey: key) { value in
          #expect(value == before)
          value = number
        }
      case 10:
        let before = server[key]
        let found = try await cache.value(forKey: key) { number }
        #expect(found == before || before == nil || isGone)
      case 11:
        let has = try? await cache.contains(key)
        #expect(has == nil || has == (server[key] != nil))
      default: try await read(key)
      }
    }

    private func life() -> Expiration? {
      Bool.random(using: &random) ? nil : .seconds(Double.random(in: 1..<100, using: &random))
    }

    private func read(_ key: String) async throws {
      do {
        let found =
          Bool.random(using: &random)
          ? try await cache.value(forKey: key)
          : try (cache.value(forKey:) as (String) throws -> Int?)(key)
        // What is in memory is of the time before, until the loss is heard.
        #expect(found == server[key], "\(key), seed \(random.seed)")
      } catch {
        #expect(isGone)
      }
    }

    private func toggle() async {
      isGone.toggle()
      shared.setGone(isGone)
      if isGone { await heard(.unconfirmed) }
    }

    private func restart() async throws {
      confirmed += shared.confirmations
      try await cache.close()
      (shared, cache) = try Self.open(folder, server, clock)
      shared.setGone(isGone)
    }
  }

  @Test(arguments: 1...8)
  func noReadFindsWhatTheServerDoesNotHave(_ seed: UInt64) async throws {
    let model = try Model(seed: seed)
    for number in 0..<1500 { try await model.step(number) }
    #expect(model.confirmed + model.shared.confirmations > 20)
    #expect(try await model.cache.diskCache?.verify().isIntact == true)
    try await model.cache.close()
  }
}
