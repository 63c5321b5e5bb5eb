// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Loads that say what becomes of their value.
struct LoadedValueTests {
  private let clock = ManualClock()

  private func make(
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> MemoryCache<Int, String> {
    makeCache {
      $0.clock = clock.clock
      change(&$0)
    }
  }

  @Test func loadSaysWhatItsValueCostsAndHowLongItLives() async throws {
    for isAsync in [false, true] {
      let cache = make { $0.expiration = .seconds(100) }
      if isAsync {
        let value = try await cache.value(forKey: 1) {
          LoadedValue("one", cost: 7, expiration: .seconds(5))
        }
        #expect(value == "one")
      } else {
        #expect(
          try blocking(cache) { LoadedValue("one", cost: 7, expiration: .seconds(5)) } == "one")
      }
      #expect(cache.totalCost == 7)
      clock.advance(4.999)
      #expect(cache.peek(forKey: 1) == "one")
      clock.advance(0.001)
      #expect(cache.peek(forKey: 1) == nil)
      // One that says nothing lives as others do.
      #expect(try blocking(cache) { LoadedValue("two") } == "two")
      clock.advance(99.999)
      #expect(cache.peek(forKey: 1) == "two")
      clock.advance(0.001)
      #expect(cache.peek(forKey: 1) == nil)
    }
  }

  private func blocking(
    _ cache: MemoryCache<Int, String>, _ load: () throws -> LoadedValue<String>
  ) throws -> String {
    try cache.value(forKey: 1, orLoad: load)
  }

  @Test func whatIsNotStoredGoesToThoseWhoWaitAlone() async throws {
    let cache = make()
    let door = Door()
    let tasks = (0..<5).map { _ in
      Task {
        try await cache.value(forKey: 1) {
          await door.pass()
          return LoadedValue("secret", isStored: false)
        }
      }
    }
    await until { cache.statistics.misses == 5 && cache.statistics.sharedLoads == 4 }
    door.open()
    for task in tasks { #expect(try await task.value == "secret") }
    #expect(cache.isEmpty)
    #expect(cache.statistics.loads == 1)
    #expect(try blocking(cache) { LoadedValue("open") } == "open")
  }

  @Test func refreshThatIsNotStoredRemovesTheOldValue() async throws {
    let ear = Ear<Int, String>()
    let cache = make {
      $0.refreshAfter = .seconds(10)
      $0.onRemoval = { ear.hear($0) }
    }
    cache.fill([1])
    clock.advance(10)
    #expect(try blocking(cache) { LoadedValue("new", isStored: false) } == "new")
    #expect(cache.isEmpty)
    cache.fill([1])
    clock.advance(10)
    let old = try await cache.value(forKey: 1) { LoadedValue("new", isStored: false) }
    #expect(old == "1")
    await until { cache.isEmpty }
    #expect(ear.gone == [Gone(1, .removed), Gone(1, .removed)])
  }

  @Test func closuresThatOnlyThrowFit() async {
    let cache = make()
    #expect(throws: Failure()) { try cache.value(forKey: 1) { throw Failure() } }
    await #expect(throws: Failure()) { try await cache.value(forKey: 1) { throw Failure() } }
    #expect(throws: Failure()) { try cache.values(forKeys: [1]) { _ in throw Failure() } }
    await #expect(throws: Failure()) {
      try await cache.values(forKeys: [1]) { _ in throw Failure() }
    }
    #expect(cache.statistics.loadFailures == 4)
  }

  @Test func expirationIsMadeOfKeyAndValue() throws {
    let cache = make {
      $0.expiration = .seconds(100)
      $0.expirationForEntry = { key, value in
        key < 0 ? nil : .seconds(Double(key) + Double(value.count))
      }
    }
    func end(_ key: Int) -> Double? {
      cache.entries().first { $0.key == key }?.expires.map { $0.timeIntervalSince(clock.date) }
    }
    cache.set("aa", forKey: 1)
    cache.set([(key: 2, value: "aa"), (key: -1, value: "")])
    cache.update(forKey: 3) { $0 = "aa" }
    _ = try cache.value(forKey: 4) { "aa" }
    cache.set("aa", forKey: 5, expiration: .seconds(1))
    #expect([1, 2, 3, 4, 5, -1].map { end($0) } == [3, 4, 5, 6, 1, 100])
    cache.update(forKey: 3) { $0 = "a" }
    cache.set("a", forKey: 1)
    #expect(end(3) == 4 && end(1) == 2)
    _ = try cache.values(forKeys: [6]) { _ in [6: "aaaa"] }
    #expect(end(6) == 10)
    clock.advance(1.999)
    #expect(cache.peek(forKey: 1) == "a")
    clock.advance(0.001)
    #expect(cache.peek(forKey: 1) == nil)
  }

  @Test func equalLivesThatAreSpreadEndApart() throws {
    let expiration = Expiration.seconds(60).spread(by: 0.1)
    for isOwn in [false, true] {
      let cache = make { if !isOwn { $0.expiration = expiration } }
      let own = isOwn ? expiration : nil
      for key in 0..<1000 {
        switch key % 4 {
        case 0: cache.set("", forKey: key, expiration: own)
        case 1: cache.set([(key: key, value: "")], expiration: own)
        case 2: cache.update(forKey: key, expiration: own) { $0 = "" }
        default: _ = try cache.value(forKey: key, expiration: own) { "" }
        }
      }
      let ends = cache.entries().compactMap { $0.expires?.timeIntervalSince(clock.date) }
      #expect(ends.count == 1000 && Set(ends).count > 900)
      #expect(ends.allSatisfy { $0 > 53.999 && $0 <= 60 })
      #expect(ends.contains { $0 < 55 } && ends.contains { $0 > 59 })
      clock.advance(53.999)
      #expect(cache.removeExpired() == 0)
      clock.advance(6.001)
      #expect(cache.removeExpired() == 1000)
    }
  }

  @Test func spreadIsBetweenNothingAndAll() {
    let life = Expiration.seconds(60)
    #expect(life.spread == 0 && life.spread(by: 0) == life)
    #expect(life.spread(by: -1).spread == 0 && life.spread(by: .nan).spread == 0)
    #expect(life.spread(by: 7).spread == 1 && life.spread(by: 0.5) != life)
    #expect(life.spread(by: 0.5).drawn.spread == 0)
    for _ in 0..<100 {
      let drawn = life.spread(by: 1).drawn.afterWrite ?? .zero
      #expect(drawn > .zero && drawn <= .seconds(60))
    }
    // Nothing to spread, and nothing that overflows.
    #expect(Expiration.never.spread(by: 1).drawn == .never)
    #expect(Expiration.after(.seconds(Int64.max)).spread(by: 1).drawn.afterWrite != nil)
    #expect(Expiration.seconds(-1).spread(by: 1).drawn == .seconds(-1))
    let longest = Expiration.after(.nanoseconds(Int64.max - 1)).spread(by: 1)
    for _ in 0..<100 { #expect(longest.drawn.afterWrite ?? .zero > .zero) }
  }
}
