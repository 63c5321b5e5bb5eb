// SPDX-License-Identifier: MIT

import CLarder
import Foundation

// A type may encode a key twice, in itself or with its superclass. As with Foundation's encoders
// the later value counts, and a nested container of the same kind is the one that is there already.
// Most types never do: short hashes tell the keys of a small map apart, a set those of a large one.

extension CBORWriter {
  /// The keys of a small map.
  static var fewKeys: Int { 32 }

  /// Writes a text key.
  ///
  /// - Returns: A number that seldom is the same for two names in one type.
  @inline(__always)
  func write(key: String) -> UInt16 {
    var key = key
    return key.withUTF8 { text in
      let bytes = UnsafeRawBufferPointer(text)
      write(bytes: bytes, LARDER_CBOR_TEXT)
      return Self.shortHash(bytes)
    }
  }

  /// Of the first bytes and the last.
  @inline(__always)
  private static func shortHash(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return 0 }
    let length = bytes.count
    var (first, last): (UInt64, UInt64)
    if length >= 8 {
      first = start.loadUnaligned(as: UInt64.self)
      last = start.loadUnaligned(fromByteOffset: length - 8, as: UInt64.self)
    } else if length >= 4 {
      first = UInt64(start.loadUnaligned(as: UInt32.self))
      last = UInt64(start.loadUnaligned(fromByteOffset: length - 4, as: UInt32.self))
    } else {
      first = UInt64(start.load(as: UInt8.self))
      last = UInt64(start.load(fromByteOffset: length - 1, as: UInt8.self)) << 8
      last |= UInt64(start.load(fromByteOffset: length / 2, as: UInt8.self))
    }
    first &*= 0x9e37_79b9_7f4a_7c15
    last = (last &+ UInt64(truncatingIfNeeded: length)) &* 0xd6e8_feb8_6659_fd93
    return UInt16(truncatingIfNeeded: (first ^ last) >> 48)
  }

  /// Notes the key of an entry, which stands at the end, and its hash.
  ///
  /// - Returns: Whether it may have been written before.
  @inline(__always)
  func noteKey(_ hash: UInt16, _ item: CBORItem, at mark: Mark) -> Bool {
    let record = items + Int(item.index)
    let place = record.pointee.notedKeys
    if place >= Self.fewKeys { return noteKeyOfLargeMap(item, at: mark) }
    record.pointee.notedKeys = place + 1
    let hashes = keyHashes + Int(item.index) * Self.fewKeys
    hashes[place] = hash
    // Most often a bit tells, and spares the comparison.
    let bit: UInt128 = 1 &<< UInt128(truncatingIfNeeded: hash)
    if record.pointee.keyMask & bit == 0 {
      record.pointee.keyMask |= bit
      return false
    }
    for earlier in 0..<place where hashes[earlier] == hash { return true }
    return false
  }

  @inline(never)
  private func noteKeyOfLargeMap(_ item: CBORItem, at mark: Mark) -> Bool {
    let record = items + Int(item.index)
    if keys[item.serial] == nil {
      guard !hasGaps, late.isEmpty else { return true }
      var seen: Set<Int> = []
      var offset = record.pointee.head + Int(record.pointee.headBytes)
      while offset < mark.count {
        var (value, end) = (0, 0)
        guard larder_cbor_skip(bytes, mark.count, offset, &value) == LARDER_OK,
          larder_cbor_skip(bytes, mark.count, value, &end) == LARDER_OK
        else { return true }
        seen.insert(hash(offset..<value))
        offset = end
      }
      keys[item.serial] = seen
      hasLargeMaps = true
    }
    return keys[item.serial]?.insert(hash(mark.count..<count)).inserted == false
  }

  private func hash(_ range: Range<Int>) -> Int {
    var hasher = Hasher()
    hasher.combine(
      bytes: UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count))
    return hasher.finalize()
  }

  /// Takes back an entry that was begun, and looks for a container that is there under its key: a
  /// type and its superclass may both add to it, as they may with Foundation's encoders.
  @inline(never)
  func takeBack(
    _ kind: Kind, in parent: CBORItem, begunAt mark: Mark
  ) -> CBORItem? {
    let opened = nested(in: parent, at: mark)
    let key = Array(UnsafeBufferPointer(start: bytes + mark.count, count: mark.keyEnd - mark.count))
    rollBack(parent, to: mark)
    if kind == .pending || !opened.isEmpty {
      return opened.first { items[$0].kind == kind || reopen($0, as: kind) }
        .map { CBORItem(index: Int32(truncatingIfNeeded: $0), serial: items[$0].serial) }
    }
    return adopt(kind, under: key, in: parent)
  }

  /// Keeps the containers under that key from being found again: another value takes their place.
  func disown(_ parent: CBORItem, at mark: Mark) {
    for index in nested(in: parent, at: mark) { items[index].keyBytes = 0 }
  }

  /// Records of what was opened before under the key of an entry.
  @inline(never)
  private func nested(in parent: CBORItem, at mark: Mark) -> [Int] {
    let length = mark.keyEnd - mark.count
    return (Int(parent.index) + 1..<mark.itemCount).filter { index in
      let item = items[index]
      return item.parent == parent.index && Int(item.keyBytes) == length
        && memcmp(bytes + item.head - length, bytes + mark.count, length) == 0
    }
  }

  /// Of two pairs with one key the later is kept, as a dictionary would.
  func removeRepeatedKeys(_ item: UnsafeMutablePointer<Item>) {
    item.pointee.mayRepeatKeys = false
    if hasGaps { closeGaps(from: item - items) }
    while true {
      var first = larder_cbor_pair()
      var second = larder_cbor_pair()
      var end = 0
      guard
        larder_cbor_find_duplicate(
          bytes, item.pointee.end, item.pointee.head + Int(item.pointee.headBytes),
          item.pointee.count, &first, &second) == LARDER_OK,
        larder_cbor_skip(bytes, item.pointee.end, first.value, &end) == LARDER_OK
      else { return }
      move(from: end, by: first.key - end)
      // What was inside the pair that is gone cannot be written to any more.
      for other in firstMovable..<itemCount
      where items[other].head >= first.key && items[other].head < end {
        items[other].serial = 0
        items[other].keyBytes = 0
      }
      shift(behind: first.key, by: first.key - end)
      item.pointee.count -= 1
    }
  }
}
