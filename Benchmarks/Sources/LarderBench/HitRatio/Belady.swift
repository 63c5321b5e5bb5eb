// SPDX-License-Identifier: MIT

/// The most hits that any cache can have which knows the future (Belady, IBM Systems Journal 1966;
/// here it may also leave out what was missed): it keeps what is needed again soonest.
///
/// A heap has the entries by their next use, the latest on top. When an entry is used, its place in
/// the heap is not found and moved: a new one is added, and the old one, whose next use has passed,
/// sinks below all others. It cannot come to the top while there are entries, because these have
/// their next use ahead; so the top is an entry whenever the cache is full. O(n log n).
struct Belady {
  /// For each access the number of the next one to the same key.
  private let nextUse: [UInt32]
  /// For each access its key, numbered from 0.
  private let keys: [UInt32]
  let uniqueKeys: Int

  private static let never = UInt32.max

  init(_ trace: [UInt64]) {
    var numbers: [UInt64: UInt32] = [:]
    keys = trace.map { key in
      let fresh = UInt32(numbers.count)
      return { (number: inout UInt32?) in
        if let number { return number }
        number = fresh
        return fresh
      }(&numbers[key])
    }
    uniqueKeys = numbers.count
    var next = [UInt32](repeating: Self.never, count: trace.count)
    var latest = [UInt32](repeating: Self.never, count: numbers.count)
    for access in keys.indices.reversed() {
      let key = Int(keys[access])
      next[access] = latest[key]
      latest[key] = UInt32(access)
    }
    nextUse = next
  }

  func hits(capacity: Int) -> Int {
    var heap = LatestFirst()
    var isCached = [Bool](repeating: false, count: uniqueKeys)
    var count = 0
    var hits = 0
    for access in keys.indices {
      let key = Int(keys[access])
      let next = nextUse[access]
      if isCached[key] {
        hits += 1
        // What is not needed again is dropped: that costs no hit, and leaves room.
        isCached[key] = false
        count -= 1
      }
      guard next != Self.never else { continue }
      if count == capacity {
        guard let latest = heap.latest, latest > next else { continue }
        heap.removeLatest()
        isCached[Int(keys[Int(latest)])] = false
        count -= 1
      }
      isCached[key] = true
      count += 1
      heap.insert(next)
    }
    return hits
  }
}

/// A binary heap of numbers of accesses with the largest on top.
private struct LatestFirst {
  private var places: [UInt32] = []

  var latest: UInt32? { places.first }

  mutating func insert(_ new: UInt32) {
    var child = places.count
    places.append(new)
    while child > 0, places[(child - 1) / 2] < new {
      places[child] = places[(child - 1) / 2]
      child = (child - 1) / 2
    }
    places[child] = new
  }

  mutating func removeLatest() {
    guard let moved = places.popLast(), !places.isEmpty else { return }
    var parent = 0
    while 2 * parent + 1 < places.count {
      var child = 2 * parent + 1
      if child + 1 < places.count, places[child + 1] > places[child] { child += 1 }
      if places[child] <= moved { break }
      places[parent] = places[child]
      parent = child
    }
    places[parent] = moved
  }
}
