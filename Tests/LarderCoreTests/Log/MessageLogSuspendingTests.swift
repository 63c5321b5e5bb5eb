// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// A log that is suspended, written by somebody else meanwhile, and resumed.
struct MessageLogSuspendingTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  private func fill(_ log: MessageLog<String>, _ numbers: ClosedRange<Int>) throws {
    for number in numbers { try log.append(text(number)) }
  }

  /// What another process would do: it opens the file for writing.
  private func visit<R>(_ body: (MessageLog<String>) throws -> R) throws -> R {
    let visitor = try fixture.open(holding: 10)
    let result = try body(visitor)
    try visitor.close()
    return result
  }

  @Test func whileItIsSuspendedOthersWriteAndNothingIsHeld() throws {
    let log = try fixture.open(holding: 10)
    try fill(log, 1...3)
    #expect(errorCode { try visit { _ in } } == .busy)
    try log.suspend()
    #expect(log.isSuspended)
    #expect(filesHeld(under: fixture.url) == [])
    #expect(try visit { try $0.append(text(4)) } == 4)
    try log.resume()
    #expect(!log.isSuspended)
    #expect(errorCode { try visit { _ in } } == .busy)
    #expect(try log.append(text(5)) == 5)
    #expect(try log.messages() == texts(1...5))
  }

  @Test func suspendingSyncsWhatNobodyHadSynced() throws {
    let log = try fixture.open(holding: 10)
    try fill(log, 1...3)
    try log.suspend()
    // Closed with everything on the device, as by close(durability: .power).
    let reader = try fixture.reader()
    #expect(try reader.recovery.wasClosed)
    #expect(try reader.statistics.syncedSequence == 3)
  }

  @Test func everyCallFailsMeanwhile() throws {
    let log = try fixture.open(holding: 10)
    let consumer = try log.consumer(named: "one")
    try fill(log, 1...3)
    let reader = try log.makeReader()
    try log.suspend(calls: .fail)
    let calls: [() throws -> Void] = [
      { try log.append("a") }, { try log.append(contentsOf: ["a"]) },
      { try log.append("a", durability: .power) }, { try log.sync() },
      { _ = try log.messages() }, { _ = try log.makeReader() }, { _ = try log.count },
      { _ = try log.statistics }, { _ = try log.recovery }, { _ = try log.verify() },
      { try log.removeAll() }, { _ = try log.consumer(named: "two") },
      { _ = try log.follow() }, { _ = try consumer.next() },
      { try consumer.acknowledge(through: 1) }, { _ = try log.isWritable },
      { try log.forEachMessageBytes { _, _ in } }, { try reader.seek(to: 1) },
    ]
    for (number, call) in calls.enumerated() {
      #expect(errorCode(of: call) == .suspended, "call \(number)")
    }
    // A sequence cannot throw: it ends with an entry that does.
    let entries = Array(log.entries)
    #expect(entries.count == 1 && errorCode { try entries[0].message } == .suspended)
    try log.resume()
    for call in calls { try call() }
  }

  @Test func callsThatWaitGoOnWhenItIsResumed() throws {
    let log = try fixture.open(100 << 10)
    try log.suspend(calls: .wait)
    let done = DispatchSemaphore(value: 0)
    for thread in 0..<8 {
      Thread.detachNewThread {
        // The number says whether it went well.
        _ = try? log.append(text(thread))
        done.signal()
      }
    }
    blockUntil { log.handle.suspension.waitingThreadCount >= 8 }
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(errorCode { try log.handle.append(none, waits: false) } == .suspended)
    try log.resume()
    for _ in 0..<8 { done.wait() }
    #expect(try Set(log.messages()) == Set(texts(0...7)))
  }

  @Test func asynchronousCallsWaitWithoutThreads() async throws {
    let log = try fixture.open(1 << 20)
    try await log.suspend(calls: .wait)
    // Many more than threads that run tasks.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<500 {
        group.addTask { try await log.append(text(number), durability: .process) }
        group.addTask {
          try await log.append(contentsOf: [text(number + 1000)], durability: .process)
        }
      }
      try await log.resume()
      try await group.waitForAll()
    }
    #expect(try log.count == 1000)
    try await log.suspend()
    await #expect(throws: LarderError.self) { try await log.append("a", durability: .process) }
    await #expect(throws: LarderError.self) { try await log.sync() }
  }

  @Test func readersKeepTheirPlace() throws {
    let log = try fixture.open(holding: 10)
    try fill(log, 1...6)
    let reader = try log.makeReader()
    let backwards = try log.makeReader()
    let untouched = try log.makeReader()
    try backwards.seek(to: .max)
    var pass = log.entries.makeIterator()
    for _ in 1...2 { _ = try (reader.next(), backwards.previous(), pass.next()) }
    try log.suspend()
    try visit { try fill($0, 7...8) }
    try log.resume()
    #expect(try reader.next()?.sequence == 3)
    #expect(try reader.previous()?.sequence == 3)
    #expect(try backwards.previous()?.sequence == 4)
    #expect(try backwards.next()?.sequence == 4)
    #expect(try untouched.next()?.sequence == 1)
    // It ends with what was the newest when it began.
    #expect(Array(IteratorSequence(pass)).map(\.sequence) == [3, 4, 5, 6])
    while let entry = try reader.next() { #expect(entry.lost == 0) }
    #expect(try log.append(text(9)) == 9)
    #expect(try reader.next()?.sequence == 9)
  }

  @Test func whatOthersOverwroteIsCounted() throws {
    let log = try fixture.open(holding: 10)
    try fill(log, 1...6)
    let reader = try log.makeReader()
    let fresh = try log.makeReader()
    for _ in 1...2 { _ = try reader.next() }
    try log.suspend()
    try visit { try fill($0, 7...20) }
    try log.resume()
    // 3 to 6 were read ahead; 7 to 10 are gone.
    for number in 3...6 { #expect(try reader.next()?.message == text(number)) }
    let entry = try #require(try reader.next())
    #expect(entry.sequence == 11 && entry.lost == 4)
    #expect(try reader.next()?.lost == 0)
    // Nobody knows where this one would have begun.
    let first = try #require(try fresh.next())
    #expect(first.sequence == 11 && first.lost == 0)
  }

  @Test func aGapIsCountedAlsoWhereItComesAfterTheResumption() throws {
    let log = try fixture.open(holding: 10)
    try fill(log, 1...2)
    let reader = try log.makeReader()
    while try reader.next() != nil {}
    try log.suspend()
    try log.resume()
    #expect(try reader.next() == nil)
    try fill(log, 3...15)
    let entry = try #require(try reader.next())
    #expect(entry.sequence == 6 && entry.lost == 3)
  }

  @Test func consumersKeepTheirPlaceAndWhatTheyAcknowledged() throws {
    let log = try fixture.open(holding: 10)
    let consumer = try log.consumer(named: "one")
    try fill(log, 1...3)
    #expect(try consumer.next()?.sequence == 1)
    try consumer.acknowledge(through: 1)
    try log.suspend()
    try visit { try fill($0, 4...4) }
    try log.resume()
    #expect(try consumer.next()?.sequence == 2)
    consumer.rewind()
    #expect(try consumer.read(upTo: 10).map(\.sequence) == [2, 3, 4])
    #expect(try log.consumers == ["one": 1])
  }

  @Test(arguments: [SuspendedCalls.fail, .wait])
  func whoFollowsWaitsAndGoesOn(_ calls: SuspendedCalls) async throws {
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    var iterator = try log.follow().makeAsyncIterator()
    #expect(try await iterator.next()?.sequence == 1)
    try await log.suspend(calls: calls)
    let next = Task { [iterator] in
      var iterator = iterator
      return try await (iterator.next()?.sequence, iterator.next()?.sequence)
    }
    try visit { try fill($0, 2...2) }
    try await log.resume()
    try log.append(text(3))
    let seen = try await next.value
    #expect(seen.0 == 2 && seen.1 == 3)
  }

  @Test func followersOfASuspendedLogEndWhenItIsClosed() async throws {
    let log = try fixture.open(holding: 10)
    let follower = try log.follow()
    try await log.suspend()
    let end = Task { () -> Int in
      var count = 0
      for try await _ in follower { count += 1 }
      return count
    }
    try await log.close()
    #expect(try await end.value == 0)
  }

  @Test func whatCannotBeResumedStaysSuspended() throws {
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    try log.suspend()
    try visit { _ in
      #expect(errorCode { try log.resume() } == .busy)
      #expect(errorCode { try log.append("a") } == .suspended)
    }
    try MessageLog<String>.resize(
      at: .url(fixture.url), to: DataSize(bytes: try fixture.capacity(20)))
    #expect(errorCode { try log.resume() } == .configurationMismatch)
    #expect(log.isSuspended)
    try MessageLog<String>.resize(
      at: .url(fixture.url), to: DataSize(bytes: try fixture.capacity(10)))
    try log.resume()
    #expect(try log.messages() == texts(1...1))
  }

  @Test func aFileThatIsGoneIsMadeAnew() throws {
    let log = try fixture.open(holding: 10)
    try fill(log, 1...3)
    let reader = try log.makeReader()
    for _ in 1...3 { _ = try reader.next() }
    try log.suspend()
    try FileManager.default.removeItem(at: fixture.url)
    try log.resume()
    #expect(try log.append(text(1)) == 1)
    // It is another message than the one that had this number.
    #expect(errorCode { try reader.next() } == .replaced)
    #expect(try reader.next()?.sequence == 1)
    #expect(try reader.next() == nil)
  }

  @Test func aSuspendedLogIsClosedForGood() throws {
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    try log.suspend()
    try log.close()
    #expect(!log.isSuspended)
    #expect(errorCode { try log.append("a") } == .closed)
    #expect(errorCode { try log.resume() } == .closed)
    #expect(errorCode { try log.suspend() } == .closed)
    #expect(try visit { try $0.count } == 1)
  }

  @Test func aSuspendedLogCanGo() throws {
    var log: MessageLog<String>? = try fixture.open(holding: 10)
    try log?.append(text(1))
    let reader = try log?.makeReader()
    try log?.suspend(calls: .wait)
    log = nil
    #expect(errorCode { try reader?.next() } == .closed)
    #expect(try visit { try $0.count } == 1)
  }

  @Test func aLogThatOnlyReadsIsSuspendedToo() throws {
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    let reading = try fixture.reader()
    #expect(try reading.count == 1)
    try log.suspend()
    try reading.suspend()
    #expect(filesHeld(under: fixture.url) == [])
    #expect(errorCode { try reading.count } == .suspended)
    try log.resume()
    try log.append(text(2))
    try reading.resume()
    #expect(try reading.messages() == texts(1...2))
    #expect(errorCode { try reading.append("a") } == .readOnly)
  }

  @Test func nothingAcknowledgedIsLostUnderLoad() async throws {
    let log = try fixture.open(16 << 20)
    let isOver = Locked(false)
    let appended = Locked<[Set<String>]>([])
    let done = DispatchSemaphore(value: 0)
    for thread in 0..<8 {
      Thread.detachNewThread {
        var mine: Set<String> = []
        var number = 0
        // All of it fits, however long the suspensions take.
        while number < 20_000, !isOver.withLock({ $0 }) {
          let message = "\(thread) \(number)"
          do {
            switch number % 64 {
            case 0: try log.append(message, durability: .power)
            case 1: try log.append(contentsOf: [message, message + "b"])
            default: try log.append(message)
            }
            mine.insert(message)
            if number % 64 == 1 { mine.insert(message + "b") }
            number += 1
          } catch let error as LarderError where error.code == .suspended {
            Thread.sleep(forTimeInterval: 0.0001)
          } catch {
            Issue.record(error)
            break
          }
        }
        appended.withLock { $0.append(mine) }
        done.signal()
      }
    }
    for round in 0..<60 {
      try await log.suspend(calls: round % 2 == 0 ? .wait : .fail)
      let visitor = try fixture.open(16 << 20)
      try await visitor.append("visit \(round)", durability: .process)
      try await visitor.close()
      try await log.resume()
    }
    isOver.withLock { $0 = true }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        for _ in 0..<8 { done.wait() }
        continuation.resume()
      }
    }
    let messages = try log.messages()
    let all = appended.withLock { $0.reduce(into: Set<String>()) { $0.formUnion($1) } }
    let found = Set(messages)
    // None twice either: a call that met a suspension was not made twice.
    #expect(found.count == messages.count)
    #expect(all.subtracting(found).count == 0)
    #expect(messages.count == all.count + 60)
    #expect(try log.verify().isIntact)
  }
}
