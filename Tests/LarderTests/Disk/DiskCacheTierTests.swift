// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// What a cache of several tiers gets of the one on disk.
struct DiskCacheTierTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test(arguments: [nil, 0, 1, 1 << 40, Int.max] as [Int?])
  func aCostComesBack(cost: Int?) throws {
    let cache = try place.openText()
    try cache.setTier(CacheTierEntry(value: "one", cost: cost), 1, nil)
    for _ in 0..<2 {
      #expect(try cache.tierEntry(forKey: 1)?.cost == cost)
      #expect(try cache.info(forKey: 1)?.cost == cost)
      try cache.checkpoint()
    }
    try cache.set("one", forKey: 1)
    #expect(try cache.tierEntry(forKey: 1)?.cost == nil)
  }

  @Test func theLifeIsWhatIsLeftOfIt() throws {
    let cache = try place.openText { $0.expiration = .seconds(60) }
    try cache.set("default", forKey: 1)
    try cache.set("own", forKey: 2, expiration: .seconds(600))
    try cache.set("ever", forKey: 3, expiration: .never)
    try cache.set("idle", forKey: 4, expiration: .afterAccess(.seconds(30)))
    try cache.set("date", forKey: 5, expiration: .date(place.clock.date + 40))
    let start = place.clock.date
    place.clock.advance(10)
    let lives = try (1...5).map { try cache.tierEntry(forKey: $0)?.expiration }
    #expect(lives[0] == .date(start + 60))
    #expect(lives[1] == .date(start + 600))
    #expect(lives[2] == .never)
    #expect(lives[3]?.afterAccess == .seconds(30))
    #expect(lives[4] == .date(start + 40))
    place.clock.advance(50)
    #expect(try cache.tierEntry(forKey: 1) == nil)
  }

  @Test func aTierEntryHasItsExtendedData() throws {
    let cache = try place.openText()
    let stored = CacheTierEntry(
      value: "one", cost: 5, extendedData: Data([1]), expiration: .seconds(5))
    try cache.setTier(stored, 1, .power)
    let entry = try #require(try cache.tierEntry(forKey: 1))
    #expect(entry.value == "one" && entry.extendedData == Data([1]))
    #expect(try cache.extendedData(forKey: 1) == Data([1]))
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
  }

  @Test func aCacheCanBeOpenedOnAnotherThread() async throws {
    let place = place
    let cache = try await DiskCache<Int, String>.opening { try place.openText() }
    try await cache.set("one", forKey: 1)
    #expect(try await cache.value(forKey: 1) == "one")
  }
}
