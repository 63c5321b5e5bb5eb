// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Limits and trimming. After RECache's trimToCount, trimToCost, trimToCostIntMaxIsNoOp,
/// trimToCountIntMaxIsNoOp; KVStorage's removeItemsToFitSize, removeItemsToFitCount,
/// removeItemsLargerThanSize with their edges, getUpdatesAccessTime.
struct DiskCacheLimitTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test(arguments: [
    (Int.min, 0), (-1, 0), (0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (Int.max, 10),
  ])
  func trimmingToACountKeepsThatMany(count: Int, kept: Int) throws {
    let cache = try place.openText()
    try cache.fill(1...10)
    #expect(try cache.trim(toCount: count) == 10 - kept)
    #expect(try cache.count == kept)
    #expect(try cache.keys() == Array((1...10).suffix(kept)))
  }

  @Test(arguments: [
    (Int.min, 0), (0, 0), (99, 0), (100, 1), (101, 1), (300, 3), (999, 9), (1000, 10),
    (Int.max, 10),
  ])
  func trimmingToACostKeepsNoMoreThanThat(cost: Int, kept: Int) throws {
    let cache = try place.openData()
    for number in 0..<10 { try cache.set(Data(count: 100), forKey: "\(number)") }
    #expect(try cache.trim(toSize: DataSize(bytes: cost)) == 10 - kept)
    #expect(try cache.size.bytes == kept * 100)
    #expect(try cache.keys() == (0..<10).map(String.init).suffix(kept))
  }

  @Test func whatExceedsTheLimitAloneIsEvictedAlone() throws {
    let cache = try place.openData { $0.sizeLimit = 100_000 }
    for number in 0..<10 { try cache.set(Data(count: 5000), forKey: "\(number)") }
    try cache.checkpoint()
    try cache.set(Data(count: 100_001), forKey: "large")
    try cache.set(Data(count: 100_001), forKey: "3")
    #expect(try cache.value(forKey: "3")?.count == 100_001)
    try cache.checkpoint()
    #expect(try cache.keys() == [0, 1, 2, 4, 5, 6, 7, 8, 9].map(String.init))
    #expect(try cache.statistics.evicted == 2)
    #expect(try cache.size == 45_000)
    // As much as the limit is kept, and the others go.
    try cache.set(Data(count: 100_000), forKey: "large")
    try cache.checkpoint()
    #expect(try cache.keys() == ["large"])
  }

  @Test func trimmingLeavesNothingLiveInTheLog() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    for number in 0..<10 { try cache.set(Data(count: 1000), forKey: "\(number)") }
    try cache.checkpoint()
    #expect(try cache.statistics.liveSize > 10_000)
    try cache.trim(toCount: 3)
    try cache.checkpoint()
    #expect((3000..<5000).contains(try cache.statistics.liveSize))
    try cache.trim(toSize: 0)
    try cache.checkpoint()
    #expect(try cache.statistics.liveSize < 1000)
  }

  @Test func theLeastRecentlyUsedGoesFirst() throws {
    let cache = try place.openText { $0.tracksUse = true }
    try cache.fill(1...6)
    try cache.checkpoint()
    for key in [2, 4, 6] { _ = try cache.value(forKey: key) }
    _ = try cache.peek(forKey: 1)
    _ = try cache.contains(3)
    #expect(try cache.trim(toCount: 3) == 3)
    #expect(try cache.keys() == [2, 4, 6])
    #expect(try cache.keys(order: .leastRecentFirst) == [2, 4, 6])
  }

  /// At the defaults and at full speed: the figures are those of `sizeLimit`.
  @Test(arguments: [2_000_000, 20_000_000])
  func aCostLimitIsExceededByNoMoreThanItsDocumentationSays(limit: Int) throws {
    var configuration = DiskCacheConfiguration<Int, Data>()
    configuration.sizeLimit = DataSize(bytes: limit)
    let cache = try DiskCache<Int, Data>(at: .path(place.path), configuration: configuration)
    let value = Data(repeating: 7, count: 50_000)
    let excess = limit / 2 + 2 << 20
    let records = limit + limit / 50_000 * 100
    for key in 0..<(8 * limit / 50_000) {
      try cache.set(value, forKey: key)
      if !key.isMultiple(of: 20) { continue }
      #expect(try cache.size.bytes <= limit + excess)
      #expect(try place.log.blocks <= records * 6 / 5 + excess + 4 << 20)
    }
    try cache.checkpoint()
    #expect(try cache.size.bytes <= limit)
    #expect(try place.log.blocks <= records * 6 / 5 + 4 << 20)
    try cache.close()
  }

  @Test func aCountLimitHoldsAfterAFlush() throws {
    let cache = try place.openText { $0.countLimit = 5 }
    try cache.fill(1...20)
    try cache.checkpoint()
    #expect(try cache.keys() == Array(16...20))
    _ = try cache.value(forKey: 16)
    try cache.set("21", forKey: 21)
    try cache.checkpoint()
    #expect(try cache.keys() == [16, 18, 19, 20, 21])
    #expect(try cache.statistics.evicted == 16)
    cache.countLimit = 2
    try cache.checkpoint()
    #expect(try cache.keys() == [16, 21])
    cache.countLimit = .max
    try cache.fill(1...10)
    try cache.checkpoint()
    #expect(try cache.count == 12)
  }

  @Test func aCostLimitHoldsAfterAFlush() throws {
    let cache = try place.openData { $0.sizeLimit = 1000 }
    for number in 0..<30 { try cache.set(Data(count: 100), forKey: "\(number)") }
    try cache.checkpoint()
    #expect(try cache.size == 1000)
    cache.sizeLimit = 999
    try cache.checkpoint()
    #expect(try cache.size == 900)
    try cache.set(Data(count: 2000), forKey: "more than the limit")
    try cache.checkpoint()
    #expect(try cache.size <= 999)
  }

  @Test func aLimitOfNothingKeepsNothing() throws {
    let cache = try place.openText { $0.countLimit = 0 }
    try cache.fill(1...3)
    try cache.checkpoint()
    #expect(try cache.isEmpty)
  }

  @Test func emptyValuesAreWithinEveryCost() throws {
    let cache = try place.openData { $0.sizeLimit = 0 }
    try cache.set(Data([1]), forKey: "one byte")
    try cache.set(Data(), forKey: "empty")
    try cache.checkpoint()
    #expect(try cache.keys() == ["empty"])
  }

  @Test(arguments: [1 << 31, (1 << 31) - 1, 1 << 40, Int.max - 1])
  func limitsPast2GiBAreOrdinary(limit: Int) throws {
    let cache = try place.openText {
      $0.sizeLimit = DataSize(bytes: limit)
      $0.countLimit = limit
    }
    try cache.fill(1...3)
    try cache.checkpoint()
    #expect(try cache.count == 3)
    #expect(try cache.trim(toSize: DataSize(bytes: limit)) == 0)
    #expect(try cache.trim(toCount: limit) == 0)
  }

  @Test func roomIsLeftOnTheDisk() throws {
    let free = Locked(UInt64(1_000_000))
    let cache = try place.openData {
      $0.freeDiskSpaceLimit = 500_000
      $0.freeDiskSpace = { free.withLock { $0 } }
      $0.inlineThreshold = 0
    }
    for number in 0..<10 { try cache.set(Data(count: 1000), forKey: "\(number)") }
    try cache.trim()
    #expect(try cache.count == 10)
    free.withLock { $0 = 496_000 }
    try cache.trim()
    let left = try cache.count
    #expect(left == 6)
    #expect(try cache.keys() == (0..<10).map(String.init).suffix(left))
  }
}
