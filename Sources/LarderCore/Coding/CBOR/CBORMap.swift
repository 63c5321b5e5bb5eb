// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// A map that is being decoded: where each key's value is.
///
/// It stands before the pair behind the one that was asked for last, which is most often the one
/// that is asked for next. A key that is not there is looked for among all pairs, one after the
/// other in a small map and by an index in a large one.
final class CBORMap {
  let input: CBORInput
  let path: CBORPath?
  /// Where the map begins, with the tags before it.
  private let start: Int
  /// Where its head is.
  private let offset: Int
  /// Where its first pair begins.
  private let firstPair: Int
  /// How many pairs there are; nil if a break ends them.
  private let count: Int?

  /// Where the next pair begins, or -1: behind the value at `lastValue`.
  private var next: Int
  private var lastValue = -1
  /// How many pairs are before `next`.
  private var passed = 0
  private var index: CBORMapIndex?
  fileprivate let convertsKeys: Bool

  init(
    _ input: CBORInput, start: Int, head: larder_cbor_head, at offset: Int, _ path: CBORPath?,
    convertsKeys: Bool
  ) {
    self.input = input
    self.path = path
    self.start = start
    self.offset = offset
    firstPair = offset + Int(head.length)
    next = firstPair
    let isIndefinite = Int(head.info) == LARDER_CBOR_INFO_INDEFINITE
    count = isIndefinite ? nil : input.clampedCount(head)
    self.convertsKeys = convertsKeys
    if convertsKeys { makeIndex() }
    if count == 0 { input.note(container: start, endsAt: firstPair) }
  }

  /// Where the value of `key` begins; nil if the key is not there.
  @inline(__always)
  func value(for key: some CodingKey) throws(CBORFault) -> Int? {
    if index == nil, let pair = try pairAtHand() {
      if let value = try value(at: pair, if: key) {
        pass(value: value)
        return value
      }
    }
    return try search(key)
  }

  /// Where the next pair begins; nil at the end.
  @inline(__always)
  private func pairAtHand() throws(CBORFault) -> Int? {
    if next < 0 {
      next = try input.end(of: lastValue)
    }
    if let count { return passed < count ? next : nil }
    return try isBreak(at: next) ? nil : next
  }

  @inline(__always)
  private func pass(value: Int) {
    lastValue = value
    next = -1
    passed += 1
    if passed == count { input.note(container: start, endsAt: ~value) }
  }

  private func isBreak(at offset: Int) throws(CBORFault) -> Bool {
    let head = try input.rawHead(at: offset)
    return Int(head.major) == LARDER_CBOR_SIMPLE && Int(head.info) == LARDER_CBOR_INFO_INDEFINITE
  }

  /// Where the value of the pair at `offset` begins, if its key is `key`.
  @inline(__always)
  private func value(at offset: Int, if key: some CodingKey) throws(CBORFault) -> Int? {
    let head = try input.rawHead(at: offset)
    switch Int(head.major) {
    case LARDER_CBOR_TEXT where Int(head.info) != LARDER_CBOR_INFO_INDEFINITE:
      return input.text(head, at: offset, equals: key.stringValue)
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE:
      guard let number = key.integer else { return nil }
      let isNegative = Int(head.major) == LARDER_CBOR_NEGATIVE
      let argument = UInt64(bitPattern: Int64(isNegative ? ~number : number))
      return (number < 0) == isNegative && head.argument == argument
        ? offset + Int(head.length) : nil
    case LARDER_CBOR_TEXT:
      return try input.string(at: offset) == key.stringValue ? try input.end(of: offset) : nil
    default:
      return nil
    }
  }

  /// Looks for a key that is not the next one.
  @inline(never)
  private func search(_ key: some CodingKey) throws(CBORFault) -> Int? {
    if index == nil, count.map({ $0 > 32 }) ?? true { makeIndex() }
    if let index { return index.value(for: key) }
    var pair = firstPair
    for place in 0..<(count ?? 0) {
      if let value = try value(at: pair, if: key) {
        passed = place
        pass(value: value)
        return value
      }
      pair = try input.end(of: try input.end(of: pair))
    }
    input.note(container: start, endsAt: pair)
    return nil
  }

  private func makeIndex() {
    let pairs = self.pairs()
    input.note(container: start, endsAt: pairs.end)
    index = CBORMapIndex(self, pairs.list)
  }

