// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// What suspending is whatever is suspended: who waits, who fails, and when what was open goes.
struct SuspendableHandleTests {
  /// Something open: says when it goes.
  private final class Thing: @unchecked Sendable {
    let pointer: OpaquePointer
    private let memory: UnsafeMutableRawPointer
    private let gone: Locked<Int>

    init(_ gone: Locked<Int>) {
      memory = .allocate(byteCount: 1, alignment: 1)
      pointer = OpaquePointer(memory)
      self.gone = gone
    }

    deinit {
      memory.deallocate()
      gone.withLock { $0 += 1 }
    }
  }

  private let gone = Locked(0)
  private let shut = Locked(0)
  private let handle: SuspendableHandle
  private var goneCount: Int { gone.withLock { $0 } }

  init() { handle = SuspendableHandle("The thing", Self.open(gone)) }

  private static func open(_ gone: Locked<Int>) -> SuspendableHandle.Opened {
    let thing = Thing(gone)
    return .init(pointer: thing.pointer, owner: thing)
  }

  private func suspend(_ calls: SuspendedCalls = .fail) throws {
    try handle.suspend(calls: calls) { _ in shut.withLock { $0 += 1 } }
  }

  private func resume() throws { try handle.resume { Self.open(gone) } }

  /// A call that succeeds wherever there is something open.
  private func call() throws -> Int32 { try handle.call { _ in 0 } }

  @Test func whatIsSuspendedIsShutAndGoneAtOnceIfNobodyUsesIt() throws {
    #expect(try call() == 0)
    try suspend()
    #expect(goneCount == 1 && shut.withLock { $0 } == 1 && handle.isSuspended)
    #expect(errorCode { try call() } == .suspended)
    try resume()
    #expect(try call() == 0)
    #expect(goneCount == 1 && !handle.isSuspended)
  }

  @Test func whatACallUsesGoesWithTheCall() throws {
    let inside: Bool? = try handle.withPointer { _ in
      try suspend()
      // Another call in this one is as suspended as any.
      #expect(errorCode { try call() } == .suspended)
      return goneCount == 0
    }
    #expect(inside == true)
    #expect(goneCount == 1)
  }

  @Test func whatACallUsesOutlivesAResumption() throws {
    let inside: Bool? = try handle.withPointer { old in
      try suspend()
      try resume()
      let isNew = try handle.call { $0 == old ? 1 : 0 } == 0
      return isNew && goneCount == 0
    }
    #expect(inside == true)
    #expect(goneCount == 1)
  }

  @Test func whoKeepsItHasItAfterASuspension() throws {
    typealias Kept = (status: Int32, owner: any SuspendableHandle.Owner)
    var kept: Kept? = try handle.callKeeping { _ in 7 }
    #expect(kept?.status == 7)
    try suspend()
    #expect(goneCount == 0)
    kept = nil
    #expect(goneCount == 1)
  }

  @Test func aCallThatMeetsAShutObjectIsMadeAgain() throws {
    var seen: [OpaquePointer] = []
    let status = try handle.call { pointer in
      seen.append(pointer)
      if seen.count > 1 { return 0 }
      // As if others had suspended and resumed it in the middle of the call.
      try? suspend()
      try? resume()
      return SuspendableHandle.closed
    }
    #expect(status == 0 && seen.count == 2)
  }

  @Test func callsThatWaitGoOnWhenItIsResumed() throws {
    try suspend(.wait)
    let statuses = Locked<[Int32?]>([])
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<8 {
      Thread.detachNewThread {
        let status = try? self.call()
        statuses.withLock { $0.append(status) }
        done.signal()
      }
    }
    blockUntil { handle.waitingThreadCount >= 8 }
    #expect(statuses.withLock { $0.isEmpty })
    try resume()
    for _ in 0..<8 { done.wait() }
    #expect(statuses.withLock { $0 } == [Int32?](repeating: 0, count: 8))
  }

  @Test func aCallThatMustNotBlockFailsWhereOthersWait() throws {
    try suspend(.wait)
    #expect(errorCode { try handle.call(waits: false) { _ in 0 } } == .suspended)
  }

