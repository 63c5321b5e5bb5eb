// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport

extension IndexDriver {
  private func expect(_ isRight: Bool, _ comment: @autoclosure () -> String) throws {
    if !isRight { throw IndexDifference(comment()) }
  }

  /// Everything that can be asked: the same figures, entries, order and deadlines.
  func compare() throws {
    try compareFigures()
    try compareOrder()
    try index.writing { try compareEntries() }
  }

  private func compareFigures() throws {
    let statistics = index.statistics
    try expect(
      index.count == model.entries.count && index.totalCost == model.totalCost,
      "\(index.count) entries at \(index.totalCost), not \(model.count) at \(model.totalCost)")
    try expect(
      statistics.hits == hits && statistics.misses == misses
        && statistics.insertions == model.insertions && statistics.byCause == model.gone,
      "\(statistics), not \(hits) hits, \(misses) misses, \(model.insertions), \(model.gone)")
    try expect(statistics.memory_bytes > 0, "no memory")
  }

  private func compareOrder() throws {
    let keys = try index.keys()
    try expect(keys == model.order, "in order: \(keys), not \(model.order)")
    let back = try index.keys(LARDER_INDEX_LAST_TO_GO)
    try expect(back.reversed().elementsEqual(keys), "back: \(back), but \(keys)")
    let first = try index.keys(limit: 3)
    try expect(first.elementsEqual(keys.prefix(3)), "first three: \(first) of \(keys)")
    let last = try index.keys(LARDER_INDEX_LAST_TO_GO, limit: 3)
    try expect(last.elementsEqual(back.prefix(3)), "last three: \(last) of \(back)")
  }

  private func compareEntries() throws {
    var slots = [Index.Slot](repeating: 0, count: model.entries.count)
    var count = 0
    try check(index.c.list(index.raw, LARDER_INDEX_UNORDERED, &slots, slots.count, &count))
    var seen: Set<UInt64> = []
    for slot in slots.prefix(count) {
      let key = index.key(slot)
      guard let should = model.entries[key] else { throw IndexDifference("\(key) is still there") }
      seen.insert(key)
      try expect(
        index.value(slot) == should.value && index.c.cost(index.raw, slot) == should.cost
          && index.c.isPinned(index.raw, slot) == should.isPinned
          && index.c.deadline(index.raw, slot) == should.deadline,
        "\(key) is \(index.value(slot)) at \(index.c.cost(index.raw, slot)) until "
          + "\(index.c.deadline(index.raw, slot)), not \(should)")
    }
    try expect(seen.count == model.entries.count, "\(seen.count) different keys")
    let next = index.c.nextDeadline(index.raw)
    let should = model.nextDeadline
    try expect(
      next <= should && (next == .max) == (should == .max), "next deadline \(next), not \(should)")
    // It may be so without reason, and never the other way round.
    let isDue = index.c.isDue(index.raw)
    try expect(isDue == (next <= now), "due: \(isDue) at \(now), next \(next), \(should)")
  }
}
