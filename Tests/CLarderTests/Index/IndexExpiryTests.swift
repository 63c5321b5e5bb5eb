// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport
import Testing

@Suite("Index: deadlines") struct IndexExpiryTests {
  private func keys(_ gone: [IndexGone]) -> Set<UInt64> { Set(gone.map(\.key)) }

  @Test func anEntryEndsAtItsDeadlineAndNotBefore() throws {
    let index = try Index()
    try index.setExpiry(write: 10)
    try index.set(1, 1)
    index.world.time = 9
    #expect(index.get(1) == 1)
    #expect(!index.writing { index.c.isDue(index.raw) })
    #expect(index.expire() == [])
    index.world.time = 10
    #expect(index.get(1) == nil)
    // It is not found any more, and still counts until it is taken out.
    #expect(index.count == 1)
    #expect(index.writing { index.c.isDue(index.raw) })
    #expect(index.expire() == [IndexGone(1, LARDER_INDEX_EXPIRED)])
    #expect(index.count == 0)
    #expect(index.contradiction == nil)
  }

  @Test func readsPutOffALifeAfterAccessAndNotOneAfterWrite() throws {
    let index = try Index()
    try index.set(1, 1, expiry: larder_index_expiry(access: 10))
    try index.set(2, 2, expiry: larder_index_expiry(write: 10))
    try index.set(3, 3, expiry: larder_index_expiry(write: 25, access: 10))
    for time in stride(from: Int64(6), through: 30, by: 6) {
      index.world.time = time
      #expect(index.get(1) == 1)
      #expect(index.get(2) == (time < 10 ? 2 : nil))
      #expect(index.get(3) == (time < 25 ? 3 : nil))
    }
    #expect(keys(index.expire()) == [2, 3])
    index.world.time = 39
    // A peek is no use.
    #expect(index.get(1, quietly: true) == 1)
    index.world.time = 40
    #expect(index.get(1) == nil)
    #expect(index.contradiction == nil)
  }

  @Test func aTouchWhileHeldForWritingPutsOffToo() throws {
    let index = try Index()
    try index.setExpiry(access: 10)
    try index.set(1, 1)
    index.world.time = 9
    try index.at(1) { index.c.touch(index.raw, $0) }
    index.world.time = 18
    #expect(index.get(1) == 1)
  }

  @Test func theEarliestOfTheThreeCounts() throws {
    let index = try Index()
    index.world.time = 100
    func deadline(_ expiry: larder_index_expiry) throws -> Int64 {
      try index.set(1, 1, expiry: expiry)
      return try index.at(1) { index.c.deadline(index.raw, $0) }
    }
    #expect(try deadline(larder_index_expiry(write: 10, access: 20, at: 130)) == 110)
    #expect(try deadline(larder_index_expiry(write: 30, access: 20, at: 130)) == 120)
    #expect(try deadline(larder_index_expiry(write: 30, access: 20, at: 115)) == 115)
    #expect(try deadline(larder_index_expiry.never) == .max)
    // So late that it would be after the end of time, which is not the same as never.
    #expect(try deadline(larder_index_expiry(write: .max - 1)) == .max - 1)
    #expect(index.contradiction == nil)
  }

  @Test(arguments: [0, -1, Int64.min])
  func aLifeOfNothingEndsAtOnce(length: Int64) throws {
    let index = try Index()
    try index.set(1, 1, expiry: larder_index_expiry(write: length))
    #expect(index.get(1) == nil)
    try index.set(2, 2, expiry: larder_index_expiry(access: length))
    #expect(index.get(2) == nil)
    try index.set(3, 3, expiry: larder_index_expiry(at: length))
    #expect(index.get(3) == nil)
    #expect(index.expire().map(\.key) == [3])
    #expect(index.count == 0)
  }

  @Test func anExpiryOfItsOwnGoesWithTheNextWrite() throws {
    let index = try Index()
    try index.setExpiry(write: 100)
    try index.set(1, 1, expiry: larder_index_expiry(write: 10))
    try index.set(2, 2, expiry: larder_index_expiry.never)
    #expect(try index.at(1) { index.c.deadline(index.raw, $0) } == 10)
    #expect(try index.at(2) { index.c.deadline(index.raw, $0) } == .max)
    // The index's own changes neither.
    try index.setExpiry(write: 50)
    #expect(try index.at(1) { index.c.deadline(index.raw, $0) } == 10)
    #expect(try index.at(2) { index.c.deadline(index.raw, $0) } == .max)
    index.world.time = 5
    try index.set(1, 1)
    #expect(try index.at(1) { index.c.deadline(index.raw, $0) } == 55)
    try index.at(2) { try check(index.c.setEntryExpiry(index.raw, $0, nil)) }
    #expect(try index.at(2) { index.c.deadline(index.raw, $0) } == 50)
    #expect(index.contradiction == nil)
  }

