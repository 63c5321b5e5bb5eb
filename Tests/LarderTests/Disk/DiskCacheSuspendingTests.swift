// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// A cache that is suspended, written by somebody else meanwhile, and resumed.
struct DiskCacheSuspendingTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  /// What another process would do: it opens the folder for writing.
  private func visit<R>(_ body: (DiskCache<Int, String>) throws -> R) throws -> R {
    let visitor = try place.openText()
    let result = try body(visitor)
    try visitor.close()
    return result
  }

  @Test func whileItIsSuspendedOthersWriteAndNothingIsHeld() throws {
    let cache = try place.openText()
    try cache.fill(1...100)
    #expect(try cache.value(forKey: 1) == "1")
    #expect(errorCode { try visit { _ in } } == .busy)
    try cache.suspend()
    #expect(cache.isSuspended)
    #expect(filesHeld(under: place.url) == [])
    try visit { try $0.set("visitor", forKey: 1) }
    try cache.resume()
    #expect(!cache.isSuspended)
    #expect(errorCode { try visit { _ in } } == .busy)
    #expect(try cache.value(forKey: 1) == "visitor")
    #expect(try cache.value(forKey: 100) == "100")
    try cache.set("after", forKey: 2)
    #expect(try cache.value(forKey: 2) == "after")
    #expect(try cache.verify().isIntact)
  }

  @Test func everyCallFailsMeanwhile() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    try cache.suspend(calls: .fail)
    let calls: [() throws -> Void] = [
      { _ = try cache.value(forKey: 1) }, { _ = try cache.contains(1) },
      { try cache.set("a", forKey: 1) }, { try cache.set("a", forKey: 1, durability: .power) },
      { try cache.remove(forKey: 3) }, { _ = try cache.keys() }, { _ = try cache.entries() },
      { try cache.batch { try $0.set("a", forKey: 1) } },
      { try cache.update(forKey: 1) { $0 = "a" } }, { _ = try cache.count },
      { _ = try cache.statistics }, { _ = try cache.recovery }, { _ = try cache.verify() },
      { try cache.checkpoint() }, { try cache.sync() }, { try cache.trim() },
      { _ = try cache.trim(toCount: 100) }, { _ = try cache.removeExpired() },
      { _ = try cache.info(forKey: 1) }, { try cache.removeAll() },
    ]
    for (number, call) in calls.enumerated() {
      #expect(errorCode(of: call) == .suspended, "call \(number)")
    }
    try cache.resume()
    for (number, call) in calls.enumerated() {
      #expect(errorCode(of: call) == nil, "call \(number)")
    }
  }

  @Test func callsThatWaitGoOnWhenItIsResumed() throws {
    let cache = try place.openText()
    try cache.fill(0...7)
    try cache.suspend(calls: .wait)
    let read = Locked<[Int: String?]>([:])
    let done = DispatchSemaphore(value: 0)
    for thread in 0..<8 {
      Thread.detachNewThread {
        // What is missing says whether it went well.
        let value = try? cache.value(forKey: thread)
        try? cache.set("new", forKey: thread)
        read.withLock { $0[thread] = value }
        done.signal()
      }
    }
    blockUntil { cache.store.suspension.waitingThreadCount >= 8 }
    try cache.resume()
    for _ in 0..<8 { done.wait() }
    #expect(read.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<8).map { ($0, "\($0)") }))
    for thread in 0..<8 { #expect(try cache.value(forKey: thread) == "new") }
  }

  @Test func asynchronousCallsWaitWithoutThreads() async throws {
    let place = place
    let cache = try await DiskCache<Int, String>.opening { try place.openText() }
    try await cache.suspend(calls: .wait)
    // Many more than a queue has threads.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for key in 0..<500 {
        group.addTask { try await cache.set("\(key)", forKey: key) }
        group.addTask { _ = try await cache.value(forKey: key) }
      }
      try await cache.resume()
      try await group.waitForAll()
    }
    #expect(try await cache.keys().count == 500)
    try await cache.suspend()
    await #expect(throws: LarderError.self) { try await cache.value(forKey: 1) }
    try await cache.close()
    #expect(!cache.isSuspended)
  }

  @Test func whatIsReadStaysGood() throws {
    let cache = try place.openData()
    let long = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    try cache.set(long, forKey: "long")
    // Lies on the pages of the log.
    let value = try #require(try cache.value(forKey: "long"))
    try cache.suspend()
    #expect(value == long)
    let visitor = try place.openData()
    try visitor.removeAll()
    try visitor.close()
    #expect(value == long)
    try cache.resume()
    #expect(try cache.value(forKey: "long") == nil)
    #expect(value == long)
  }

  @Test func aBatchGoesOn() throws {
    let cache = try place.openText()
    try cache.batch { batch in
      try batch.set("one", forKey: 1)
      try cache.suspend(calls: .fail)
      #expect(errorCode { try batch.set("two", forKey: 2) } == .suspended)
      try visit { try $0.set("visitor", forKey: 3) }
      try cache.resume()
      try batch.set("two", forKey: 2)
    }
    #expect(try cache.entries().map(\.value) == ["one", "two", "visitor"])
  }

  @Test func aBatchThatIsCommittedMeanwhileWaits() throws {
    let cache = try place.openText()
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      // What is missing says whether it went well.
      _ = try? cache.batch { batch in
        try batch.set("one", forKey: 1)
        try cache.suspend(calls: .wait)
      }
      done.signal()
    }
    blockUntil { cache.store.suspension.waitingThreadCount >= 1 }
    try cache.resume()
    done.wait()
    #expect(try cache.value(forKey: 1) == "one")
  }

  @Test func aBatchOfACacheThatIsClosedFails() throws {
    let cache = try place.openText()
    let code = errorCode {
      try cache.batch { batch in
        try batch.set("one", forKey: 1)
        try cache.suspend()
        try cache.close()
      }
    }
    #expect(code == .closed)
    #expect(try visit { try $0.count } == 0)
  }

  @Test func aTransactionGoesOnUnlessWhatItReadHasChanged() throws {
    let cache = try place.openText()
    try cache.set("0", forKey: 1)
    var runs = 0
    for isWritten in [false, true] {
      runs = 0
      try cache.transaction { transaction in
        runs += 1
        let number = Int(try transaction.value(forKey: 1) ?? "") ?? 0
        if runs == 1 {
          try cache.suspend()
          if isWritten { try visit { try $0.set("100", forKey: 1) } }
          try cache.resume()
        }
        try transaction.set("\(number + 1)", forKey: 1)
      }
      #expect(runs == (isWritten ? 2 : 1))
    }
    #expect(try cache.value(forKey: 1) == "101")
  }

  @Test func anEnumerationThatIsInterruptedSaysSo() throws {
    let cache = try place.openText()
    try cache.fill(1...10)
    for calls in [SuspendedCalls.fail, .wait] {
      var seen = 0
      let code = errorCode {
        try cache.forEachEntry { _ in
          seen += 1
          try cache.suspend(calls: calls)
          try cache.resume()
          return true
        }
      }
      #expect(code == .suspended && seen == 1)
    }
    #expect(try cache.keys().count == 10)
  }

  @Test func aReadUnderWayFinishesAndWhatItNeedsGoesWithIt() throws {
    let (opened, held) = (Locked<DiskCache<Int, String>?>(nil), Locked(0))
    let (url, text) = (place.url, Coder.string)
    // A coder must not do this; a thread may at the same moment.
    let coder = Coder<String>(format: text.format) { value in
      Data(value.utf8)
    } decode: { bytes in
      try opened.withLock { $0 }?.suspend()
      held.withLock { $0 = filesHeld(under: url).count }
      return try text.decode(bytes)
    }
    let cache = try place.open(Int.self, coder: coder)
    try cache.set("1", forKey: 1)
    try cache.checkpoint()
    opened.withLock { $0 = cache }
    defer { opened.withLock { $0 = nil } }
    #expect(try cache.value(forKey: 1) == "1")
    #expect(cache.isSuspended)
    #if os(Linux)
      #expect(held.withLock { $0 } > 0)
    #endif
    #expect(filesHeld(under: place.url) == [])
    try cache.resume()
  }

  @Test func limitsSetMeanwhileHoldAfterwards() throws {
    let cache = try place.openText()
    try cache.fill(1...10)
    try cache.suspend()
    cache.countLimit = 4
    try cache.resume()
    try cache.checkpoint()
    #expect(try cache.count == 4)
    cache.countLimit = 3
    try cache.suspend()
    try cache.resume()
    try cache.checkpoint()
    #expect(try cache.count == 3)
  }

  @Test func whatCannotBeResumedStaysSuspended() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    try cache.suspend()
    try visit { _ in
      #expect(errorCode { try cache.resume() } == .busy)
      #expect(errorCode { try cache.value(forKey: 1) } == .suspended)
    }
    try cache.resume()
    #expect(try cache.value(forKey: 1) == "1")
  }

  @Test func aFolderThatIsGoneIsMadeAnew() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    try cache.suspend()
    try FileManager.default.removeItem(at: place.url)
    try cache.resume()
    #expect(try cache.count == 0)
    try cache.fill(1...3)
    #expect(try cache.value(forKey: 3) == "3")
  }

  @Test func suspendingTwiceAndResumingTwiceIsHarmless() throws {
    let cache = try place.openText()
    try cache.resume()
    try cache.suspend()
    try cache.suspend(calls: .wait)
    #expect(errorCode { try cache.count } == .suspended)
    try cache.resume()
    try cache.resume()
    #expect(try cache.count == 0)
  }

  @Test func aSuspendedCacheIsClosedForGood() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    try cache.suspend()
    try cache.close()
    #expect(errorCode { try cache.value(forKey: 1) } == .closed)
    #expect(errorCode { try cache.resume() } == .closed)
    #expect(errorCode { try cache.suspend() } == .closed)
    #expect(try visit { try $0.count } == 3)
  }

  @Test func aSuspendedCacheCanGo() throws {
    var cache: DiskCache<Int, String>? = try place.openText()
    try cache?.fill(1...3)
    try cache?.suspend()
    cache = nil
    #expect(try visit { try $0.count } == 3)
  }

  @Test func aCacheThatOnlyReadsIsSuspendedToo() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    let reading = try place.openText { $0.isReadOnly = true }
    #expect(try reading.count == 3)
    try cache.suspend()
    try reading.suspend()
    #expect(filesHeld(under: place.url) == [])
    try cache.resume()
    try cache.fill(4...4)
    try reading.resume()
    #expect(try reading.value(forKey: 4) == "4")
    #expect(errorCode { try reading.set("a", forKey: 1) } == .readOnly)
  }

  @Test func nothingAcknowledgedIsLostUnderLoad() async throws {
    let place = place
    let cache = try await DiskCache<Int, String>.opening { try place.openText() }
    let isOver = Locked(false)
    let written = Locked<[Int: String]>([:])
    let done = DispatchSemaphore(value: 0)
    for thread in 0..<8 {
      Thread.detachNewThread {
        var mine: [Int: String] = [:]
        var number = 0
        while !isOver.withLock({ $0 }) {
          let key = thread * 1000 + number % 500
          do {
            switch number % 32 {
            case 0: try cache.set("\(number)", forKey: key, durability: .power)
            case 1: try cache.batch { try $0.set("\(number)", forKey: key) }
            case 2: try cache.update(forKey: key) { $0 = "\(number)" }
            default: try cache.set("\(number)", forKey: key)
            }
            mine[key] = "\(number)"
            if try cache.value(forKey: key) != "\(number)" { Issue.record("a value is not there") }
            number += 1
          } catch let error as LarderError where error.code == .suspended {
            Thread.sleep(forTimeInterval: 0.0001)
          } catch {
            Issue.record(error)
            break
          }
        }
        written.withLock { $0.merge(mine) { $1 } }
        done.signal()
      }
    }
    for round in 0..<40 {
      try await cache.suspend(calls: round % 2 == 0 ? .wait : .fail)
      let visitor = try await DiskCache<Int, String>.opening { try place.openText() }
      try await visitor.set("visit", forKey: -1 - round)
      try await visitor.close()
      try await cache.resume()
    }
    isOver.withLock { $0 = true }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        for _ in 0..<8 { done.wait() }
        continuation.resume()
      }
    }
    let wanted = written.withLock { $0 }
    for (key, value) in wanted { #expect(try await cache.value(forKey: key) == value) }
    #expect(try await cache.keys().count == wanted.count + 40)
    #expect(try await cache.verify().isIntact)
  }
}
