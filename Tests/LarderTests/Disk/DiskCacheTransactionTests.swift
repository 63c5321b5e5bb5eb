// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Reads and writes that happen as if nothing else did.
struct DiskCacheTransactionTests {
  private struct Stop: Error {}
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test func aTransactionReadsItsOwnWrites() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1)
    try cache.transaction { transaction in
      #expect(try transaction.value(forKey: 1) == "one")
      #expect(try transaction.value(forKey: 2) == nil)
      try transaction.set("two", forKey: 2)
      #expect(try transaction.value(forKey: 2) == "two")
      try transaction.remove(forKey: 1)
      #expect(try transaction.value(forKey: 1) == nil)
      #expect(try cache.value(forKey: 1) == "one")
    }
    #expect(try cache.entries().map(\.value) == ["two"])
  }

  @Test func aTransactionThatThrowsWritesNothing() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1)
    #expect(throws: Stop.self) {
      try cache.transaction { transaction in
        try transaction.set("two", forKey: 1)
        throw Stop()
      }
    }
    #expect(try cache.value(forKey: 1) == "one")
  }

  @Test func aTransactionIsRunAgainIfOthersWroteWhatItRead() throws {
    let cache = try place.openText()
    try cache.set("1", forKey: 1)
    var runs = 0
    try cache.transaction { transaction in
      runs += 1
      let value = try transaction.value(forKey: 1) ?? ""
      if runs == 1 { try cache.set("2", forKey: 1) }
      if runs == 2 { try cache.remove(forKey: 1) }
      try transaction.set(value + "!", forKey: 1)
    }
    #expect(runs == 3)
    #expect(try cache.value(forKey: 1) == "!")
  }

  @Test func aTransactionThatNeverWinsIsAConflict() throws {
    let cache = try place.openText()
    let code = errorCode {
      try cache.transaction { transaction in
        let value = try transaction.value(forKey: 1)
        try cache.set((value ?? "") + "x", forKey: 1)
        try transaction.set("mine", forKey: 1)
      }
    }
    #expect(code == .conflict)
    #expect(try cache.value(forKey: 1) == String(repeating: "x", count: 1000))
  }

  @Test func moneyIsNeitherMadeNorLost() throws {
    let cache = try place.open(Int.self, coder: Coder<Int>.cbor)
    for account in 0..<4 { try cache.set(100, forKey: account) }
    onDiskThreads(4) { thread in
      var generator = SeededGenerator(seed: UInt64(thread))
      for _ in 0..<200 {
        let from = Int.random(in: 0..<4, using: &generator)
        let to = (from + Int.random(in: 1..<4, using: &generator)) % 4
        do {
          try cache.transaction { transaction in
            let there = try transaction.value(forKey: from) ?? 0
            let here = try transaction.value(forKey: to) ?? 0
            try transaction.set(there - 1, forKey: from)
            try transaction.set(here + 1, forKey: to)
          }
        } catch { Issue.record(error) }
      }
    }
    #expect(try cache.entries().reduce(0) { $0 + $1.value } == 400)
  }
}
