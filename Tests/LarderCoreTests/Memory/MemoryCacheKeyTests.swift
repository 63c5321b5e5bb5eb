// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Keys of many types.
struct MemoryCacheKeyTests {
  private func check<Key: Hashable & Sendable>(_ keys: [Key]) {
    let cache = MemoryCache<Key, Int>()
    for (number, key) in keys.enumerated() { cache.set(number, forKey: key) }
    #expect(cache.count == keys.count, "\(Key.self)")
    for (number, key) in keys.enumerated() {
      #expect(cache.value(forKey: key) == number, "\(Key.self) \(key)")
    }
    #expect(Set(cache.keys()) == Set(keys))
    for key in keys { cache.remove(forKey: key) }
    #expect(cache.isEmpty)
    #expect(cache.contradiction() == nil)
  }

  @Test func numbersOfAllSizes() {
    check([Int.min, .max, 0, -1, 1] + Array(2..<5000))
    check([UInt.max, 0] + Array(1..<5000))
    check([Int64.min, .max, 0, -1] + Array(1..<5000))
    check([UInt64.max, 0] + Array(1..<5000))
    check([Int32.min, .max, 0, -1] + Array(1..<5000))
    check([UInt32.max, 0] + Array(1..<5000))
    check(Array(Int16.min ... .max))
    check(Array(Int8.min ... .max))
    check(Array(UInt8.min ... .max))
    check([false, true])
    check([0.0, 1.0, -1.0, .infinity, .pi])
  }

  @Test func numbersThatDifferInFewBits() {
    check((0..<64).map { 1 << $0 })
    check((0..<5000).map { $0 << 32 })
    check((0..<5000).map { $0 << 48 })
    check((0..<5000).map { UInt64($0) << 51 })
  }

  @Test func textAndBytes() {
    check(["", "a", "b\0a", "b\0b", "é", "日本"] + (0..<5000).map { "key \($0)" })
    check((0..<1000).map { Data("\($0)".utf8) })
    check(
      (0..<1000).map {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8($0 >> 8), UInt8($0 & 255)))
      })
  }

  @Test func textThatIsEqualIsOneKey() {
    let cache = MemoryCache<String, Int>()
    cache.set(1, forKey: "e\u{301}")
    #expect(cache.value(forKey: "\u{e9}") == 1)
    cache.set(2, forKey: "\u{212A}")
    #expect(cache.value(forKey: "K") == 2)
    #expect(cache.value(forKey: String(decoding: [0x4B], as: UTF8.self)) == 2)
    let long = String(repeating: "long ", count: 20_000)
    cache.set(3, forKey: long)
    #expect(cache.value(forKey: String(long.reversed().reversed())) == 3)
  }

  @Test func typesOfTheCallers() {
    struct Point: Hashable {
      var x: Int
      var y: Int
    }
    enum Kind: Hashable { case one(Int), two(String), three }
    check((0..<70).flatMap { x in (0..<70).map { Point(x: x, y: $0) } })
    check((0..<500).map(Kind.one) + (0..<500).map { Kind.two("\($0)") } + [.three])
    check((0..<1000).map { [$0, $0 + 1] })
    check([Int?.none] + (0..<1000).map(Optional.some))
  }

  @Test func keysWithOneHashAreToldApart() {
    struct Same: Hashable {
      let id: Int
      func hash(into hasher: inout Hasher) {}
    }
    check((0..<300).map(Same.init))
    let cache = MemoryCache<Same, Int>(policy: .lru, countLimit: 50)
    for id in 0..<300 { cache.set(id, forKey: Same(id: id)) }
    #expect(cache.keys(.leastRecentFirst).map(\.id) == Array(250..<300))
    #expect(cache.contradiction() == nil)
  }

  @Test func keysWithAPoorHashOfTheirOwn() {
    struct Poor: Hashable {
      let id: Int
      var hashValue: Int { id << 40 }
      func hash(into hasher: inout Hasher) { hasher.combine(id) }
    }
    check((0..<3000).map(Poor.init))
  }

  @Test func theKeyThatWasStoredFirstStays() {
    struct Named: Hashable {
      let id: Int
      let name: String
      static func == (one: Named, other: Named) -> Bool { one.id == other.id }
      func hash(into hasher: inout Hasher) { hasher.combine(id) }
    }
    let cache = MemoryCache<Named, Int>()
    cache.set(1, forKey: Named(id: 1, name: "first"))
    cache.set(2, forKey: Named(id: 1, name: "second"))
    #expect(cache.keys().map(\.name) == ["first"])
  }

  @Test func payloadsOfAllSizesAndAlignments() {
    struct Wide: Sendable, Equatable {
      var a: SIMD8<Double>
      var b: UInt8
    }
    struct Huge: Sendable, Equatable { var a = [Int](), b = (0...7).map { Double($0) }, c = "" }
    let bytes = MemoryCache<UInt8, UInt8>()
    let wides = MemoryCache<Int8, Wide>(countLimit: 40)
    let huges = MemoryCache<Int, Huge>(countLimit: 40)
    for number in 0..<100 {
      bytes.set(UInt8(number), forKey: UInt8(number))
      wides.set(Wide(a: .init(repeating: Double(number)), b: UInt8(number)), forKey: Int8(number))
      huges.set(Huge(a: [number], c: "\(number)"), forKey: number)
    }
    for number in 0..<100 {
      #expect(bytes.value(forKey: UInt8(number)) == UInt8(number))
      if let wide = wides.value(forKey: Int8(number)) {
        #expect(wide == Wide(a: .init(repeating: Double(number)), b: UInt8(number)))
      }
      if let huge = huges.value(forKey: number) { #expect(huge.a == [number]) }
    }
    #expect(wides.count == 40)
    #expect(bytes.contradiction() == nil)
    #expect(wides.contradiction() == nil)
  }

  #if DEBUG  // The optimizer needs minutes for a type of this size.
    @Test func payloadsThatAreTooLargeAreNotStored() {
      typealias Large = InlineArray<140_000, Int>
      // A few of them are more than a thread's usual stack.
      onThreads(1, stackBytes: 64 << 20) { _ in
        let cache = MemoryCache<Int, Large>()
        cache.set(Large(repeating: 1), forKey: 1)
        #expect(!cache.contains(1))
        #expect(cache.isEmpty)
        #expect(cache.statistics.failures == 1)
        cache.update(forKey: 1) { $0 = Large(repeating: 2) }
        #expect(cache.statistics.failures == 2)
        cache.removeAll()
        cache.countLimit = 5
        #expect(cache.contradiction() == nil)
      }
    }
  #endif
}
