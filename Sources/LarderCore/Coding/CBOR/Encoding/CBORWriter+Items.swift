// SPDX-License-Identifier: MIT

import CLarder

extension CBORWriter {
  /// Writes an empty map in the place of a value to come, as part of `top`.
  func open(_ kind: Kind, keyBytes: Int = 0) -> CBORItem {
    if itemCount == itemCapacity { growItems() }
    lastSerial &+= 1
    let index = Int32(truncatingIfNeeded: itemCount)
    let depth = (top < 0 ? 0 : items[Int(top)].depth) + 1
    deepest = max(deepest, Int(depth))
    items[itemCount] = Item(
      serial: lastSerial, parent: top, depth: depth, kind: kind, isSealed: false,
      mayRepeatKeys: false,
      headBytes: 1, keyBytes: Int32(clamping: keyBytes), head: count, end: 0, count: 0, keyMask: 0)
    itemCount += 1
    top = index
    reserve(1)
    bytes[count] = kind == .array ? 0x80 : 0xa0
    count += 1
    return CBORItem(index: index, serial: lastSerial)
  }

  /// Ends the place of a value and all that was opened in it.
  func close(_ item: CBORItem, parent: Int32) {
    if isCurrent(item), !items[Int(item.index)].isSealed {
      seal(downTo: parent)
    } else {
      // The value wrote to a container around it, which sealed its own place.
      while top >= item.index { seal(downTo: items[Int(top)].parent) }
    }
    if hasGaps { closeGaps(from: Int(item.index)) }
    itemCount = min(itemCount, Int(item.index))
  }

  /// Whether the record is the one that the name was made for.
  @inline(__always)
  func isCurrent(_ item: CBORItem) -> Bool {
    Int(item.index) < itemCount && items[Int(item.index)].serial == item.serial
  }

  /// Seals open items until `index` is the innermost.
  func seal(downTo index: Int32) {
    while top != index, top >= 0 {
      let item = items + Int(top)
      item.pointee.end = count
      item.pointee.isSealed = true
      top = item.pointee.parent
      setHead(item)
    }
  }

  /// Brings a container's head in line with its entries.
  @inline(__always)
  func setHead(_ item: UnsafeMutablePointer<Item>) {
    if item.pointee.count >= 24 || item.pointee.mayRepeatKeys { return settle(item) }
    // The type and the count share the one byte there is.
    if item.pointee.kind == .map || item.pointee.kind == .array {
      bytes[item.pointee.head] =
        (item.pointee.kind == .map ? 0xa0 : 0x80) | UInt8(truncatingIfNeeded: item.pointee.count)
    }
  }

  @inline(never)
  func settle(_ item: UnsafeMutablePointer<Item>) {
    if item.pointee.mayRepeatKeys { removeRepeatedKeys(item) }
    let major = item.pointee.kind == .map ? LARDER_CBOR_MAP : LARDER_CBOR_ARRAY
    var head: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &head) { head in
      let start = head.baseAddress!.assumingMemoryBound(to: UInt8.self)
      let length = larder_cbor_write_head(
        start, UInt32(major), UInt64(truncatingIfNeeded: item.pointee.count))
      let old = Int(item.pointee.headBytes)
      if length != old {
        let head = item.pointee.head
        move(from: head + old, by: length - old)
        shift(behind: head, by: length - old)
        item.pointee.headBytes = UInt8(truncatingIfNeeded: length)
      }
      (bytes + item.pointee.head).update(from: start, count: length)
    }
  }

  /// Accounts for `distance` bytes more, or fewer, directly behind the head at `offset`.
  func shift(behind offset: Int, by distance: Int) {
    for other in firstMovable..<itemCount {
      if items[other].head > offset { items[other].head += distance }
      if items[other].isSealed, items[other].end > offset { items[other].end += distance }
    }
  }

  /// Makes `item` the place where bytes go.
  ///
  /// - Returns: Whether it was sealed, so that `endLate` has to be called when the entry is
  ///   written.
  @inline(__always)
  func focus(_ item: CBORItem, _ path: CBORPath?) throws -> Bool {
    if item.index == top, items[Int(top)].serial == item.serial { return false }
    return try focusElsewhere(item, path)
  }

  @inline(never)
  private func focusElsewhere(_ item: CBORItem, _ path: CBORPath?) throws -> Bool {
    guard isCurrent(item), item.index >= firstMovable || item.index == late.last?.item.index else {
      throw unusable(
        path, "A container was used after the value it belongs to, or in the midst of another one.")
    }
    if items[Int(item.index)].isSealed {
      beginLate(item)
      return true
    }
    seal(downTo: item.index)
    return false
  }

  /// Takes back what was written of an entry that failed.
  @inline(never)
  func rollBack(_ item: CBORItem, to mark: Mark) {
    // Sealed, it was left for a container around it, and what it has is whole.
    guard isCurrent(item), !items[Int(item.index)].isSealed else { return }
    // The entry's value has the first record behind, which knows where it is if bytes were moved.
    let value = itemCount > mark.itemCount ? items[mark.itemCount].head : mark.keyEnd
    itemCount = mark.itemCount
    top = item.index
    count = value - (mark.keyEnd - mark.count)
    items[Int(item.index)].count -= 1
    if mark.isLate { endLate() }
  }

  func unusable(_ path: CBORPath?, _ why: String) -> EncodingError {
    EncodingError.invalidValue(
      valueType, EncodingError.Context(codingPath: path.keys, debugDescription: why))
  }

  /// Keeps the first failure of calls that cannot throw.
  func fail(_ error: any Error) {
    if failure == nil { failure = error }
  }
}
