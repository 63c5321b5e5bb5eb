// SPDX-License-Identifier: MIT

import CLarder

// As with Foundation's encoders a container may add to what a whole value has written: behind a
// value in a single value container, and under a key that a value has. Such a value is bytes, and
// nobody has counted what is in it, so its head is read.

extension CBORWriter {
  /// Makes a container of the value that was written in an item's place, if it is one of that kind.
  ///
  /// - Returns: Whether it is.
  func reopen(_ index: Int, as kind: Kind) -> Bool {
    let record = items + index
    guard record.pointee.kind == .single, kind != .pending else { return false }
    var head = larder_cbor_head()
    guard larder_cbor_read_head(bytes + record.pointee.head, count - record.pointee.head, &head)
    else { return false }
    if kind == .array, Int(head.major) == LARDER_CBOR_TAG,
      CBORUnordered(rawValue: head.argument) != nil
    {
      sortMarked(record)
      return reopen(index, as: kind)
    }
    guard Int(head.major) == (kind == .array ? LARDER_CBOR_ARRAY : LARDER_CBOR_MAP) else {
      return false
    }
    record.pointee.kind = kind
    record.pointee.headBytes = UInt8(truncatingIfNeeded: head.length)
    record.pointee.count = Int(truncatingIfNeeded: head.argument)
    // Its keys were not noted, as those of a large map.
    record.pointee.notedKeys = Self.fewKeys
    return true
  }

  /// Sorts a marked array at once: what is added behind it keeps its place.
  private func sortMarked(_ record: UnsafeMutablePointer<Item>) {
    let end = record.pointee.isSealed ? record.pointee.end : count
    let start = bytes + record.pointee.head
    var sorter = CBORSorter(UnsafeBufferPointer(start: start, count: end - record.pointee.head))
    sorter.sort()
    start.update(from: sorter.sorted, count: sorter.sorted.count)
    let sortedEnd = record.pointee.head + sorter.sorted.count
    if record.pointee.isSealed {
      record.pointee.end = sortedEnd
      record.pointee.gap += end - sortedEnd
      hasGaps = true
    } else {
      count = sortedEnd
    }
  }

  /// The container of that kind which a value has written under a key, if it has.
  ///
  /// - Parameter parent: A map to which an entry has just been added and taken back.
  func adopt(_ kind: Kind, under key: [UInt8], in parent: CBORItem) -> CBORItem? {
    guard parent.index >= firstMovable else { return nil }
    if hasGaps { closeGaps(from: firstMovable) }
    let map = items[Int(parent.index)]
    var offset = map.head + Int(map.headBytes)
    // The last one under the key counts.
    var found: Range<Int>?
    for _ in 0..<map.count {
      var (value, end) = (0, 0)
      guard larder_cbor_skip(bytes, count, offset, &value) == LARDER_OK,
        larder_cbor_skip(bytes, count, value, &end) == LARDER_OK
      else { return nil }
      if UnsafeBufferPointer(start: bytes + offset, count: value - offset).elementsEqual(key) {
        found = value..<end
      }
      offset = end
    }
    guard let found else { return nil }
    if itemCount == itemCapacity { growItems() }
    lastSerial &+= 1
    let index = itemCount
    items[index] = Item(
      serial: lastSerial, parent: parent.index, depth: map.depth + 1, kind: .single,
      isSealed: true, mayRepeatKeys: false, headBytes: 1, keyBytes: Int32(clamping: key.count),
      head: found.lowerBound, end: found.upperBound, count: 0, keyMask: 0)
    guard reopen(index, as: kind) else { return nil }
    itemCount += 1
    return CBORItem(index: Int32(truncatingIfNeeded: index), serial: lastSerial)
  }
}
