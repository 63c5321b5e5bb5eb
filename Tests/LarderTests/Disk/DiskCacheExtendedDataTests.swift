// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// After RECache's extendedDataRoundtrip, extendedDataNilAfterRemove, asyncExtendedData,
/// asyncValueWithExtendedData; KVStorage's saveAndRetrieveExtendedData,
/// extendedDataWithFile, getItemInfo, saveItemObject.
struct DiskCacheExtendedDataTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test(arguments: [1, 2, 100, 65_535, 65_536])
  func extendedDataComesBackWithTheValueAndWithout(size: Int) throws {
    let cache = try place.openText()
    let extended = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })
    try cache.set("one", forKey: 1, extendedData: extended)
    for _ in 0..<2 {
      #expect(try cache.extendedData(forKey: 1) == extended)
      let found = try cache.valueWithExtendedData(forKey: 1)
      #expect(found?.value == "one")
      #expect(found?.extendedData == extended)
      #expect(try cache.info(forKey: 1)?.extendedData == extended)
      try cache.checkpoint()
    }
  }

  @Test func emptyIsNone() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, extendedData: Data())
    #expect(try cache.extendedData(forKey: 1) == nil)
    #expect(try cache.valueWithExtendedData(forKey: 1)?.value == "one")
  }

  @Test func moreThanTheLimitIsRefused() throws {
    let cache = try place.openText()
    let failure = error { try cache.set("one", forKey: 1, extendedData: Data(count: 65_537)) }
    #expect(failure?.code == .tooLarge)
    #expect(try cache.isEmpty)
  }

  @Test func itGoesWithItsEntry() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, extendedData: Data([1]))
    try cache.set("two", forKey: 1)
    #expect(try cache.extendedData(forKey: 1) == nil)
    try cache.set("three", forKey: 1, extendedData: Data([3]))
    try cache.remove(forKey: 1)
    #expect(try cache.extendedData(forKey: 1) == nil)
  }

  @Test func itIsKeptWithALargeValue() throws {
    let cache = try place.openData()
    try cache.set(Data(count: 100_000), forKey: "a", extendedData: Data([7]))
    #expect(try cache.extendedData(forKey: "a") == Data([7]))
    try cache.checkpoint()
    #expect(try cache.extendedData(forKey: "a") == Data([7]))
    #expect(try cache.valueWithExtendedData(forKey: "a")?.value == Data(count: 100_000))
  }

  @Test func itDoesNotCountForTheCost() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, extendedData: Data(count: 1000))
    #expect(try cache.size == 3)
  }

  @Test func updatingAValueLeavesIt() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, extendedData: Data([1]))
    try cache.update(forKey: 1) { $0 = $0.map { $0 + "!" } }
    #expect(try cache.valueWithExtendedData(forKey: 1)?.value == "one!")
    #expect(try cache.extendedData(forKey: 1) == Data([1]))
  }
}
