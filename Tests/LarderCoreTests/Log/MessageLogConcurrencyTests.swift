// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Many threads on one log.
struct MessageLogConcurrencyTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  @Test func threadsAppendAndReadAtOnceAndNothingIsMixedUp() async throws {
    let threads = 4
    let each = 5000
    let log = try fixture.open(1 << 16)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<threads {
        group.addTask {
          for number in 0..<each {
            try log.append("\(thread):\(number):" + String(repeating: "x", count: number % 50))
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<50 {
            var last: UInt64 = 0
            var lastOf = [Int](repeating: -1, count: threads)
            for entry in log.entries {
              #expect(entry.sequence > last)
              last = entry.sequence
              let parts = try entry.message.split(separator: ":", omittingEmptySubsequences: false)
              let thread = try #require(Int(parts[0]))
              let number = try #require(Int(parts[1]))
              #expect(parts[2].count == number % 50)
              #expect(number > lastOf[thread])
              lastOf[thread] = number
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try log.statistics.nextSequence == UInt64(threads * each + 1))
    #expect(try log.verify().isIntact)
  }

  @Test func closingWhileOthersAppendGivesThemClosedAndLosesNothing() async throws {
    let log = try fixture.open(1 << 22)
    let appended = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var count = 0
          while count < 1_000_000 {
            do {
              try log.append(text(count))
            } catch let error as LarderError where error.code == .closed {
              break
            }
            count += 1
          }
          return count
        }
      }
      try await until { try log.count >= 1000 }
      try await log.close()
      return try await group.reduce(0, +)
    }
    let reader = try fixture.reader()
    #expect(try reader.statistics.nextSequence == UInt64(appended + 1))
    #expect(try reader.verify().isIntact)
  }

  @Test func synchronousAndPowerAppendsMix() async throws {
    let log = try fixture.open(1 << 20, .refuse)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          for number in 0..<50 {
            let sequence = try await log.append(
              text(number), durability: task % 2 == 0 ? .power : .process)
            if task % 2 == 0 { #expect(try log.statistics.syncedSequence >= sequence) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try log.count == 200)
  }

  @Test func consumerGivesEachMessageToOneThread() async throws {
    let log = try fixture.open(holding: 10_000)
    for number in 1...10_000 { try log.append(text(number)) }
    let consumer = try log.consumer(named: "c")
    let seen = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<4 {
        group.addTask {
          var seen: [UInt64] = []
          while let entry = try consumer.next() { seen.append(entry.sequence) }
          return seen
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(seen.sorted() == Array(1...10_000))
  }
}
