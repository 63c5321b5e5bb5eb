// SPDX-License-Identifier: MIT

// Adding to a container that was sealed. The entry is written at the end of the buffer, like every
// other one, and then moved to where the container ends. Room for it is made there by moving what
// stands behind, and more room than it needs, as much as the container has: so a type that writes
// to two containers in turn moves each byte a few times, and not once for every entry. The gaps
// that are left are closed when the value is done, or when somebody has to walk over them.

extension CBORWriter {
  /// An entry that is being added to a sealed container.
  struct Late {
    var item: CBORItem
    /// Where the entry is being written.
    var start: Int
    var isReplacing: Bool
    var top: Int32
    /// Records from here on were made for the entry.
    var firstItem: Int
  }

  /// Opens a sealed container again.
  ///
  /// - Parameter isReplacing: Whether the entry takes the place of all it has so far.
  func beginLate(_ item: CBORItem, isReplacing: Bool = false) {
    late.append(
      Late(item: item, start: count, isReplacing: isReplacing, top: top, firstItem: itemCount))
    firstMovable = itemCount
    items[Int(item.index)].isSealed = false
    top = item.index
  }

  /// Moves the entry to where it belongs, and seals the container again.
  func endLate() {
    let late = self.late.removeLast()
    seal(downTo: late.item.index)
    firstMovable = self.late.last?.firstItem ?? 0
    let record = items + Int(late.item.index)
    record.pointee.isSealed = true
    var start = late.start
    let length = count - start
    let replaced = late.isReplacing ? record.pointee.end - record.pointee.head : 0
    let lacking = length - replaced - record.pointee.gap
    if lacking > 0 {
      let wanted = lacking + (late.isReplacing ? 0 : record.pointee.end - record.pointee.head)
      widenGap(of: late.item.index, by: wanted, before: late.firstItem)
      start += wanted
    }
    let target = record.pointee.end - replaced
    (bytes + target).update(from: bytes + start, count: length)
    count = start
    for other in late.firstItem..<itemCount {
      items[other].head += target - start
      items[other].end += target - start
    }
    record.pointee.end = target + length
    record.pointee.gap += replaced - length
    if record.pointee.gap > 0 { hasGaps = true }
    top = late.top
    setHead(record)
  }

  /// Moves what stands behind a sealed container.
  private func widenGap(of index: Int32, by distance: Int, before firstItem: Int) {
    let behind = items[Int(index)].end + items[Int(index)].gap
    move(from: behind, by: distance)
    for other in firstMovable..<itemCount where items[other].head >= behind {
      items[other].head += distance
      items[other].end += distance
    }
    var outer = items[Int(index)].parent
    while outer >= firstMovable {
      if items[Int(outer)].isSealed { items[Int(outer)].end += distance }
      outer = items[Int(outer)].parent
    }
    items[Int(index)].gap += distance
  }

  /// Closes the gaps of the records from `first` on.
  @inline(never)
  func closeGaps(from first: Int) {
    let gaps = (first..<itemCount).filter { items[$0].gap > 0 }
      .map { (start: items[$0].end, length: items[$0].gap) }
      .sorted { $0.start < $1.start }
    guard let firstGap = gaps.first else { return }
    var target = firstGap.start
    // How many bytes are gone before each place behind a gap.
    var gone: [(place: Int, bytes: Int)] = []
    for (index, gap) in gaps.enumerated() {
      let source = gap.start + gap.length
      let end = index + 1 < gaps.count ? gaps[index + 1].start : count
      (bytes + target).update(from: bytes + source, count: end - source)
      target += end - source
      gone.append((source, (gone.last?.bytes ?? 0) + gap.length))
    }
    count = target
    func moved(_ offset: Int) -> Int {
      // The last place that is not behind the offset.
      var (low, high) = (0, gone.count)
      while low < high {
        let middle = (low + high) / 2
        if gone[middle].place <= offset { low = middle + 1 } else { high = middle }
      }
      return low == 0 ? offset : offset - gone[low - 1].bytes
    }
    for other in firstMovable..<itemCount {
      items[other].head = moved(items[other].head)
      items[other].end = moved(items[other].end)
      if other >= first { items[other].gap = 0 }
    }
  }
}
