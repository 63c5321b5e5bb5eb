// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Writes that happen together or not at all.
struct DiskCacheBatchTests {
  private struct Stop: Error {}
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test func aBatchWritesAll() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    let result = try cache.batch { batch in
      try batch.set("new", forKey: 1, extendedData: Data([1]), expiration: .seconds(5))
      try batch.remove(forKey: 2)
      try batch.set(nil, forKey: 3)
      try batch.set("four", forKey: 4)
      return 7
    }
    #expect(result == 7)
    #expect(try cache.entries().map(\.value) == ["new", "four"])
    #expect(try cache.extendedData(forKey: 1) == Data([1]))
    #expect(try Set(cache.infos().map(\.version)).count == 1)
    place.clock.advance(5)
    #expect(try cache.keys() == [4])
  }

  @Test func aBatchThatThrowsWritesNothing() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(Data([1]), forKey: "a")
    #expect(throws: Stop.self) {
      try cache.batch { batch in
        try batch.set(Data([2]), forKey: "a")
        try batch.set(Data(count: 100), forKey: "b")
        throw Stop()
      }
    }
    #expect(try cache.value(forKey: "a") == Data([1]))
    #expect(try cache.count == 1)
    try cache.checkpoint()
    try cache.close()
    #expect(try place.openData().keys() == ["a"])
  }

  @Test func theLastWriteToAKeyCounts() throws {
    let cache = try place.openText()
    try cache.batch { batch in
      try batch.set("first", forKey: 1)
      try batch.remove(forKey: 1)
      try batch.set("last", forKey: 1)
      try batch.set("gone", forKey: 2)
      try batch.remove(forKey: 2)
    }
    #expect(try cache.entries().map(\.value) == ["last"])
    try cache.checkpoint()
    #expect(try cache.entries().map(\.value) == ["last"])
    #expect(try cache.count == 1)
  }

  @Test func anEmptyBatchDoesNothing() throws {
    let cache = try place.openText()
    try cache.batch { _ in }
    try cache.set([:])
    #expect(try cache.isEmpty)
  }

  @Test func aBatchMayHoldLargeValues() throws {
    let cache = try place.openData()
    func value(_ number: Int) -> Data { Data(repeating: UInt8(number), count: 25_000) }
    try cache.batch { batch in
      for number in 0..<20 { try batch.set(value(number), forKey: "\(number)") }
    }
    for _ in 0..<2 {
      for number in 0..<20 { #expect(try cache.value(forKey: "\(number)") == value(number)) }
      try cache.checkpoint()
    }
    // One write may have any size.
    try cache.batch { try $0.set(Data(count: 3 << 20), forKey: "large") }
    #expect(try cache.value(forKey: "large") == Data(count: 3 << 20))
  }

  @Test func aBatchThatDoesNotFitIsRefusedWhole() throws {
    let cache = try place.openData { $0.journalCapacity = 64 << 10 }
    let value = Data(count: 1000)
    #expect(
      errorCode {
        try cache.batch { batch in
          for number in 0..<100 { try batch.set(value, forKey: "\(number)") }
        }
      } == .tooLarge)
    #expect(try cache.isEmpty)
    try cache.batch { batch in
      for number in 0..<20 { try batch.set(value, forKey: "\(number)") }
    }
    #expect(try cache.count == 20)
  }

  @Test func nobodySeesHalfABatch() throws {
    let cache = try place.openText()
    try cache.set([0: "0", 1: "0"])
    let torn = Locked(0)
    let done = Locked(false)
    onDiskThreads(3) { number in
      do {
        if number == 0 {
          for step in 1...2000 {
            try cache.set([0: "\(step)", 1: "\(step)"])
            if step % 500 == 0 { try cache.checkpoint() }
          }
          done.withLock { $0 = true }
        } else {
          while !done.withLock({ $0 }) {
            let values = try cache.entries().map(\.value)
            if values.count != 2 || values[0] != values[1] { torn.withLock { $0 += 1 } }
          }
        }
      } catch {
        Issue.record(error)
        done.withLock { $0 = true }
      }
    }
    #expect(torn.withLock { $0 } == 0)
  }
}
