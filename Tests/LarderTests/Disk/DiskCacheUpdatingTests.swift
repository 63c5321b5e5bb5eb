// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Changes of one key: updates, and stores that compare first.
struct DiskCacheUpdatingTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test func anUpdateStartsFromWhatIsThere() throws {
    let cache = try place.open(String.self, coder: Coder<Int>.cbor)
    for _ in 0..<3 { try cache.update(forKey: "n") { $0 = ($0 ?? 0) + 1 } }
    #expect(try cache.value(forKey: "n") == 3)
    let old = try cache.update(forKey: "n") { value in
      defer { value = nil }
      return value
    }
    #expect(old == 3)
    #expect(try !cache.contains("n"))
    try cache.update(forKey: "n", expiration: .seconds(5)) { $0 = 1 }
    place.clock.advance(5)
    try cache.update(forKey: "n") { value in
      #expect(value == nil)
      value = 9
    }
    #expect(try cache.value(forKey: "n") == 9)
  }

  @Test func updatesOfManyThreadsAllCount() throws {
    let cache = try place.open(String.self, coder: Coder<Int>.cbor)
    onDiskThreads(4) { _ in
      do {
        for _ in 0..<250 { try cache.update(forKey: "n") { $0 = ($0 ?? 0) + 1 } }
      } catch { Issue.record(error) }
    }
    #expect(try cache.value(forKey: "n") == 1000)
  }

  @Test func comparingByVersionStoresOnlyIfNobodyDid() throws {
    let cache = try place.openText()
    #expect(try cache.compareAndSet("a", forKey: 1, version: nil))
    #expect(try !cache.compareAndSet("b", forKey: 1, version: nil))
    let found = try #require(try cache.versionedValue(forKey: 1))
    #expect(found.value == "a")
    #expect(try cache.info(forKey: 1)?.version == found.version)
    try cache.checkpoint()
    #expect(try cache.compareAndSet("c", forKey: 1, version: found.version))
    #expect(try !cache.compareAndSet("d", forKey: 1, version: found.version))
    #expect(try cache.value(forKey: 1) == "c")
    let last = try #require(try cache.versionedValue(forKey: 1)).version
    #expect(try cache.compareAndSet(nil, forKey: 1, version: last))
    #expect(try !cache.contains(1))
    #expect(try cache.compareAndSet("e", forKey: 1, version: nil))
  }

  @Test func comparingByValueStoresOnlyIfItIsThat() throws {
    let cache = try place.openText()
    #expect(try cache.compareAndSet("a", forKey: 1, expected: nil))
    #expect(try !cache.compareAndSet("b", forKey: 1, expected: nil))
    #expect(try !cache.compareAndSet("b", forKey: 1, expected: "x"))
    #expect(try cache.compareAndSet("b", forKey: 1, expected: "a"))
    #expect(try cache.compareAndSet(nil, forKey: 1, expected: "b"))
    #expect(try cache.isEmpty)
  }

  @Test func anExpiredEntryIsNoneForAComparison() throws {
    let cache = try place.openText()
    try cache.set("old", forKey: 1, expiration: .seconds(1))
    try cache.checkpoint()
    place.clock.advance(1)
    #expect(try cache.compareAndSet("new", forKey: 1, expected: nil))
    #expect(try cache.value(forKey: 1) == "new")
  }

  @Test func ofManyThreadsThatCompareOneWinsEachRound() throws {
    let cache = try place.open(String.self, coder: Coder<Int>.cbor)
    try cache.set(0, forKey: "round")
    let wins = Locked(0)
    onDiskThreads(4) { _ in
      do {
        for round in 0..<200 {
          if try cache.compareAndSet(round + 1, forKey: "round", expected: round) {
            wins.withLock { $0 += 1 }
          }
          while try cache.value(forKey: "round") ?? 0 <= round {}
        }
      } catch { Issue.record(error) }
    }
    #expect(wins.withLock { $0 } == 200)
  }
}
