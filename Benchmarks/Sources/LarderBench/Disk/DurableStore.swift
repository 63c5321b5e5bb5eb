// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// What the loops of this area call: ours and the rivals alike.
protocol DurableStore<Value> {
  associatedtype Value

  func read(_ key: Int) throws -> Value?
  func put(_ value: Value, under key: Int) throws
}

extension DiskCache: DurableStore where Key == Int {
  @inline(__always) func read(_ key: Int) throws -> Value? { try value(forKey: key) }
  @inline(__always) func put(_ value: Value, under key: Int) throws { try set(value, forKey: key) }
}

/// Ours, with each write synced.
struct SyncedCache: DurableStore {
  let cache: DiskCache<Int, Int>

  func read(_ key: Int) throws -> Int? { try cache.value(forKey: key) }
  func put(_ value: Int, under key: Int) throws {
    try cache.set(value, forKey: key, durability: .power)
  }
}

extension DurableStore where Value == Int {
  func fill(with keys: [Int]) throws {
    try keys.withUnsafeBufferPointer { try LarderBench.fill(self, with: $0) }
  }
}

// The loops, with what may throw in them; as MemoryLoops.

@inline(never)
func sum<Store: DurableStore>(
  of keys: UnsafeBufferPointer<Int>, in store: Store
) throws -> Int where Store.Value == Int {
  var sum = 0
  for key in keys { sum &+= try store.read(key) ?? 0 }
  return sum
}

/// `difference` makes the values others than those stored before: some stores do not write what is
/// there already.
@inline(never)
func fill<Store: DurableStore>(
  _ store: Store, with keys: UnsafeBufferPointer<Int>, difference: Int = 0
) throws where Store.Value == Int {
  for key in keys { try store.put(value(of: key) &+ difference, under: key) }
}

/// Stores bytes under each key.
@inline(never)
func fill<Store: DurableStore>(
  _ store: Store, with keys: UnsafeBufferPointer<Int>, _ payloads: Payloads
) throws where Store.Value == Data {
  for key in keys { try store.put(payloads[key], under: key) }
}

/// Reads bytes under each key, and adds up something of each.
@inline(never)
func sumOfBytes<Store: DurableStore>(
  of keys: UnsafeBufferPointer<Int>, in store: Store
) throws -> Int where Store.Value == Data {
  var sum = 0
  for key in keys {
    guard let bytes = try store.read(key), let first = bytes.first, let last = bytes.last else {
      throw Failure(description: "a value is missing")
    }
    sum &+= Int(first) + Int(last)
  }
  return sum
}

/// Bytes that no compression makes shorter, different from key to key.
struct Payloads: Sendable {
  private let values: [Data]

  init(size: Int, kinds: Int = 1024) {
    var generator = SplitMix(seed: 6)
    values = (0..<kinds).map { _ in
      var bytes = Data(capacity: size + 8)
      while bytes.count < size {
        withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
      }
      return Data(bytes.prefix(size))
    }
  }

  subscript(key: Int) -> Data { values[Int(UInt(bitPattern: key) % UInt(values.count))] }

  /// What `sumOfBytes` gives for these keys.
  func sum(of keys: some Sequence<Int>) -> Int {
    keys.reduce(0) { $0 + Int(self[$1].first ?? 0) + Int(self[$1].last ?? 0) }
  }

  /// What it gives for one of them.
  func sum(of key: Int) -> Int { sum(of: CollectionOfOne(key)) }
}
