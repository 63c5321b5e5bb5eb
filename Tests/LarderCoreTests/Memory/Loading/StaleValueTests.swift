// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Expired values that are given out because their load fails.
struct StaleValueTests {
  private let clock = ManualClock()
  private let ear = Ear<Int, String>()

  private func make(
    policy: EvictionPolicy = .lru,
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> MemoryCache<Int, String> {
    makeCache(policy: policy) {
      $0.clock = clock.clock
      $0.expiration = .seconds(10)
      $0.staleIfError = .seconds(5)
      $0.onRemoval = { ear.hear($0) }
      change(&$0)
    }
  }

  private func failing(_ cache: MemoryCache<Int, String>) -> String? {
    try? cache.value(forKey: 1) { throw Failure() }
  }

  @Test(arguments: EvictionPolicy.allCases, [Int.max, 10])
  func expiredValueIsGivenOutWhileItsLoadFailsAndNeverAfter(
    policy: EvictionPolicy, limit: Int
  ) async throws {
    let cache = make(policy: policy) { $0.countLimit = limit }
    cache.fill([1])
    clock.advance(10)
    #expect(cache.value(forKey: 1) == nil && cache.peek(forKey: 1) == nil && !cache.contains(1))
    #expect(cache.keys().isEmpty && cache.entries().isEmpty)
    #expect(cache.removeAll { _, _ in true } == 0 && !cache.pin(1))
    cache.fill([1])
    clock.advance(10)
    #expect(failing(cache) == "1")
    clock.advance(4.999)
    #expect(failing(cache) == "1")
    #expect(try await cache.value(forKey: 1) { throw Failure() } == "1")
    #expect(cache.count == 1 && cache.statistics.staleHits == 3)
    clock.advance(0.001)
    #expect(throws: Failure()) { try cache.value(forKey: 1) { throw Failure() } }
    #expect(cache.count == 0 && cache.statistics.staleHits == 3)
    #expect(ear.causes == [.expired, .expired])
    #expect(cache.contradiction() == nil)
  }

  @Test func nothingIsKeptUnlessAskedFor() {
    for grace in [nil, Duration.zero, .seconds(-1)] {
      let cache = make { $0.staleIfError = grace }
      cache.fill([1])
      clock.advance(10)
      #expect(failing(cache) == nil && cache.isEmpty)
    }
  }

  @Test func whatIsWrittenReplacesWhatHadExpired() throws {
    let writes: [(MemoryCache<Int, String>) throws -> Void] = [
      { $0.set("new", forKey: 1) }, { $0.set([(key: 1, value: "new")]) },
      { cache in
        let old = cache.update(forKey: 1) { value in
          defer { value = "new" }
          return value
        }
        #expect(old == nil)
      },
      { cache in
        let value = try cache.value(forKey: 1) { "new" }
        #expect(value == "new")
      },
      { cache in
        let values = try cache.values(forKeys: [1]) { _ in [1: "new"] }
        #expect(values == [1: "new"])
      },
    ]
    for (number, write) in writes.enumerated() {
      let cache = make()
      cache.fill([1])
      clock.advance(10)
      try write(cache)
      #expect(cache.peek(forKey: 1) == "new" && cache.count == 1)
      #expect(ear.gone == [Gone(1, .expired)].repeated(number + 1))
      #expect(cache.statistics.expired == 1 && cache.statistics.replaced == 0)
      #expect(cache.contradiction() == nil)
    }
  }

  @Test func whatIsRemovedIsNotGivenOutAnyMore() throws {
    let removals: [(MemoryCache<Int, String>) throws -> Void] = [
      { cache in
        let old = cache.remove(forKey: 1)
        #expect(old == nil)
      },
      { cache in
        let count = cache.remove(forKeys: [1])
        #expect(count == 0)
      },
      { $0.set(nil, forKey: 1) }, { cache in cache.update(forKey: 1) { _ in } },
      { _ = try $0.value(forKey: 1) { LoadedValue("", isStored: false) } },
      { cache in
        let values = try cache.values(forKeys: [1]) { _ in [Int: String]() }
        #expect(values.isEmpty)
      },
    ]
    for remove in removals {
      let cache = make()
      cache.fill([1])
      clock.advance(10)
      try remove(cache)
      #expect(failing(cache) == nil && cache.isEmpty)
    }
    #expect(ear.causes == [RemovalCause.expired].repeated(removals.count))
    let cache = make()
    cache.fill([1])
    clock.advance(10)
    cache.removeAll()
    #expect(failing(cache) == nil)
  }

  @Test func limitsCountWhatIsKept() {
    let cache = make { $0.countLimit = 2 }
    cache.fill([1, 2])
    clock.advance(10)
    cache.fill([3])
    #expect(cache.count == 2 && failing(cache) == nil)
    #expect(ear.gone == [Gone(1, .evictedForCount)])
  }

  @Test func newLifeOfAllHoldsForWhatIsKept() {
    let cache = make()
    cache.fill([1])
    clock.advance(12)
    cache.expiration = .seconds(20)
    #expect(cache.peek(forKey: 1) == "1")
  }

  /// Random calls, beside a dictionary that knows when what ends.
  @Test(arguments: EvictionPolicy.allCases)
  func agreesWithAModel(policy: EvictionPolicy) throws {
    struct Kept { var value: String, end: Double }
    var random = SeededGenerator(seed: 15)
    let comment: Comment = "seed \(random.seed)"
    let cache = make(policy: policy)
    var model: [Int: Kept] = [:]
    var now = 0.0
    for step in 0..<effort(15_000, long: 60_000) {
      let key = Int.random(in: 0..<40, using: &random)
      let kept = model[key]
      let live = kept.flatMap { $0.end > now ? $0.value : nil }
      let old = kept.flatMap { $0.end + 5 > now ? $0.value : nil }
      let life = Double.random(in: 0..<12, using: &random).rounded()
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1:
        cache.set("\(step)", forKey: key, expiration: .seconds(life))
        model[key] = Kept(value: "\(step)", end: now + life)
      case 2: #expect(cache.value(forKey: key) == live, comment)
      case 3: #expect(cache.peek(forKey: key) == live, comment)
      case 4:
        #expect((try? cache.value(forKey: key) { throw Failure() }) == old, comment)
      case 5:
        let value = try cache.value(forKey: key, expiration: .seconds(life)) { "\(step)" }
        #expect(value == live ?? "\(step)", comment)
        if live == nil { model[key] = Kept(value: value, end: now + life) }
      case 6:
        #expect(cache.remove(forKey: key) == live, comment)
        model[key] = nil
      case 7:
        cache.update(forKey: key) { #expect($0 == live, comment) }
        if live == nil { model[key] = nil } else { model[key]?.end = now + 10 }
      case 8:
        let keys = model.filter { $0.value.end > now }.keys
        if step % 50 == 0 { #expect(Set(cache.keys()) == Set(keys), comment) }
      default:
        let seconds = Double.random(in: 0..<3, using: &random).rounded()
        clock.advance(seconds)
        now += seconds
      }
    }
    #expect(cache.contradiction() == nil)
    let ends = model.values.map(\.end)
    #expect(cache.removeExpired() >= 0 && cache.count == ends.count { $0 + 5 > now }, comment)
  }
}

extension Array {
  fileprivate func repeated(_ times: Int) -> [Element] {
    (0..<times).flatMap { _ in self }
  }
}
