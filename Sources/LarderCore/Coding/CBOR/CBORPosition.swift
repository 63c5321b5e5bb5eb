// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// A position in the input that a type decodes itself from: the path to it and, if there is a map
/// and the type asks for its keys, the offsets of their values.
///
/// It is before the pair after the one requested last, which is usually the one requested next. A
/// missing key is searched among all pairs, one after the other in a small map, unless its bit
/// tells, and through an index in a large one.
final class CBORPosition: CBORPath {
  let input: CBORInput
  /// That of the input.
  let source: CBORSource

  /// Where the head of the map is; -1 before it is asked for.
  private var offset = -1
  /// Where its first pair begins.
  private var firstPair = 0
  /// How many pairs there are; -1 if a break ends them.
  private var count = 0
  /// As `keys` of a `larder_cbor_container`.
  private var keyBits: UInt64 = 0
  /// Where the next pair begins, or -1: behind the value at `lastValue`.
  private var next = 0
  private var lastValue = -1
  /// How many pairs are before `next`.
  private var passed = 0
  private var lookup: CBORMapIndex?
  private(set) var convertsKeys = false

  init(_ input: CBORInput, _ parent: CBORPath, _ key: some CodingKey) {
    self.input = input
    source = input.source
    super.init(parent, key)
  }

  /// The position of an element of an array.
  init(_ input: CBORInput, _ parent: CBORPath, index: Int) {
    self.input = input
    source = input.source
    super.init(parent, index: index)
  }

  /// The position of the outermost value.
  init(_ input: CBORInput) {
    self.input = input
    source = input.source
    super.init()
  }

  /// A position on the same path.
  private init(beside position: CBORPosition) {
    input = position.input
    source = position.source
    super.init(beside: position)
  }

  /// Takes the step to another element of the same array, for whoever alone refers to it.
  private func move(toIndex index: Int) {
    self.index = index
    offset = -1
    lookup = nil
  }

  /// The position of an element: that of another one if nobody else refers to it.
  static func element(
    _ index: Int, of array: CBORPosition, reusing step: inout CBORPosition?
  ) -> CBORPosition {
    if isKnownUniquelyReferenced(&step), let step {
      step.move(toIndex: index)
      return step
    }
    let position = CBORPosition(array.input, array, index: index)
    step = position
    return position
  }

  // MARK: - The map

  /// The position before the first pair of the map at `offset`: this one if it reads no map yet.
  ///
  /// - Parameter isDictionary: Whether its keys are data, and no strategy's business.
  func map(at offset: Int, isDictionary: Bool) throws -> CBORPosition {
    let position = self.offset < 0 ? self : CBORPosition(beside: self)
    do throws(CBORFault) {
      try position.open(at: offset, convertsKeys: !input.hasPlainKeys && !isDictionary)
    } catch {
      throw input.error(error, [String: Any].self, self)
    }
    return position
  }

  @inline(__always)
  private func open(at offset: Int, convertsKeys: Bool) throws(CBORFault) {
    var inner = offset
    let head = try source.head(at: &inner)
    guard Int(head.major) == LARDER_CBOR_MAP else { throw source.mismatch(head) }
    firstPair = inner + Int(head.length)
    next = firstPair
    passed = 0
    let isIndefinite = Int(head.info) == LARDER_CBOR_INFO_INDEFINITE
    count = isIndefinite ? -1 : source.clampedCount(head)
    keyBits = count == 0 ? 0 : try source.container(at: inner).keys
    self.offset = inner
    self.convertsKeys = convertsKeys
    if convertsKeys { makeLookup() }
  }

  /// Where the value of `key` begins; nil if the key is not there.
  ///
  /// Not inlined: a caller would count references around its parts.
  @inline(never)
  func value(for key: some CodingKey) throws(CBORFault) -> Int? {
    if lookup == nil, passed != count {
      if next < 0 { next = try source.end(of: lastValue) }
      // A break, which ends a map that has no count, is no key either.
      if let value = try value(at: next, if: key) {
        pass(value: value)
        return value
      }
    }
    return try search(key)
  }

  @inline(__always)
  private func pass(value: Int) {
    lastValue = value
    next = -1
    passed += 1
  }

