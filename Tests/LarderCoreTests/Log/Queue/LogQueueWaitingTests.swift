// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite("Queues: waiting") struct LogQueueWaitingTests {
  private let fixture: QueueFixture

  init() throws { fixture = try QueueFixture() }

  /// Returns when so many sleep by the clock.
  private func sleepers(_ count: Int) async {
    await until { fixture.time.sleepers.count == count }
  }

  /// Receives on a thread of its own.
  private func onThread(
    _ queue: LogQueue<String>
  ) -> AsyncStream<Result<UInt64, any Error>> {
    AsyncStream { stream in
      Thread.detachNewThread {
        stream.yield(Result { try queue.receive(leaseFor: .seconds(10)).sequence })
        stream.finish()
      }
    }
  }

  private func first(
    of stream: AsyncStream<Result<UInt64, any Error>>
  ) async throws -> UInt64? {
    for await result in stream { return try result.get() }
    return nil
  }

  @Test func anAppendWakesATask() async throws {
    let queue = try fixture.queue()
    let task = Task { try await queue.receive(leaseFor: .seconds(10)).sequence }
    await Task.yield()
    try fixture.append(1...1)
    #expect(try await task.value == 1)
  }

  @Test func anAppendWakesAThread() async throws {
    let queue = try fixture.queue()
    let stream = onThread(queue)
    await Task.yield()
    try fixture.append(1...1)
    #expect(try await first(of: stream) == 1)
  }

  @Test func theEndOfALeaseWakesAtTheRightTime() async throws {
    let queue = try fixture.queue()
    try fixture.append(1...1)
    _ = try queue.drain(leaseFor: .seconds(10))
    let received = Locked(false)
    let task = Task {
      let job = try await queue.receive(leaseFor: .seconds(10))
      received.withLock { $0 = true }
      return [job.sequence, UInt64(job.attempts)]
    }
    await sleepers(1)
    fixture.time.advance(9.999)
    #expect(fixture.time.sleepers.count == 1)
    #expect(!received.withLock { $0 })
    fixture.time.advance(0.001)
    #expect(try await task.value == [1, 2])
  }

  @Test func theEndOfALeaseWakesAThread() async throws {
    let queue = try fixture.queue()
    try fixture.append(1...1)
    _ = try queue.drain(leaseFor: .seconds(10))
    let stream = onThread(queue)
    await sleepers(1)
    fixture.time.advance(10)
    #expect(try await first(of: stream) == 1)
  }

  @Test func aShorterDelayWakesEarlier() async throws {
    let queue = try fixture.queue()
    try fixture.append(1...2)
    let one = try #require(try queue.poll(leaseFor: .seconds(100)))
    let two = try #require(try queue.poll(leaseFor: .seconds(100)))
    let task = Task { try await queue.receive(leaseFor: .seconds(10)).sequence }
    await sleepers(1)
    try await queue.release(two, after: .seconds(5))
    // The old alarm is given up for an earlier one; then it rings.
    while try queue.statistics.delayed == 1 {
      fixture.time.advance(0.5)
      await Task.yield()
    }
    #expect(try await task.value == 2)
    try await queue.acknowledge(one)
  }

  @Test func aReleaseAndRoomInTheWindowWake() async throws {
    fixture.configuration.window = 1
    let queue = try fixture.queue()
    try fixture.append(1...2)
    let one = try #require(try queue.poll(leaseFor: .seconds(100)))
    var task = Task { try await queue.receive(leaseFor: .seconds(100)) }
    await sleepers(1)
    try await queue.release(one)
    let again = try await task.value
    #expect(again.sequence == 1)
    task = Task { try await queue.receive(leaseFor: .seconds(100)) }
    await sleepers(1)
    try await queue.acknowledge(again)
    #expect(try await task.value.sequence == 2)
  }

  @Test func cancellationEndsAWait() async throws {
    let queue = try fixture.queue()
    let task = Task { try await queue.receive(leaseFor: .seconds(10)) }
    await Task.yield()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    // Nothing was received for it.
    try fixture.append(1...1)
    #expect(try queue.drain() == [1])
  }

  @Test func closingWakesThreadsAndTasks() async throws {
    let queue = try fixture.queue()
    let stream = onThread(queue)
    let task = Task { try await queue.receive(leaseFor: .seconds(10)) }
    let jobs = Task {
      for try await _ in queue.jobs(leaseFor: .seconds(1)) { Issue.record("there is no job") }
    }
    await Task.yield()
    try await fixture.log.close()
    let code = await Self.code { _ = try await task.value }
    #expect(code == .closed)
    let ofThread = await Self.code { _ = try await first(of: stream) }
    #expect(ofThread == .closed)
    try await jobs.value
  }

  @Test func aLoopOverJobsEndsWithItsTask() async throws {
    let queue = try fixture.queue()
    try fixture.append(1...3)
    let seen = Locked<[UInt64]>([])
    let task = Task {
      for try await job in queue.jobs(leaseFor: .seconds(10)) {
        try await queue.acknowledge(job)
        seen.withLock { $0.append(job.sequence) }
      }
    }
    await until { seen.withLock({ $0.count }) >= 3 }
    task.cancel()
    try await task.value
    #expect(seen.withLock { $0 } == [1, 2, 3])
  }

  @Test func waitersOutliveASuspension() async throws {
    let queue = try fixture.queue()
    let stream = onThread(queue)
    let task = Task { try await queue.receive(leaseFor: .seconds(10)).sequence }
    await Task.yield()
    try await fixture.log.suspend()
    try await fixture.log.resume()
    try fixture.append(1...2)
    #expect(try await Set([task.value, first(of: stream)]) == [1, 2])
  }

  private static func code(_ body: () async throws -> Void) async -> LarderError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? LarderError)?.code }
  }

  // MARK: - Several workers

  @Test(arguments: [2, 8]) func workersShareTheMessages(workers: Int) async throws {
    fixture.configuration.window = 64
    let queue = try fixture.queue()
    let count = 4000
    let log = fixture.log
    let done = Locked<[UInt64: Int]>([:])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<workers {
        group.addTask {
          for try await job in queue.jobs(leaseFor: .seconds(1000)) {
            if job.attempts == 1, job.sequence % 7 == 0 {
              try await queue.release(job)
              continue
            }
            _ = try queue.extendLease(of: job, for: .seconds(2000))
            #expect(try await queue.acknowledge(job), "worker \(worker)")
            let all = done.withLock { done in
              done[job.sequence, default: 0] += 1
              return done.count
            }
            if all == count { try await log.close() }
          }
        }
      }
      for number in 1...count { try log.append("\(number)") }
      try await group.waitForAll()
    }
    let counts = done.withLock { $0 }
    #expect(counts.count == count)
    #expect(counts.values.allSatisfy { $0 == 1 })
    #expect(try fixture.reopen().statistics.ready == 0)
  }

  @Test(arguments: [2, 8]) func threadsShareTheMessages(workers: Int) throws {
    let queue = try fixture.queue()
    let count = 4000
    let log = fixture.log
    try fixture.append(1...count)
    let done = Locked<[UInt64]>([])
    let failures = Locked<[any Error]>([])
    onDiskThreads(workers) { _ in
      do {
        while true {
          let job = try queue.receive(leaseFor: .seconds(1000))
          try queue.acknowledge(job)
          let all = done.withLock { done in
            done.append(job.sequence)
            return done.count
          }
          if all == count { try log.close() }
        }
      } catch let error as LarderError where error.code == .closed {
        // All is done.
      } catch {
        failures.withLock { $0.append(error) }
      }
    }
    #expect(failures.withLock { $0.count } == 0)
    #expect(done.withLock { $0.sorted() } == Array(1...UInt64(count)))
  }
}
