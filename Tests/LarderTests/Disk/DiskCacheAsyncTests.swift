// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The asynchronous forms, which work on threads of the cache's own. After RECache's
/// asyncRoundtrip, asyncExtendedData, asyncValueWithExtendedData, asyncRemoveAll,
/// asyncRemoveExpired, asyncSetNilRemoves, asyncSetEmptyStringKeyIsNoop (here an empty key
/// is a key), asyncRemoveAllWithProgress.
struct DiskCacheAsyncTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test func everyCallHasAnAsynchronousForm() async throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    let large = Data(repeating: 7, count: 100)
    try await cache.set(Data([1]), forKey: "a", extendedData: Data([9]))
    try await cache.set(large, forKey: "b", expiration: .never, durability: .power)
    #expect(try await cache.value(forKey: "a") == Data([1]))
    #expect(try await cache.peek(forKey: "b") == large)
    #expect(try await cache.contains("b"))
    #expect(try await cache.extendedData(forKey: "a") == Data([9]))
    #expect(try await cache.valueWithExtendedData(forKey: "a")?.extendedData == Data([9]))
    #expect(try await cache.mappedValue(forKey: "b") == large)
    #expect(try await cache.info(forKey: "b")?.size == 100)
    #expect(try await cache.keys() == ["a", "b"])
    #expect(try await cache.infos(.prefix("b")).map(\.key) == ["b"])
    #expect(try await cache.entries(order: .byKeyDescending, limit: 1).map(\.value) == [large])
    #expect(try await cache.values(forKeys: ["a", "c"]) == ["a": Data([1])])
    try await cache.set(["c": Data([3])])
    try await cache.batch { try $0.set(Data([4]), forKey: "d") }
    try await cache.update(forKey: "d") { $0?.append(5) }
    #expect(try await cache.versionedValue(forKey: "d")?.value == Data([4, 5]))
    #expect(try await !cache.compareAndSet(nil, forKey: "d", version: 1))
    #expect(try await cache.compareAndSet(nil, forKey: "d", expected: Data([4, 5])))
    #expect(try await cache.transaction { try $0.value(forKey: "c") } == Data([3]))
    let seen = Locked(0)
    try await cache.forEachEntry { _ in
      seen.withLock { $0 += 1 }
      return true
    }
    #expect(seen.withLock { $0 } == 3)
    try await cache.remove(forKeys: ["c"])
    try await cache.remove(forKey: "a")
    try await cache.checkpoint()
    try await cache.sync()
    try await cache.trim()
    #expect(try await cache.removeExpired() == 0)
    #expect(try await cache.trim(toSize: 100) == 0)
    #expect(try await cache.trim(toCount: 1) == 0)
    #expect(try await cache.verify().isIntact)
    #expect(try await cache.exportValue(forKey: "b", to: place.directory.url) != nil)
    #expect(try await cache.remove(prefix: "b") == 1)
    try await cache.close()
    await #expect(throws: LarderError.self) { try await cache.value(forKey: "a") }
  }

  @Test func settingNilRemoves() async throws {
    let cache = try place.openText()
    try await cache.set("one", forKey: 1)
    try await cache.set(nil, forKey: 1)
    #expect(try await cache.value(forKey: 1) == nil)
  }

  @Test func anEmptyKeyIsAKey() async throws {
    let cache = try place.openData()
    try await cache.set(Data([1]), forKey: "")
    #expect(try await cache.value(forKey: "") == Data([1]))
  }

  @Test func removingAllClearsAndTellsOfItsProgress() async throws {
    let cache = try place.openData()
    for number in 0..<10 { try await cache.set(Data(count: 30_000), forKey: "\(number)") }
    try await cache.checkpoint()
    let last = Locked<(UInt64, UInt64)?>(nil)
    try await cache.removeAll { done, total in
      last.withLock { $0 = (done, total) }
      return true
    }
    #expect(last.withLock { $0?.0 } == last.withLock { $0?.1 })
    #expect(last.withLock { $0 } != nil)
    #expect(try cache.isEmpty)
    try await cache.set(Data([1]), forKey: "again")
    try await cache.removeAll()
    #expect(try cache.isEmpty)
  }

  @Test func expiredEntriesGo() async throws {
    let cache = try place.openText { $0.expiration = .seconds(1) }
    try await cache.set("one", forKey: 1)
    place.clock.advance(1)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(try await cache.removeExpired() == 1)
  }

  @Test @MainActor func theWorkIsDoneOnAnotherThread() async throws {
    let encoded = Locked<[Bool]>([])
    let coder = Coder<Int>(
      encode: { value in
        encoded.withLock { $0.append(Thread.isMainThread) }
        return Data([UInt8(value)])
      },
      decode: { data in
        encoded.withLock { $0.append(Thread.isMainThread) }
        return Int(data[data.startIndex])
      })
    let cache = try place.open(Int.self, coder: coder)
    try await cache.set(1, forKey: 1)
    #expect(try await cache.value(forKey: 1) == 1)
    #expect(encoded.withLock { $0 } == [false, false])
  }

  @Test func aCallThatWaitsLeavesTheThreadsOfTasksFree() async throws {
    // More calls than there are threads for tasks, each of which waits for a task.
    let count = ProcessInfo.processInfo.activeProcessorCount + 2
    let arrived = Locked(0)
    let open = DispatchSemaphore(value: 0)
    let coder = Coder<Int>(
      encode: { value in
        arrived.withLock { $0 += 1 }
        open.wait()
        return Data([UInt8(value)])
      },
      decode: { Int($0[$0.startIndex]) })
    let cache = try place.open(Int.self, coder: coder)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count { group.addTask { try await cache.set(number, forKey: number) } }
      group.addTask {
        await until { arrived.withLock({ $0 }) != 0 }
        for _ in 0..<count { open.signal() }
      }
      try await group.waitForAll()
    }
    #expect(try await cache.keys().count == count)
  }

  @Test func tasksOfManyKindsAtOnceAgreeInTheEnd() async throws {
    let cache = try place.openText { $0.checkpointInterval = .milliseconds(1) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<50 {
        group.addTask {
          for key in 0..<20 {
            try await cache.set("\(task)", forKey: task * 100 + key)
            #expect(try await cache.value(forKey: task * 100 + key) == "\(task)")
            if key % 2 == 1 { try await cache.remove(forKey: task * 100 + key) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try cache.count == 500)
    #expect(try await cache.verify().isIntact)
  }

  @Test func aWriteOfATaskThatWasCancelledIsMade() async throws {
    let cache = try place.openData()
    let archive = try Archive<Book>(at: .path(place.url.path + ".archive"))
    try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await cache.set(Data([1]), forKey: "a")
      try await cache.remove(forKey: "b")
      try await cache.checkpoint()
      try await archive.insert(Book(id: 1))
    }.value
    #expect(try await cache.value(forKey: "a") == Data([1]))
    #expect(try archive.count == 1)
  }

  private struct Book: Codable, Identifiable, Sendable {
    var id: Int
  }

  @Test func aTaskThatIsCancelledEndsALongCall() async throws {
    let cache = try place.openText()
    try await cache.set([1: "1", 2: "2"])
    let begun = Locked(false)
    let wasCancelled = DispatchSemaphore(value: 0)
    let task = Task {
      try await cache.forEachEntry { _ in
        if !begun.withLock({ wasBegun in
          defer { wasBegun = true }
          return wasBegun
        }) {
          wasCancelled.wait()
        }
        return true
      }
    }
    await until { begun.withLock({ $0 }) }
    task.cancel()
    wasCancelled.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  /// What is in memory is read where the caller is; more than fits, and what a suspended cache has,
  /// elsewhere.
  @Test @MainActor func whatIsInMemoryIsReadInPlace() async throws {
    let places = Locked<[Bool]>([])
    let main = Locked(pthread_self())
    let coder = Coder<String>(
      encode: { Data($0.utf8) },
      decode: { bytes in
        places.withLock { $0.append(pthread_equal(pthread_self(), main.withLock { $0 }) != 0) }
        return String(decoding: bytes, as: UTF8.self)
      })
    let cache = try DiskCache<Int, String>(at: .url(place.url), coder: coder)
    try await cache.set("short", forKey: 1)
    try await cache.set(String(repeating: "long", count: 10_000), forKey: 2)
    for isFlushed in [false, true] {
      if isFlushed { try await cache.checkpoint() }
      places.withLock { $0 = [] }
      // What another thread has just locked is not waited for.
      for _ in 0..<100 {
        // The main actor may be on another thread after each suspension.
        main.withLock { $0 = pthread_self() }
        let value = try await cache.value(forKey: 1)
        #expect(value == "short")
      }
      #expect(places.withLock { $0.contains(true) })
      #expect(try await cache.contains(1))
      #expect(try await !cache.contains(3))
      places.withLock { $0 = [] }
      #expect(try await cache.peek(forKey: 2)?.count == 40_000)
      #expect(places.withLock { $0 } == [false])
    }
    try await cache.suspend(calls: .wait)
    let reading = Task { try await cache.value(forKey: 1) }
    try await cache.resume()
    #expect(try await reading.value == "short")
  }

  /// What is short is written where the caller is, if what was written before was short; what is
  /// long, or synced, or for a suspended cache, elsewhere.
  @Test @MainActor func whatIsShortIsWrittenInPlace() async throws {
    let wasHere = Locked(false)
    let main = Locked(pthread_self())
    let coder = Coder<String>(
      encode: { text in
        wasHere.withLock { $0 = pthread_equal(pthread_self(), main.withLock { $0 }) != 0 }
        return Data(text.utf8)
      },
      decode: { String(decoding: $0, as: UTF8.self) })
    let cache = try DiskCache<Int, String>(at: .url(place.url), coder: coder)
    func isWrittenHere(_ text: String, _ durability: Durability? = nil) async throws -> Bool {
      main.withLock { $0 = pthread_self() }
      try await cache.set(text, forKey: 1, durability: durability)
      let isThere = try await cache.value(forKey: 1) == text
      #expect(isThere)
      return wasHere.withLock { $0 }
    }
    let long = String(repeating: "long", count: 10_000)
    #expect(try await !isWrittenHere("first"))
    var countHere = 0
    // What another thread has just locked is not waited for.
    for number in 0..<100 where try await isWrittenHere("short \(number)") { countHere += 1 }
    #expect(countHere > 0)
    #expect(try await !isWrittenHere(long))
    #expect(try await !isWrittenHere("behind a long one"))
    #expect(try await !isWrittenHere("synced", .power))
    try await cache.remove(forKey: 1)
    #expect(try await !cache.contains(1))
    try await cache.suspend(calls: .wait)
    let writing = Task { try await cache.set("later", forKey: 1) }
    let removal = Task { try await cache.remove(forKey: 2) }
    try await cache.resume()
    try await writing.value
    try await removal.value
    #expect(try await cache.value(forKey: 1) == "later")
  }
}
