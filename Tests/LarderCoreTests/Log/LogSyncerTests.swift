// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCore

/// The forms that suspend: many tasks share a sync, and no thread that runs tasks waits for it.
struct LogSyncerTests {
  /// What the tasks of a test share.
  private final class Counters: Sendable {
    let started = Atomic(0)
    let syncs = Atomic(0)
    let last = Atomic<UInt64>(0)
  }

  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  /// Counted, not timed: the first sync does not end before all tasks are on their way. If it kept
  /// a thread that runs tasks from doing so, they never all would be.
  @Test func aThousandTasksThatWaitShareAFewSyncs() async throws {
    let tasks = 1000
    let syncer = LogSyncer()
    let counters = Counters()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 1...tasks {
        group.addTask {
          counters.started.add(1, ordering: .relaxed)
          try await syncer.wait(for: .message(UInt64(task))) { target in
            guard case .message(let sequence) = target else { return }
            counters.syncs.add(1, ordering: .relaxed)
            counters.last.max(sequence, ordering: .relaxed)
            blockUntil { counters.started.load(ordering: .relaxed) >= tasks }
          }
          #expect(counters.last.load(ordering: .relaxed) >= UInt64(task))
        }
      }
      try await group.waitForAll()
    }
    // Besides the first and the second, those of the few tasks that had started and not yet asked.
    let most = 2 + ProcessInfo.processInfo.activeProcessorCount
    #expect((1...most).contains(counters.syncs.load(ordering: .relaxed)))
  }

  @Test func allThatWaitForAFailedSyncGetItsError() async throws {
    let syncer = LogSyncer()
    for target in [LogSyncer.Target.everything, .message(3)] {
      await #expect(throws: LarderError.self) {
        try await syncer.wait(for: target) { _ in throw LarderError(.io, "the device failed") }
      }
    }
    try await syncer.wait(for: .everything) { _ in }
  }

  @Test func aThousandTasksAppendAtPowerAndAllIsSynced() async throws {
    let log = try fixture.open(1 << 20, .refuse)
    try await withThrowingTaskGroup(of: UInt64.self) { group in
      for task in 0..<1000 {
        group.addTask {
          let sequence: UInt64? =
            task % 10 == 0
            ? try await log.append(contentsOf: [text(task), text(task)], durability: .power)
            : try await log.append(text(task), durability: .power)
          return try #require(sequence)
        }
      }
      for try await sequence in group {
        #expect(try log.statistics.syncedSequence >= sequence)
      }
    }
    #expect(try log.count == 1100)
    try await log.append("unsynced", durability: .process)
    #expect(try await log.append(contentsOf: [], durability: .power) == nil)
    try await log.sync()
    #expect(try log.statistics.syncedSequence == 1101)
    try await log.close(durability: .power)
    await #expect(throws: LarderError.self) { try await log.sync() }
    try await log.close()
    #expect(try fixture.reader().statistics.syncedSequence == 1101)
  }
}
