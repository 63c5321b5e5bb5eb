// SPDX-License-Identifier: MIT

import CLarder
import Foundation

// A type may encode a key twice, in itself or with its superclass. As with Foundation's encoders
// the later value counts, and a nested container of the same kind is the one that is there already.
// Most types never do: a bit for each key tells them apart, beyond 64 keys a set of their hashes.

extension CBORWriter {
  /// Up to here the bits tell most keys apart.
  static var fewKeys: Int { 64 }

  /// Notes the key of an entry of a large map, or one whose bit was set before.
  ///
  /// - Returns: Whether it may have been written before.
  @inline(never)
  func noteRepeatableKey(_ item: CBORItem, at mark: Mark, isNew: Bool) -> Bool {
    let record = items + Int(item.index)
    guard record.pointee.count > Self.fewKeys else { return !isNew }
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
    }
    return keys[item.serial]?.insert(hash(mark.count..<count)).inserted == false
  }

  private func hash(_ range: Range<Int>) -> Int {
    var hasher = Hasher()
    hasher.combine(
      bytes: UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count))
    return hasher.finalize()
  }

  /// The container that was opened before under the key of an entry: a type and its superclass may
  /// both add to it, as they may with Foundation's encoders.
  func container(_ kind: Kind, in parent: CBORItem, at mark: Mark) -> CBORItem? {
    nested(in: parent, at: mark).first { items[$0].kind == kind }
      .map { CBORItem(index: Int32(truncatingIfNeeded: $0), serial: items[$0].serial) }
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
