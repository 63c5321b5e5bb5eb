// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// The order of use, in stores that keep it and in those that do not.
@Suite("Store: order of use")
struct StoreOrderTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  private func recency(_ store: Store, flags: Int = 0) throws -> [UInt8] {
    try store.keys {
      $0.order = LARDER_STORE_BY_RECENCY
      $0.flags = UInt32(flags)
    }.map { $0[0] }
  }

  private func setLimit(_ count: UInt64, _ store: Store) throws {
    var limits = larder_store_limits_get(store.pointer)
    limits.count = count
    try check(larder_store_limits_set(store.pointer, &limits))
  }

  @Test(arguments: [false, true])
  func aLimitThatComesLaterEvictsTheOldestWritesOfAStoreThatKeptNoOrder(reopens: Bool) throws {
    var tuning = tuned { _ in }
    tuning.remove_max_count = 3
    var store = try Store(url, tuning: tuning)
    for key in [UInt8](0..<40).reversed() { try store.put([key], [key]) }
    try store.flush()
    try store.put([39], [1])
    if reopens {
      store.close()
      store = try Store(url, tuning: tuning) { $0.limits.count = 5 }
    } else {
      try setLimit(5, store)
    }
    try store.flush()
    #expect(try recency(store) == [3, 2, 1, 0, 39])
    #expect(store.isSound)
    // From here on reads count.
    #expect(try store.get([3]) != nil)
    try store.put([50], [])
    try store.flush()
    #expect(try recency(store) == [1, 0, 39, 3, 50])
    #expect(try store.figures.evicted == 36)
    #expect(store.isSound)
  }

  @Test func trimmingAStoreThatKeptNoOrderEvictsItsOldestWrites() throws {
    let store = try Store(url)
    for key in [UInt8](0..<10).reversed() { try store.put([key], [key]) }
    var removed: UInt64 = 0
    try check(larder_store_trim(store.pointer, 4, UInt64.max, &removed))
    #expect(try removed == 6 && store.keys() == [[0], [1], [2], [3]])
    #expect(store.isSound)
  }

  @Test func withoutLimitsTheOrderIsThatOfWrites() throws {
    let store = try Store(url)
    for key in UInt8(0)..<6 { try store.put([key], [key]) }
    try store.flush()
    #expect(try store.get([0]) != nil)
    try store.put([2], [])
    try store.remove([4])
    for _ in 0..<2 {
      #expect(try recency(store) == [0, 1, 3, 5, 2])
      #expect(
        try recency(store, flags: Int(LARDER_STORE_DESCENDING)) == [2, 5, 3, 1, 0])
      try store.flush()
    }
    let reader = try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
    try store.commit { batch in
      for key in UInt8(7)..<10 { try put([key], [], in: batch) }
    }
    #expect(try recency(reader) == [0, 1, 3, 5, 2, 7, 8, 9])
    #expect(reader.isSound && store.isSound)
  }

  @Test func theOrderThatIsAskedForIsKeptFromThenOn() throws {
    var store = try Store(url)
    for key in UInt8(0)..<6 { try store.put([key], [key]) }
    store.close()
    for session in 0..<2 {
      store = try Store(url) { $0.flags |= UInt32(LARDER_STORE_TRACK_ACCESS) }
      let before = try recency(store)
      #expect(before == (session == 0 ? [0, 1, 2, 3, 4, 5] : [1, 3, 4, 5, 0, 2]))
      #expect(try store.get([0]) != nil && store.get([2]) != nil)
      try store.flush()
      #expect(try recency(store) == [1, 3, 4, 5, 0, 2])
      #expect(store.isSound)
      store.close()
    }
  }
}
