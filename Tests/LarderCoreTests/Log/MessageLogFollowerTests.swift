// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Synchronization
import Testing

/// Following: in this log, in another one, until its end.
struct MessageLogFollowerTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  /// Reads `count` messages and gives their numbers.
  private static func take(
    _ count: Int, from follower: MessageLogFollower<String>
  ) async throws -> [UInt64] {
    var seen: [UInt64] = []
    for try await entry in follower {
      seen.append(entry.sequence)
      if seen.count == count { break }
    }
    return seen
  }

  @Test func followingFromTheOldestGivesWhatIsThereAndWhatComes() async throws {
    let log = try fixture.open(holding: 100)
    for number in 1...3 { try log.append(text(number)) }
    let follower = try log.follow()
    async let seen = Self.take(6, from: follower)
    for number in 4...6 { try log.append(text(number)) }
    #expect(try await seen == Array(1...6))
  }

  @Test func followingFromTheNewestBeginsWithTheCallAndNotWithTheLoop() async throws {
    let log = try fixture.open(holding: 100)
    for number in 1...3 { try log.append(text(number)) }
    let follower = try log.follow(from: .newest)
    for number in 4...5 { try log.append(text(number)) }
    #expect(try await Self.take(2, from: follower) == [4, 5])
  }

  @Test func followingAfterANumberCountsWhatIsMissingThere() async throws {
    let log = try fixture.open(holding: 10)
    for number in 1...14 { try log.append(text(number)) }
    for (after, first, lost) in [(UInt64(2), UInt64(5), UInt64(2)), (4, 5, 0), (9, 10, 0)] {
      var iterator = try log.follow(from: .after(after)).makeAsyncIterator()
      let entry = try #require(try await iterator.next())
      #expect(entry.sequence == first)
      #expect(entry.lost == lost)
      #expect(try await iterator.next()?.lost == 0)
    }
  }

  @Test func waitingFollowerIsWokenByAnAppend() async throws {
    let log = try fixture.open(holding: 100)
    for round in 1...200 {
      let follower = try log.follow(from: .newest)
      async let entry = Self.take(1, from: follower)
      try log.append(text(round))
      #expect(try await entry == [UInt64(round)])
    }
  }

  @Test func pingPongBetweenTwoFollowersNeverMissesAWakeUp() async throws {
    let log = try fixture.open(holding: 10_000)
    let rounds = 2000
    // Each answers the other's number: any append that does not wake hangs both.
    let even = try log.follow()
    let odd = try log.follow()
    async let first: Void = {
      for try await entry in even where entry.sequence % 2 == 0 {
        if entry.sequence >= rounds { break }
        try log.append(text(1))
      }
    }()
    async let second: Void = {
      for try await entry in odd where entry.sequence % 2 == 1 {
        try log.append(text(2))
        if entry.sequence >= rounds - 1 { break }
      }
    }()
    try log.append(text(0))
    _ = try await (first, second)
    #expect(try log.count >= rounds)
  }

  @Test func manyFollowersSeeEverything() async throws {
    let log = try fixture.open(holding: 2000)
    let total = 1000
    try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<8 {
        let follower = try log.follow()
        group.addTask { try await Self.take(total, from: follower) }
      }
      for number in 1...total {
        try log.append(text(number))
        if number % 100 == 0 { await Task.yield() }
      }
      for try await seen in group { #expect(seen == Array(1...UInt64(total))) }
    }
  }

  @Test func followerOfAnotherHandleSeesWhatItsWriterAppends() async throws {
    let log = try fixture.open(holding: 100)
    try log.append(text(1))
    let reader = try fixture.reader()
    let follower = try reader.follow()
    async let seen = Self.take(50, from: follower)
    for number in 2...50 {
      try log.append(text(number))
      await Task.yield()
    }
    #expect(try await seen == Array(1...50))
  }

  /// A wake-up that is missed takes 20 seconds.
  @Test func followerOfAnotherHandleIsWokenForEachMessage() async throws {
    let log = try fixture.open(holding: 100)
    let reader = try fixture.reader()
    var iterator = try reader.follow().makeAsyncIterator()
    for number in 1...UInt64(300) {
      async let appended: Void = {
        // Also when it has slept for a while.
        try await Task.sleep(for: .milliseconds(Int(number % 4)))
        try log.append(text(Int(number)))
      }()
      #expect(try await iterator.next()?.sequence == number)
      try await appended
    }
  }

  @Test func followerOfAnotherHandleGoesOnWithTheNextWriter() async throws {
    let first = try fixture.open(holding: 100)
    try first.append(text(1))
    let reader = try fixture.reader()
    var iterator = try reader.follow().makeAsyncIterator()
    #expect(try await iterator.next()?.sequence == 1)
    try await first.close()
    let second = try fixture.open(holding: 100)
    try second.append(text(2))
    #expect(try await iterator.next()?.sequence == 2)
  }

  @Test func closingTheLogEndsWaitingFollowers() async throws {
    let log = try fixture.open(holding: 100)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        let follower = try log.follow(from: .newest)
        group.addTask { try await Self.take(.max, from: follower).count }
      }
      try await log.close()
      for try await count in group { #expect(count == 0) }
    }
  }

  @Test func closingAReaderEndsItsFollowers() async throws {
    let log = try fixture.open(holding: 100)
    let reader = try fixture.reader()
    let follower = try reader.follow()
    async let seen = Self.take(.max, from: follower)
    try await reader.close()
    #expect(try await seen == [])
    try log.append(text(1))
  }

  @Test(arguments: [true, false])
  func cancellingTheTaskEndsTheSequence(ofAReader: Bool) async throws {
    let log = try fixture.open(holding: 100)
    try log.append(text(1))
    let followed = ofAReader ? try fixture.reader() : log
    let (started, continuation) = AsyncStream.makeStream(of: Void.self)
    let follower = try followed.follow()
    let task = Task {
      var count = 0
      for try await _ in follower {
        count += 1
        continuation.finish()
      }
      return count
    }
    for await _ in started {}
    task.cancel()
    #expect(try await task.value == 1)
  }

  @Test func finishedFollowerStaysFinished() async throws {
    let log = try fixture.open(holding: 100)
    var iterator = try log.follow().makeAsyncIterator()
    try await log.close()
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test func messageThatCannotBeDecodedDoesNotEndFollowing() async throws {
    let log = try fixture.open(4096)
    try log.append("good")
    try await log.close()
    let plain = Coder<String>(
      encode: { $0.data(using: .isoLatin1) ?? Data() }, decode: { _ in "" })
    let writer = try MessageLog(
      at: .url(fixture.url), capacity: 4096, whenFull: .overwriteOldest, coder: plain)
    try writer.append("\u{FF}")
    try writer.append("fine")
    try await writer.close()
    let reader = try fixture.reader()
    var iterator = try reader.follow().makeAsyncIterator()
    #expect(try await iterator.next()?.message == "good")
    let bad = try await iterator.next()
    #expect(errorCode { try bad?.message } == .decoding)
    #expect(try await iterator.next()?.message == "fine")
  }
}