  /// Where the value of the pair at `offset` begins, if its key is `key`.
  @inline(__always)
  private func value(at offset: Int, if key: some CodingKey) throws(CBORFault) -> Int? {
    if let length = source.lengthOfShortText(at: offset) {
      var text = key.stringValue
      let isEqual = text.withUTF8 { source.bytes(at: offset + 1, length, equal: $0) }
      return isEqual ? offset + 1 + length : nil
    }
    return try value(at: offset, ifLong: key)
  }

  /// The same for a key that is no short text.
  @inline(never)
  private func value(at offset: Int, ifLong key: some CodingKey) throws(CBORFault) -> Int? {
    let head = try source.rawHead(at: offset)
    switch Int(head.major) {
    case LARDER_CBOR_TEXT where Int(head.info) != LARDER_CBOR_INFO_INDEFINITE:
      let start = offset + Int(head.length)
      var text = key.stringValue
      guard head.argument == UInt64(text.utf8.count), text.utf8.count <= source.count - start
      else { return nil }
      let length = text.utf8.count
      let isEqual = text.withUTF8 { source.bytes(at: start, length, equal: $0) }
      return isEqual ? start + length : nil
    case LARDER_CBOR_TEXT:
      return try source.string(at: offset) == key.stringValue ? try source.end(of: offset) : nil
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE:
      guard let number = key.integer else { return nil }
      let (major, argument) = CBORSource.integerHead(number)
      return Int(head.major) == major && head.argument == argument
        ? offset + Int(head.length) : nil
    default:
      return nil
    }
  }

  /// Looks for a key that is not the next one.
  @inline(never)
  private func search(_ key: some CodingKey) throws(CBORFault) -> Int? {
    if lookup == nil {
      // A map that is gone has no keys that could be missing.
      _ = try source.rawHead(at: offset)
      if count < 0 || count > 32 {
        makeLookup()
      } else if !mayHave(key) {
        return nil
      }
    }
    if let lookup { return lookup.value(for: key) }
    var text = key.stringValue
    // `withUTF8` does not hand typed errors on.
    let result = text.withUTF8 { text in
      Result { () throws(CBORFault) in try search(key, text) }
    }
    return try result.get()
  }

  /// Compares one key after the other.
  private func search(
    _ key: some CodingKey, _ text: UnsafeBufferPointer<UInt8>
  ) throws(CBORFault) -> Int? {
    var pair = firstPair
    for position in 0..<max(count, 0) {
      if let length = source.lengthOfShortText(at: pair) {
        if source.bytes(at: pair + 1, length, equal: text) {
          passed = position
          pass(value: pair + 1 + length)
          return lastValue
        }
      } else if let value = try value(at: pair, ifLong: key) {
        passed = position
        pass(value: value)
        return value
      }
      pair = try source.end(of: try source.end(of: pair))
    }
    return nil
  }

  /// Whether the bit of `key` is there; without it the key is not.
  private func mayHave(_ key: some CodingKey) -> Bool {
    var text = key.stringValue
    if keyBits & text.withUTF8({ larder_cbor_text_bit($0.baseAddress, $0.count) }) != 0 {
      return true
    }
    guard let number = key.integer else { return false }
    let (major, argument) = CBORSource.integerHead(number)
    return keyBits & larder_cbor_integer_bit(UInt32(truncatingIfNeeded: major), argument) != 0
  }

  private func makeLookup() {
    lookup = CBORMapIndex(self, pairs())
  }

  /// All pairs.
  private func pairs() -> [larder_cbor_pair] {
    var end = 0
    var found = max(count, 0)
    var list: [larder_cbor_pair] = []
    repeat {
      // Of length 0 it would be the empty array of all threads that is written to.
      let capacity = max(found, 1)
      list = Array(unsafeUninitializedCapacity: capacity) { buffer, used in
        let status = larder_cbor_map_pairs(
          source.bytes, source.count, offset, buffer.baseAddress, capacity, &found, &end)
        used = status == LARDER_OK ? min(capacity, found) : 0
      }
    } while found > list.count && end > 0
    return list
  }

  /// The keys that are text or an integer, in order.
  var keys: [CBORMapKey] {
    lookup?.keys.map(\.0) ?? pairs().compactMap { source.key(at: $0.key) }
  }
}
