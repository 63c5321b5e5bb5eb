// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Setting, getting, removing: what every cache does.
struct MemoryCacheTests {
  static let policies = EvictionPolicy.allCases

  @Test(arguments: policies)
  func whatIsSetIsRead(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy)
    #expect(cache.policy == policy)
    #expect(cache.value(forKey: 1) == nil)
    cache.set("one", forKey: 1)
    #expect(cache.value(forKey: 1) == "one")
    #expect(cache[1] == "one")
    #expect(cache.peek(forKey: 1) == "one")
    #expect(cache.value(forKey: 2) == nil)
    #expect(cache.peek(forKey: 2) == nil)
    #expect(cache.contradiction() == nil)
  }

  @Test func subscriptSetsReadsAndRemoves() {
    let cache = MemoryCache<Int, String>()
    cache[1] = "one"
    #expect(cache[1] == "one")
    cache[1]?.append("!")
    #expect(cache[1] == "one!")
    cache[1] = nil
    #expect(cache[1] == nil)
    #expect(cache.isEmpty)
  }

  @Test func containsTellsWhatIsThere() {
    let cache = MemoryCache<Int, String>()
    #expect(!cache.contains(1))
    cache.set("one", forKey: 1)
    #expect(cache.contains(1))
    #expect(!cache.contains(2))
  }

  @Test func removeGivesTheValueAndRemovesIt() {
    let cache = MemoryCache<Int, String>()
    cache.set("one", forKey: 1)
    #expect(cache.remove(forKey: 1) == "one")
    #expect(cache.remove(forKey: 1) == nil)
    #expect(!cache.contains(1))
    #expect(cache.count == 0)
  }

  @Test(arguments: policies, [false, true])
  func removeAllRemovesAllAndTheCacheGoesOn(policy: EvictionPolicy, keepingCapacity: Bool) {
    for limit in [Int.max, 5000] {
      let cache = MemoryCache<Int, String>(policy: policy, countLimit: limit)
      for _ in 0..<3 {
        cache.fill(0..<4000, cost: 2)
        #expect(cache.count == 4000)
        cache.removeAll(keepingCapacity: keepingCapacity)
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.value(forKey: 7) == nil)
        #expect(cache.contradiction() == nil)
      }
    }
  }

  @Test func removingAllFreesTheMemoryUnlessItIsToBeKept() {
    let cache = MemoryCache<Int, Int>()
    for key in 0..<100_000 { cache.set(key, forKey: key) }
    let full = cache.statistics.memoryBytes
    cache.removeAll(keepingCapacity: true)
    #expect(cache.statistics.memoryBytes == full)
    cache.removeAll()
    #expect(cache.statistics.memoryBytes < full / 10)
  }

  @Test func settingNilRemoves() {
    let cache = MemoryCache<Int, String>()
    cache.set("one", forKey: 1)
    cache.set(nil, forKey: 1)
    #expect(cache.value(forKey: 1) == nil)
    #expect(cache.count == 0)
    cache.set(nil, forKey: 2)
    #expect(cache.count == 0)
  }

  @Test func settingAgainReplacesTheValue() {
    let cache = MemoryCache<Int, String>()
    cache.set("one", forKey: 1)
    cache.set("uno", forKey: 1)
    #expect(cache.value(forKey: 1) == "uno")
    #expect(cache.count == 1)
  }

  @Test func totalsFollowWhatIsStored() {
    let cache = MemoryCache<Int, String>()
    cache.set("one", forKey: 1, cost: 10)
    cache.set("two", forKey: 2, cost: 20)
    #expect(cache.count == 2)
    #expect(cache.totalCost == 30)
    cache.set("uno", forKey: 1, cost: 5)
    #expect(cache.count == 2)
    #expect(cache.totalCost == 25)
    cache.remove(forKey: 2)
    #expect(cache.totalCost == 5)
    #expect(cache.contradiction() == nil)
  }

  @Test func costOfAnEntryIsAskedForWhereNoneIsSaid() {
    let cache = makeCache { $0.cost = { key, value in key + value.count } }
    cache.set("abc", forKey: 10)
    #expect(cache.totalCost == 13)
    cache.set("abc", forKey: 10, cost: 1)
    #expect(cache.totalCost == 1)
    cache.set([(10, "abcd"), (20, "")].map { (key: $0.0, value: $0.1) })
    #expect(cache.totalCost == 34)
    cache.update(forKey: 10) { $0?.append("e") }
    #expect(cache.totalCost == 35)
  }

  @Test func namesAreForPeople() {
    let cache = MemoryCache<Int, String>(name: "users")
    #expect(cache.name == "users")
    #expect(cache.description.hasSuffix(" (users)"))
    cache.name = nil
    #expect(cache.name == nil)
    #expect(cache.description.hasPrefix("<MemoryCache<Int, String>: 0x"))
    #expect(cache.description.hasSuffix(">"))
    #expect(MemoryCache<Int, String>().name == nil)
  }

  @Test func defaultsAreThoseOfTheDocumentation() {
    let configuration = MemoryCacheConfiguration<Int, String>()
    #expect(configuration.releasesAsynchronously)
    #expect(!configuration.releasesOnMainThread)
    #expect(configuration.removesAllOnMemoryWarning)
    #expect(configuration.removesAllInBackground)
    let cache = MemoryCache(configuration)
    #expect(cache.name == nil)
    #expect(cache.policy == .standard)
    #expect(cache.countLimit == .max)
    #expect(cache.costLimit == .max)
    #expect(cache.expiration == .never)
    #expect(cache.autoTrimInterval == .seconds(5))
    #expect(cache.isEmpty)
    #expect(cache.statistics.failures == 0)
  }

  @Test func asynchronousCodeCallsItAsItIs() async {
    let cache = MemoryCache<Int, String>()
    await Task.detached { cache.set("one", forKey: 1) }.value
    let value = await Task.detached { cache.value(forKey: 1) }.value
    #expect(value == "one")
    await Task.detached { cache.removeAll() }.value
    #expect(cache.isEmpty)
  }

  @Test func emptyAndOptionalValuesAreValues() {
    let texts = MemoryCache<String, String>()
    texts.set("", forKey: "")
    #expect(texts.value(forKey: "") == "")
    let optionals = MemoryCache<Int, Int?>()
    optionals.set(.some(nil), forKey: 1)
    #expect(optionals.contains(1))
    #expect(optionals.value(forKey: 1) == .some(.none))
    let nothing = MemoryCache<Int, Void>()
    nothing.set((), forKey: 1)
    #expect(nothing.value(forKey: 1) != nil)
    #expect(nothing.value(forKey: 2) == nil)
  }
}
