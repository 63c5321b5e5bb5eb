// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Each limit from both sides.
@Suite("Store: boundaries")
struct StoreBoundaryTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  @Test(arguments: [0, 1, 493, 494, 495, 511, 512, 65_535, 65_536])
  func aKeyOfEveryLengthIsFoundAgain(length: Int) throws {
    let key = [UInt8](repeating: 0, count: length)
    let sibling = key.dropLast() + [1]
    for round in 0..<3 {
      let store = try Store(url) { $0.journal_bytes = 1 << 20 }
      if round == 0 {
        try store.put(key, "value".bytes)
        if length > 0 { try store.put(Array(sibling), "sibling".bytes) }
      } else if round == 1 {
        try store.flush()
      }
      #expect(try store.get(key)?.value == "value".bytes)
      #expect(try store.get(key)?.key == key)
      if length > 0 { #expect(try store.get(Array(sibling))?.value == "sibling".bytes) }
      #expect(store.isSound)
    }
  }

  @Test func aKeyThatIsTooLongIsRefused() throws {
    let store = try Store(url) { $0.journal_bytes = 1 << 20 }
    let key = [UInt8](repeating: 7, count: 65_537)
    #expect(status { try store.put(key, []) } == Int(LARDER_ETOOLARGE))
    #expect(status { try store.remove(key) } == Int(LARDER_ETOOLARGE))
    #expect(try store.get(key) == nil)
    #expect(try store.totals == (0, 0))
  }

  @Test func extendedDataAndIndexesHaveTheirLimits() throws {
    let store = try Store(url) { $0.journal_bytes = 4 << 20 }
    let long = [UInt8](repeating: 1, count: 65_536)
    try store.put([1], [], extended: long)
    #expect(try store.get([1])?.extended == long)
    #expect(status { try store.put([1], [], extended: long + [1]) } == Int(LARDER_ETOOLARGE))
    let value = [UInt8](long.prefix(4096))
    let most = (0..<64).map { (UInt16($0), value) }
    try store.put([2], [], indexes: most)
    #expect(
      status { try store.put([2], [], indexes: most + [(64, [])]) } == Int(LARDER_ETOOLARGE))
    #expect(
      status { try store.put([2], [], indexes: [(0, value + [1])]) } == Int(LARDER_ETOOLARGE))
    #expect(try store.totals == (2, 0))
    #expect(store.isSound)
  }

  /// Above the largest threshold that there is, it counts as that.
  @Test(arguments: [UInt64(0), 1, 63, 1023, 1024, 4096])
  func valuesUpToTheThresholdLieInTheTreeToo(threshold: UInt64) throws {
    let store = try Store(url) { $0.inline_threshold_bytes = threshold }
    let most = min(Int(threshold), Int(LARDER_STORE_INLINE_MAX_BYTES))
    let lengths = (-1...1).map { most + $0 }.filter { $0 >= 0 }
    for length in lengths {
      let value = [UInt8](repeating: UInt8(length % 250), count: length)
      try store.put([UInt8(length - most + 1)], value)
      // What waits for a checkpoint is in the log alone.
      let entry = try #require(try store.get([UInt8(length - most + 1)]))
      #expect(entry.value == value && entry.isInLog)
    }
    try store.flush()
    for length in lengths {
      let entry = try #require(try store.get([UInt8(length - most + 1)]))
      #expect(entry.value == [UInt8](repeating: UInt8(length % 250), count: length))
      #expect(entry.isInLog == (length > most))
    }
    #expect(store.isSound)
  }

  /// A page of the tree has room for two of its longest rows.
  @Test(arguments: [1399, 1400, 1401, 65_536])
  func aShortValueWhoseRecordIsLongLiesInTheLogAlone(record: Int) throws {
    let store = try Store(url) {
      $0.inline_threshold_bytes = 1024
      $0.journal_bytes = 1 << 20
    }
    // 36 bytes of head, 8 of lengths.
    let extended = [UInt8](repeating: 1, count: record - 36 - 8 - 1 - 10)
    try store.put([7], [UInt8](repeating: 2, count: 10), extended: extended)
    try store.flush()
    let entry = try #require(try store.get([7]))
    #expect(entry.extended == extended && entry.value.count == 10)
    #expect(entry.isInLog == (record > 1400))
    #expect(store.isSound)
  }

  @Test(arguments: [UInt64(0), 1, 5, 6, 7])
  func theLeastRecentGoWhenThereAreMoreThanTheLimit(limit: UInt64) throws {
    let store = try Store(url) { $0.limits.count = limit }
    for key in 0..<6 { try store.put([UInt8(key)], [1]) }
    #expect(try store.totals.count == 6)
    try store.flush()
    let left = min(Int(limit), 6)
    #expect(try store.keys() == (0..<6).suffix(left).map { [UInt8($0)] })
    #expect(try store.totals == (UInt64(left), UInt64(left)))
    #expect(store.isSound)
  }

  @Test func aLimitOfBytesCountsValuesAlone() throws {
    let store = try Store(url) { $0.limits.bytes = 300 }
    for key in 0..<3 { try store.put([UInt8(key)], [UInt8](repeating: 0, count: 100)) }
    try store.flush()
    #expect(try store.totals == (3, 300))
    try store.put([3], [1])
    try store.flush()
    #expect(try store.keys() == [[1], [2], [3]])
    #expect(try store.totals == (3, 201))
  }

  @Test func anEntryIsOverAtItsDeadlineAndNotBefore() throws {
    let clock = StoreClock(1000)
    let store = try Store(url, clock: clock)
    try store.put([1], [1]) { $0.expires_ns = 2000 }
    try store.put([2], [2]) { $0.idle_ns = 500 }
    clock.now = 1499
    #expect(try store.get([2]) != nil)
    clock.now = 1998
    #expect(try store.get([2], flags: Int(LARDER_STORE_PEEK)) != nil)
    clock.now = 1999
    #expect(try store.get([1]) != nil && store.get([2]) == nil)
    clock.now = 2000
    #expect(try store.get([1]) == nil)
    #expect(try store.get([1], flags: Int(LARDER_STORE_EXPIRED_TOO))?.expires == 2000)
    #expect(try store.totals.count == 2)
    var removed: UInt64 = 0
    try check(larder_store_remove_expired(store.pointer, &removed))
    #expect(removed == 2)
    #expect(try store.totals == (0, 0))
    #expect(store.isSound)
  }

  @Test func aLimitOfAgeHoldsForWhatWasWrittenBefore() throws {
    let clock = StoreClock(1000)
    let store = try Store(url, clock: clock)
    try store.put([1], [1])
    try store.put([2], [2]) { $0.flags = UInt32(LARDER_STORE_OWN_TIMES) }
    try store.flush()
    clock.now = 1100
    var limits = larder_store_limits_get(store.pointer)
    limits.age_ns = 101
    try check(larder_store_limits_set(store.pointer, &limits))
    #expect(try store.get([1]) != nil)
    limits.age_ns = 100
    try check(larder_store_limits_set(store.pointer, &limits))
    #expect(try store.get([1]) == nil && store.get([2]) != nil)
    try check(larder_store_maintain(store.pointer))
    #expect(try store.keys() == [[2]])
    #expect(store.isSound)
  }
}
