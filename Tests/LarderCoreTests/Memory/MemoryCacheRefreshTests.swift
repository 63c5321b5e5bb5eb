// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Loading again what is there but old.
struct MemoryCacheRefreshTests {
  @Test func oldValueIsLoadedAgainByTheFirstWhoComesUponIt() throws {
    let clock = ManualClock()
    let ear = Ear<Int, String>()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.refreshAfter = .seconds(10)
      $0.onRemoval = { ear.hear($0) }
    }
    #expect(try cache.value(forKey: 1) { "first" } == "first")
    clock.advance(9)
    #expect(try cache.value(forKey: 1) { "no" } == "first")
    clock.advance(1)
    // Reads that load nothing do not care.
    #expect(cache.value(forKey: 1) == "first")
    let value = try cache.value(forKey: 1) {
      // All others get the old value meanwhile.
      let old = try cache.value(forKey: 1) { "no" }
      #expect(old == "first")
      return "second"
    }
    #expect(value == "second")
    #expect(ear.all == [Removal(key: 1, value: "first", cause: .replaced)])
    clock.advance(10)
    #expect(try cache.value(forKey: 1) { throw Failure() } == "second")
    #expect(cache.statistics.refreshes == 2)
    #expect(cache.statistics.loadFailures == 1)
    cache.set("third", forKey: 1)
    #expect(try cache.value(forKey: 1) { "no" } == "third")
    #expect(cache.contradiction() == nil)
  }

  @Test func timesOfWritingMoveWithTheirEntries() throws {
    let clock = ManualClock()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.refreshAfter = .seconds(1000)
    }
    for key in 0..<3000 {
      cache.set("\(key)", forKey: key)
      clock.advance(1)
    }
    // Those from 0 to 2,000 are 1,000 seconds old, or older.
    for key in 0..<3000 {
      let value = try cache.value(forKey: key) { "new" }
      #expect(value == (key <= 2000 ? "new" : "\(key)"))
    }
  }

  @Test func oldValueIsGivenOutWhileItIsLoadedAgainInTheBackground() async throws {
    let clock = ManualClock()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.refreshAfter = .seconds(10)
    }
    let door = Door()
    let loads = Counter()
    let load: @Sendable () async throws -> String = {
      await door.pass()
      return "load \(loads.add())"
    }
    cache.fill([1])
    clock.advance(10)
    for _ in 0..<5 { #expect(try await cache.value(forKey: 1, orLoad: load) == "1") }
    door.open()
    await until { cache.peek(forKey: 1) == "load 1" }
    #expect(loads.value == 1)
    #expect(cache.statistics.refreshes == 1)
    #expect(try await cache.value(forKey: 1, orLoad: load) == "load 1")
    // A refresh that fails leaves the old value.
    clock.advance(10)
    #expect(try await cache.value(forKey: 1) { throw Failure() } == "load 1")
    await until { cache.statistics.loadFailures == 1 }
    #expect(cache.peek(forKey: 1) == "load 1")
  }

  @Test func refreshDoesNotOverwriteWhatIsNewer() async throws {
    let clock = ManualClock()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.refreshAfter = .zero
    }
    let door = Door()
    cache.fill([1])
    let old = try await cache.value(forKey: 1) {
      await door.pass()
      return "refreshed"
    }
    #expect(old == "1")
    cache.set("newer", forKey: 1)
    door.open()
    await until { cache.statistics.loads == 1 }
    #expect(cache.peek(forKey: 1) == "newer")
  }
}
