// SPDX-License-Identifier: MIT

extension CBORWriter {
  /// An entry that is being added to a sealed container.
  struct Late {
    var item: CBORItem
    /// Where the container ended.
    var end: Int
    /// What stood behind it.
    var tail: [UInt8]
    var top: Int32
    /// Records from here on were made for the entry.
    var firstItem: Int
  }

  /// Opens a sealed container again, at its end.
  ///
  /// - Parameter isReplacing: Whether the entry takes the place of all it has so far.
  func beginLate(_ item: CBORItem, isReplacing: Bool = false) {
    let record = items + Int(item.index)
    let end = record.pointee.end
    late.append(
      Late(
        item: item, end: end,
        tail: Array(UnsafeBufferPointer(start: bytes + end, count: count - end)),
        top: top, firstItem: itemCount))
    firstMovable = itemCount
    count = isReplacing ? record.pointee.head : end
    record.pointee.isSealed = false
    top = item.index
  }

  /// Seals the container again, and puts back what stands behind it.
  func endLate() {
    let late = self.late.removeLast()
    seal(downTo: late.item.index)
    firstMovable = self.late.last?.firstItem ?? 0
    let growth = count - late.end
    late.tail.withUnsafeBufferPointer { tail in
      reserve(tail.count)
      if let start = tail.baseAddress { (bytes + count).update(from: start, count: tail.count) }
      count += tail.count
    }
    let record = items + Int(late.item.index)
    record.pointee.isSealed = true
    record.pointee.end = late.end
    for other in firstMovable..<late.firstItem where items[other].head >= late.end {
      items[other].head += growth
      items[other].end += growth
    }
    var outer = late.item.index
    while outer >= firstMovable {
      if items[Int(outer)].isSealed { items[Int(outer)].end += growth }
      outer = items[Int(outer)].parent
    }
    top = late.top
    setHead(record)
  }
}