  /// All pairs, and where the map ends.
  private func pairs() -> (list: [larder_cbor_pair], end: Int) {
    var end = 0
    var found = count ?? 0
    var list: [larder_cbor_pair] = []
    repeat {
      // Of length 0 it would be the empty array of all threads that is written to.
      let capacity = max(found, 1)
      list = Array(unsafeUninitializedCapacity: capacity) { buffer, used in
        let status = larder_cbor_map_pairs(
          input.bytes, input.count, offset, buffer.baseAddress, capacity, &found, &end)
        used = status == LARDER_OK ? min(capacity, found) : 0
      }
    } while found > list.count && end > 0
    return (list, end)
  }

  /// The keys that are text or an integer, in order.
  var keys: [CBORMapKey] {
    index?.keys.map(\.0) ?? pairs().list.compactMap { input.key(at: $0.key) }
  }
}

/// A key that a `CodingKey` can be made of.
enum CBORMapKey {
  case text(String)
  case number(Int)

  func codingKey<Key: CodingKey>(as type: Key.Type) -> Key? {
    switch self {
    case .text(let text): Key(stringValue: text)
    case .number(let number): Key(intValue: number)
    }
  }
}

/// The keys of a map by what they are.
final class CBORMapIndex {
  /// In order, as the key strategy spells them.
  let keys: [(CBORMapKey, value: Int)]
  private var texts: [String: Int] = [:]
  private var numbers: [Int: Int] = [:]

  init(_ map: CBORMap, _ pairs: [larder_cbor_pair]) {
    let input = map.input
    keys = pairs.compactMap { pair in
      guard let key = input.key(at: pair.key) else { return nil }
      guard map.convertsKeys, case .text(let text) = key else { return (key, pair.value) }
      return (.text(input.options.values.converted(text, map.path)), pair.value)
    }
    // Keys that a strategy made equal: the first counts, as in Foundation's decoders.
    for (key, value) in keys {
      switch key {
      case .text(let text): if texts[text] == nil { texts[text] = value }
      case .number(let number): numbers[number] = value
      }
    }
  }

  func value(for key: some CodingKey) -> Int? {
    if let number = key.integer, let value = numbers[number] { return value }
    return texts[key.stringValue]
  }
}

/// As `memcmp`, but quicker for what is as short as keys are.
@inline(__always)
private func equal(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ length: Int) -> Bool {
  let a = UnsafeRawPointer(a)
  let b = UnsafeRawPointer(b)
  @inline(__always)
  func difference<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: Word.Type) -> Word {
    a.loadUnaligned(fromByteOffset: offset, as: Word.self)
      ^ b.loadUnaligned(fromByteOffset: offset, as: Word.self)
  }
  switch length {
  case 0: return true
  case 1: return difference(0, UInt8.self) == 0
  case 2...3: return difference(0, UInt16.self) | difference(length - 2, UInt16.self) == 0
  case 4...7: return difference(0, UInt32.self) | difference(length - 4, UInt32.self) == 0
  case 8...16: return difference(0, UInt64.self) | difference(length - 8, UInt64.self) == 0
  default: return memcmp(a, b, length) == 0
  }
}

extension CBORInput {
  /// The map at `offset`.
  ///
  /// - Parameter isDictionary: Whether its keys are data, and no strategy's business.
  func map(at offset: Int, _ path: CBORPath?, isDictionary: Bool) throws -> CBORMap {
    do throws(CBORFault) {
      var inner = offset
      let head = try head(at: &inner)
      guard Int(head.major) == LARDER_CBOR_MAP else { throw mismatch(head) }
      return CBORMap(
        self, start: offset, head: head, at: inner, path,
        convertsKeys: !hasPlainKeys && !isDictionary)
    } catch {
      throw self.error(error, [String: Any].self, path)
    }
  }

  fileprivate func key(at offset: Int) -> CBORMapKey? {
    guard let head = try? rawHead(at: offset) else { return nil }
    switch Int(head.major) {
    case LARDER_CBOR_TEXT: return (try? string(at: offset)).map { .text($0) }
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE:
      return (try? integer(at: offset, as: Int.self)).map { .number($0) }
    default: return nil
    }
  }

  /// Where the text that begins with `head` at `offset` ends, if it is `key`.
  @inline(__always)
  fileprivate func text(_ head: larder_cbor_head, at offset: Int, equals key: String) -> Int? {
    let start = offset + Int(head.length)
    guard let bytes, head.argument <= UInt64(truncatingIfNeeded: count - start) else { return nil }
    let length = Int(truncatingIfNeeded: head.argument)
    var key = key
    let isEqual = key.withUTF8 { key in
      guard key.count == length else { return false }
      guard let first = key.baseAddress else { return true }
      return equal(bytes + start, first, length)
    }
    return isEqual ? start + length : nil
  }
}
