// SPDX-License-Identifier: MIT

/// Keys in an order: an array, with the ends named.
///
/// Looking for a key passes over all of them. That is what makes it slow, and
/// easy to believe.
public struct KeyQueue {
  /// All keys, the last to go first.
  public private(set) var keys: [UInt64] = []

  /// A queue without keys.
  public init() {}

  /// How many keys there are.
  public var count: Int { keys.count }

  /// Whether there are none.
  public var isEmpty: Bool { keys.isEmpty }

  /// The key that goes next.
  public var last: UInt64? { keys.last }

  /// The key that goes next if one is to stay.
  public func last(sparing key: UInt64?) -> UInt64? {
    keys.last == key ? keys.dropLast().last : keys.last
  }

  /// Puts a key at the end that goes last.
  public mutating func putFirst(_ key: UInt64) { keys.insert(key, at: 0) }

  /// Puts a key at the end that goes next.
  public mutating func putLast(_ key: UInt64) { keys.append(key) }

  /// Takes the key that goes next, if there is one.
  public mutating func takeLast() -> UInt64? { keys.popLast() }

  /// A key that is there, and all that go after it.
  public func from(_ key: UInt64) -> ReversedCollection<ArraySlice<UInt64>> {
    keys[...(index(of: key) ?? 0)].reversed()
  }

  /// Whether a key is there.
  public func contains(_ key: UInt64) -> Bool { index(of: key) != nil }

  // Not `firstIndex(of:)`, which takes ten times as long where nothing is optimised.
  private func index(of key: UInt64) -> Int? {
    keys.withUnsafeBufferPointer { keys -> Int? in
      guard let first = keys.baseAddress else { return nil }
      var index = keys.count - 1
      while index >= 0, first[index] != key { index -= 1 }
      return index < 0 ? nil : index
    }
  }

  /// Takes out a key that is there.
  public mutating func remove(_ key: UInt64) {
    guard let index = index(of: key) else { preconditionFailure("\(key) is not in the queue") }
    keys.remove(at: index)
  }

  /// Puts a key that is there at the end that goes last.
  public mutating func moveFirst(_ key: UInt64) {
    remove(key)
    putFirst(key)
  }
}