  @Test func whatWasWrittenWhileNothingCouldExpireBeginsItsLifeWithTheFirstExpiry() throws {
    let index = try Index()
    index.world.time = 1000
    try index.set(1, 1)
    index.world.time = 5000
    try index.setExpiry(write: 10)
    #expect(index.get(1) == 1)
    #expect(try index.at(1) { index.c.deadline(index.raw, $0) } == 5010)
    index.world.time = 5010
    #expect(index.get(1) == nil)
  }

  @Test func anExpiryChangedLaterCountsFromTheLastWrite() throws {
    let index = try Index()
    try index.setExpiry(write: 1000)
    index.world.time = 100
    try index.set(1, 1)
    index.world.time = 150
    try index.set(2, 2)
    try index.setExpiry(write: 60)
    #expect(try index.at(1) { index.c.deadline(index.raw, $0) } == 160)
    index.world.time = 160
    #expect(index.expire().map(\.key) == [1])
    try index.setExpiry()
    #expect(index.writing { index.c.nextDeadline(index.raw) } == .max)
    index.world.time = 1_000_000
    #expect(index.get(2) == 2)
    // It remembers when that was.
    try index.setExpiry(write: 60)
    #expect(index.get(2) == nil)
    #expect(index.contradiction == nil)
  }

  @Test func theyGoInTheOrderOfTheirDeadlines() throws {
    let index = try Index()
    for key in 0..<500 as Range<UInt64> {
      try index.set(key, key, expiry: larder_index_expiry(at: Int64(key * 7919 % 500)))
      if key % 50 == 0 { #expect(index.contradiction == nil) }
    }
    // Nothing was due when the last was written but the one at 0.
    index.world.time = 249
    let gone = index.expire().map { Int64($0.key * 7919 % 500) }
    #expect(gone == Array(1...249))
    #expect(index.writing { index.c.nextDeadline(index.raw) } == 250)
    #expect(index.contradiction == nil)
    // A clock that jumps far takes all at once.
    index.world.time = .max - 1
    #expect(index.expire().count == 250)
    #expect(index.writing { index.c.nextDeadline(index.raw) } == .max)
    #expect(index.count == 0)
  }

  @Test func theNextDeadlineIsNeverLaterThanTheFirstToBeDue() throws {
    let index = try Index()
    #expect(index.writing { index.c.nextDeadline(index.raw) } == .max)
    try index.set(1, 1, expiry: larder_index_expiry(access: 10))
    try index.set(2, 2, expiry: larder_index_expiry(write: 30))
    index.world.time = 8
    #expect(index.get(1) == 1)
    #expect(index.writing { index.c.nextDeadline(index.raw) } <= 18)
    index.world.time = 12
    // The deadline that was put off is found out here, at the latest.
    #expect(index.expire() == [])
    #expect(!index.writing { index.c.isDue(index.raw) })
    #expect(index.writing { index.c.nextDeadline(index.raw) } == 18)
    #expect(index.remove(1))
    #expect(index.writing { index.c.nextDeadline(index.raw) } == 30)
    #expect(index.contradiction == nil)
  }

  @Test func pinnedEntriesExpireToo() throws {
    let index = try Index(LARDER_INDEX_ADAPTIVE, count: 3)
    try index.set(1, 1, expiry: larder_index_expiry(write: 10))
    try index.pin(1)
    index.world.time = 10
    #expect(try index.set(2, 2) == [IndexGone(1, LARDER_INDEX_EXPIRED)])
    #expect(index.contradiction == nil)
  }

  @Test func deadlinesSurviveGrowthAndClearing() throws {
    let index = try Index()
    for key in 0..<5000 as Range<UInt64> {
      try index.set(key, key, expiry: larder_index_expiry(at: 1000 + Int64(key)))
    }
    #expect(index.contradiction == nil)
    for key in 0..<5000 as Range<UInt64> where key % 97 == 0 {
      #expect(try index.at(key) { index.c.deadline(index.raw, $0) } == 1000 + Int64(key))
    }
    index.clear(keepingCapacity: true)
    #expect(index.writing { index.c.nextDeadline(index.raw) } == .max)
    index.world.time = 3000
    try index.set(1, 1)
    #expect(index.get(1) == 1)
    #expect(index.contradiction == nil)
  }

  @Test func withoutAClockOfTheCallersTimeGoesOn() throws {
    let index = try Index { $0.clock = nil }
    let now = larder_index_now(index.raw)
    #expect(now > 0)
    try index.set(1, 1, expiry: larder_index_expiry(write: 3_600_000_000_000))
    #expect(index.get(1) == 1)
    let deadline = try index.at(1) { index.c.deadline(index.raw, $0) }
    #expect(deadline >= now + 3_600_000_000_000)
    #expect(larder_index_now(index.raw) >= now)
  }
}