  @Test func callsThatWaitEndWhenItIsClosed() async throws {
    try suspend(.wait)
    let status = Locked<Int32?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let found = try? self.call()
      status.withLock { $0 = found }
      done.signal()
    }
    async let task: Void = handle.untilResumed()
    await until { handle.waitingThreadCount >= 1 }
    try handle.close { _ in shut.withLock { $0 += 1 } }
    try await task
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        done.wait()
        continuation.resume()
      }
    }
    #expect(status.withLock { $0 } == SuspendableHandle.closed)
    // It was shut when it was suspended.
    #expect(shut.withLock { $0 } == 1)
    #expect(errorCode { try suspend() } == .closed)
    #expect(errorCode { try resume() } == .closed)
  }

  @Test func suspendingTwiceAndResumingTwiceIsHarmless() throws {
    try resume()
    try suspend(.fail)
    try suspend(.wait)
    #expect(shut.withLock { $0 } == 1)
    #expect(errorCode { try call() } == .suspended)
    try resume()
    try resume()
    #expect(try call() == 0)
    #expect(goneCount == 1)
  }

  @Test func aFailureToShutSuspendsAllTheSame() throws {
    let failure = error {
      try handle.suspend(calls: .fail) { _ throws(LarderError) in
        throw LarderError(.io, "The sync failed.")
      }
    }
    #expect(failure?.code == .io)
    #expect(handle.isSuspended && goneCount == 1)
  }

  @Test func aFailureToOpenLeavesItSuspended() throws {
    try suspend(.fail)
    let failure = error {
      try handle.resume { () throws(LarderError) in throw LarderError(.busy, "Others have it.") }
    }
    #expect(failure?.code == .busy)
    #expect(errorCode { try call() } == .suspended)
    try resume()
    #expect(try call() == 0)
  }

  @Test func whoCannotBeResumedAnyMoreIsClosed() throws {
    handle.abandon()
    #expect(try call() == 0)
    try suspend(.wait)
    handle.abandon()
    #expect(try call() == SuspendableHandle.closed)
  }

  @Test func aTaskThatWaitsCanBeCancelled() async throws {
    try suspend(.wait)
    let task = Task { try await handle.untilResumed() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func aTaskFailsUnlessItWaitsAlways() async throws {
    try suspend(.fail)
    await #expect(throws: LarderError.self) { try await handle.untilResumed() }
    async let always: Void = handle.untilResumed(always: true)
    try resume()
    try await always
  }

  @Test func aBodyThatThrowsForAnotherStoreIsNotRunAgain() async throws {
    let runs = Locked(0)
    await #expect(throws: LarderError.self) {
      try await handle.retryingWhenResumed {
        runs.withLock { $0 += 1 }
        throw LarderError(.suspended, "Another store is suspended.")
      }
    }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test func aBodyThatThrowsWhileItIsClosedIsRunAgainOnce() async throws {
    try suspend(.fail)
    let runs = Locked(0)
    let last = Locked(2)
    let body: @Sendable () throws -> Int = {
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      if run == 1 { try handle.close { _ in } }
      if run < last.withLock({ $0 }) {
        throw LarderError(.suspended, "As it was a moment ago.")
      }
      return run
    }
    #expect(try await handle.retryingWhenResumed(always: true) { try body() } == 2)
    // Another store is suspended, too.
    last.withLock { $0 = .max }
    await #expect(throws: LarderError.self) {
      try await handle.retryingWhenResumed(always: true) { try body() }
    }
    #expect(runs.withLock { $0 } == 4)
  }

  @Test func nothingIsUsedAfterItIsGoneUnderLoad() throws {
    // A pointer that is used after its memory was given back shows under Address Sanitizer; and
    // what was opened is gone in the end.
    let isOver = Locked(false)
    let done = DispatchSemaphore(value: 0)
    let calls = Locked(0)
    for thread in 0..<8 {
      Thread.detachNewThread {
        var count = 0
        while !isOver.withLock({ $0 }) {
          let status = try? self.handle.call { pointer in
            let byte = UnsafeMutableRawPointer(pointer)
            _ = byte.load(as: UInt8.self)
            return 0
          }
          if status == 0 { count += 1 }
          if thread == 0, count % 64 == 0 {
            _ = self.handle.withPointer { _ in (try? self.call()) ?? 0 }
          }
        }
        calls.withLock { $0 += count }
        done.signal()
      }
    }
    for round in 0..<2000 {
      try suspend(round % 2 == 0 ? .wait : .fail)
      try resume()
    }
    isOver.withLock { $0 = true }
    for _ in 0..<8 { done.wait() }
    #expect(goneCount == 2000)
    #expect(calls.withLock { $0 } > 0)
  }
}
