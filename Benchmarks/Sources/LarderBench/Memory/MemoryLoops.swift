// SPDX-License-Identifier: MIT
import LarderCore

/// What is stored under an integer.
@inline(__always) func value(of key: Int) -> Int { key &+ 1 }

/// Reads each key once, and adds up what it finds.
@inline(never)
func sum<Store: KeyedStore>(
  of keys: UnsafeBufferPointer<Store.Key>, in store: Store
) -> Int where Store.Value == Int {
  var sum = 0
  for key in keys { sum &+= store.read(key) ?? 0 }
  return sum
}

/// The same by the call that would load what is missing.
@inline(never)
func sumOrLoad(of keys: UnsafeBufferPointer<Int>, in cache: MemoryCache<Int, Int>) throws -> Int {
  var sum = 0
  for key in keys { sum &+= try cache.value(forKey: key, orLoad: { key }) }
  return sum
}

/// Stores each key once.
@inline(never)
func fill<Store: KeyedStore>(
  _ store: Store, with keys: UnsafeBufferPointer<Int>
) where Store.Key == Int, Store.Value == Int {
  for key in keys { store.put(value(of: key), under: key) }
}

/// The same with keys of any kind, which are numbered.
func fill<Store: KeyedStore>(_ store: Store, with keys: [Store.Key]) where Store.Value == Int {
  for (number, key) in keys.enumerated() { store.put(number, under: key) }
}

/// Nine reads, one write, and so on.
@inline(never)
func mix<Store: KeyedStore>(
  _ keys: UnsafeBufferPointer<Int>, in store: Store
) -> Int where Store.Key == Int, Store.Value == Int {
  var sum = 0
  var untilWrite = 9
  for key in keys {
    if untilWrite == 0 {
      store.put(value(of: key), under: key)
      untilWrite = 9
    } else {
      sum &+= store.read(key) ?? 0
      untilWrite -= 1
    }
  }
  return sum
}

extension KeyedStore where Key == Int, Value == Int {
  func fill(with keys: [Int]) {
    keys.withUnsafeBufferPointer { LarderBench.fill(self, with: $0) }
  }
}

extension Bench {
  /// One sample of reading the next keys of `rounds`, by default after all of them were read.
  func read<Store: KeyedStore>(
    _ rounds: Rounds<Store.Key>, in store: Store, warmUp: Bool = true
  ) throws -> Double where Store.Value == Int {
    if warmUp { rounds.warmUp { consume(sum(of: $0, in: store)) } }
    return try rounds.sample { keys in
      var found = 0
      let time = time(keys.count, loop: .swift) { found = sum(of: keys, in: store) }
      return (found, time)
    }
  }
}

/// Uses a result whose value is not known, so that the compiler must compute it.
@inline(never) func consume(_ sum: Int) { precondition(sum != .min) }
