// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: syncing and waiting")
struct RingSyncTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  // MARK: - Syncing

  @Test func aSyncReachesTheNewest() throws {
    let ring = try Ring(url, data: 4000)
    try ring.sync()
    #expect(try ring.statistics.synced_sequence == 0)
    for round in 1...UInt64(5) {
      try ring.append(lengths: [1, 2, 3])
      #expect(try ring.statistics.synced_sequence == 3 * (round - 1))
      try ring.sync()
      #expect(try ring.statistics.synced_sequence == 3 * round)
    }
    try ring.remove(through: .max)
    try ring.sync()
    #expect(try ring.statistics.synced_sequence == 15)
  }

  @Test func aSyncThroughANumberThatIsSyncedDoesNothing() throws {
    let ring = try Ring(url, data: 4000)
    try ring.append(lengths: [1, 2, 3])
    try check(larder_ring_sync_through(ring.raw, 0))
    #expect(try ring.statistics.synced_sequence == 0)
    try check(larder_ring_sync_through(ring.raw, 1))
    #expect(try ring.statistics.synced_sequence == 3)
    try ring.append(lengths: [1, 2, 3])
    try check(larder_ring_sync_through(ring.raw, 3))
    #expect(try ring.statistics.synced_sequence == 3)
    // One that was not given means all.
    try check(larder_ring_sync_through(ring.raw, .max))
    #expect(try ring.statistics.synced_sequence == 6)
  }

  @Test func closingSyncs() throws {
    let ring = try Ring(url, data: 4000)
    try ring.append(lengths: [1, 2, 3])
    ring.close()
    #expect(try Ring(url).statistics.synced_sequence == 3)
    #expect(try Ring(url).recovery.was_closed == 1)
  }

  @Test func synchronousAppendsOfSeveralThreadsAreAllSynced() throws {
    let ring = try Ring(url, data: 100_000)
    let failures = Locked<[String]>([])
    onThreads(4) { thread in
      for index in 0..<50 {
        let message = [UInt8(thread), UInt8(index)]
        var sequence: UInt64 = 0
        let status = larder_ring_append_synced(ring.raw, message, 2, &sequence)
        let synced = (try? ring.statistics.synced_sequence) ?? 0  // 0 is a failure, too.
        if status != LARDER_OK || sequence == 0 || synced < sequence {
          failures.withLock { $0.append("\(status): \(sequence), synced \(synced)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let messages = try ring.messages
    #expect(messages.map(\.sequence) == Array(1...200))
    for thread in UInt8(0)..<4 {
      let own = messages.map(\.payload).filter { $0[0] == thread }
      #expect(own.map { $0[1] } == Array(0..<50))
    }
  }

  /// The statistics say how far the background sync is; a wait for a message that never comes
  /// passes the time in between.
  @Test func theBackgroundSyncReachesTheNewest() throws {
    let ring = try Ring(url, data: 4000, syncInterval: 1_000_000)
    for round in 1...UInt64(3) {
      try ring.append(lengths: [1, 2, 3])
      for _ in 0..<5000 where try ring.statistics.synced_sequence < 3 * round {
        #expect(larder_ring_wait(ring.raw, .max, 2_000_000) == ETIMEDOUT)
      }
      #expect(try ring.statistics.synced_sequence == 3 * round)
    }
    // What was appended just before the end is synced by it.
    try ring.append(length: 4)
    ring.close()
    #expect(try Ring(url).statistics.synced_sequence == 10)
  }

  @Test func aBackgroundSyncWithALongIntervalDoesNotHoldUpTheEnd() throws {
    let hour: Int64 = 3_600_000_000_000
    let ring = try Ring(url, data: 4000, syncInterval: hour)
    try ring.append(lengths: [1, 2, 3])
    ring.close()
    #expect(try Ring(url).sequences == [1, 2, 3])
  }

  // MARK: - Waiting

  @Test func aWaitReturnsAtOnceIfThereIsSomethingOrNoTime() throws {
    let ring = try Ring(url, data: 4000)
    #expect(larder_ring_wait(ring.raw, 0, 0) == ETIMEDOUT)
    #expect(larder_ring_wait(ring.raw, 0, 1) == ETIMEDOUT)
    try ring.append(lengths: [1, 2])
    #expect(larder_ring_wait(ring.raw, 0, -1) == LARDER_OK)
    #expect(larder_ring_wait(ring.raw, 1, -1) == LARDER_OK)
    #expect(larder_ring_wait(ring.raw, 2, 0) == ETIMEDOUT)
    let reading = try Ring(reading: url)
    #expect(larder_ring_wait(reading.raw, 1, -1) == LARDER_OK)
    #expect(larder_ring_wait(reading.raw, 2, 0) == ETIMEDOUT)
    // What is not there any more is not waited for, and does not count as there.
    try ring.remove(through: .max)
    #expect(larder_ring_wait(ring.raw, 0, 0) == ETIMEDOUT)
  }

  @Test(arguments: [false, true])
  func anAppendInAnotherThreadWakesAWait(readOnly: Bool) throws {
    let ring = try Ring(url, data: 4000)
    let waiting = try readOnly ? Ring(reading: url) : ring
    let failures = Locked<[Int32]>([])
    onThreads(2) { thread in
      // Each message is appended only when the one before it was waited for.
      for round in 1...UInt64(100) {
        var status: larder_status = 0
        if thread == 0 {
          status = larder_ring_append(ring.raw, [UInt8(round)], 1, nil)
        }
        if status == LARDER_OK { status = larder_ring_wait(waiting.raw, round - 1, -1) }
        if status != LARDER_OK { failures.withLock { $0.append(status) } }
      }
    }
    #expect(failures.withLock { $0 } == [])
  }

  @Test(arguments: [false, true])
  func aWaitEndsWhenItIsInterrupted(readOnly: Bool) throws {
    let ring = try Ring(url, data: 4000)
    let waiting = try readOnly ? Ring(reading: url) : ring
    for _ in 0..<50 {
      onThreads(2) { thread in
        // One that begins later finds that it was.
        if thread == 0 { return larder_ring_interrupt(waiting.raw) }
        #expect(larder_ring_wait(waiting.raw, .max, -1) == ECANCELED)
      }
    }
  }

  @Test(arguments: [false, true])
  func aWaitEndsWithTheShutdown(readOnly: Bool) throws {
    let writer = try Ring(url, data: 4000)
    for _ in 0..<20 {
      if !readOnly { writer.close() }
      let ring = try readOnly ? Ring(reading: url) : Ring(url, data: 4000)
      let statuses = Locked<[Int32]>([])
      onThreads(3) { thread in
        let status =
          thread == 0
          ? larder_ring_shutdown(ring.raw) : larder_ring_wait(ring.raw, .max, -1)
        statuses.withLock { $0.append(status) }
      }
      #expect(
        statuses.withLock { $0.sorted() }
          == [Int32(LARDER_ECLOSED), Int32(LARDER_ECLOSED), Int32(LARDER_OK)])
      ring.close()
    }
  }
}
