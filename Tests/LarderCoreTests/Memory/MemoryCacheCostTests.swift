// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// What an entry costs of which nobody says it.
@Suite struct MemoryCacheCostTests {
  private final class Box: Sendable {}

  private func cost<Value: Sendable>(of value: Value) -> Int {
    let cache = MemoryCache<Int, Value>()
    cache.set(value, forKey: 1)
    return cache.totalCost - MemoryLayout<(Int, Value)>.size
  }

  @Test func itIsTheBytesOfKeyAndValueAndOfWhatThatHas() {
    #expect(cost(of: Data(count: 1000)) == 1000)
    #expect(cost(of: Data()) == 0)
    #expect(cost(of: "1234567890" + "äöü") == 16)
    #expect(cost(of: [UInt8](repeating: 0, count: 500)) == 500)
    #expect(cost(of: [Double](repeating: 0, count: 500)) == 4000)
    #expect(cost(of: [[1, 2, 3], [4]]) == 16)
    #expect(cost(of: Data?.some(Data(count: 7))) == 7)
    #expect(cost(of: Data?.none) == 0)
    #expect(cost(of: 5) == 0 && cost(of: Box()) == 0 && cost(of: (1, 2.0, true)) == 0)
  }

  @Test func whatIsSaidCounts() {
    let cache = MemoryCache<Int, Data>()
    cache.set(Data(count: 1000), forKey: 1, cost: 3)
    #expect(cache.totalCost == 3)
    var configuration = MemoryCacheConfiguration<Int, Data>()
    configuration.cost = { key, _ in key }
    let other = MemoryCache(configuration)
    other.set(Data(count: 1000), forKey: 5)
    #expect(other.totalCost == 5)
  }

  @Test func aValueThatGrowsCostsMore() {
    let cache = MemoryCache<Int, Data>()
    cache.set(Data(count: 10), forKey: 1)
    let before = cache.totalCost
    cache.update(forKey: 1) { $0?.append(Data(count: 90)) }
    #expect(cache.totalCost == before + 90)
  }

  @Test func aLimitOfBytesHoldsWithoutAFunction() {
    let cache = MemoryCache<Int, Data>(policy: .lru, costLimit: 10_000)
    for key in 0..<100 { cache.set(Data(count: 1000), forKey: key) }
    #expect(cache.count == 9 && cache.totalCost <= 10_000)
    let numbers = MemoryCache<Int, Int>(policy: .lru, costLimit: 1600)
    for key in 0..<1000 { numbers.set(key, forKey: key) }
    #expect(numbers.count == 100)
  }
}
