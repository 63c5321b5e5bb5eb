// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCore

/// One thread that waits for what another process appends.
struct LogWatchTests {
  /// A log whose number changes when a test says so.
  private final class Log: Sendable {
    let signal = ChangeSignal()
    let waits = Atomic<Int>(0)
    let limits = Locked<[Duration?]>([])
    private let next = Locked<UInt64?>(1)
    private let changes = DispatchSemaphore(value: 0)

    /// Waits as a follower does.
    func follow(_ watch: LogWatch, seen: UInt64) async {
      await signal.wait {
        watch.begin(self.signal, seen: seen) { seen, limit in self.block(seen, limit) }
        return self.next.withLock { $0 } != seen
      }
    }

    func change(to number: UInt64?) {
      next.withLock { $0 = number }
      changes.signal()
    }

    /// As if it had been interrupted.
    func interrupt() { changes.signal() }

    private func block(_ seen: UInt64, _ limit: Duration?) -> UInt64? {
      waits.add(1, ordering: .sequentiallyConsistent)
      limits.withLock { $0.append(limit) }
      // What comes while nobody waits is not waited for.
      if limit == nil, next.withLock({ $0 }) == seen { changes.wait() }
      return next.withLock { $0 }
    }

    func untilWaiting(_ count: Int) async {
      await until { waits.load(ordering: .sequentiallyConsistent) >= count }
    }
  }

  @Test func manyWaitersShareOneThread() async {
    let log = Log()
    let watch = LogWatch()
    await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { await log.follow(watch, seen: 1) } }
      await log.untilWaiting(1)
      log.change(to: 2)
    }
    // A few more where it was faster than those whom it woke.
    let limits = log.limits.withLock { $0 }
    #expect(limits.first == .some(nil))
    #expect(limits.filter { $0 == nil }.count <= 100)
  }

  @Test func aThreadThatEndedBeginsAgain() async {
    let log = Log()
    let watch = LogWatch()
    for number in 1..<UInt64(200) {
      await withTaskGroup { group in
        group.addTask { await log.follow(watch, seen: number) }
        log.change(to: number + 1)
      }
    }
  }

  @Test func theThreadEndsWhenTheLastWaiterHasLeft() async {
    let log = Log()
    let watch = LogWatch()
    let waiter = Task { await log.follow(watch, seen: 1) }
    await log.untilWaiting(1)
    waiter.cancel()
    await waiter.value
    log.interrupt()
    // Once with a limit, and no more.
    await log.untilWaiting(2)
    #expect(log.limits.withLock { $0 } == [nil, .milliseconds(100)])
  }

  @Test func whatCannotBeReadWakesTheWaiters() async {
    let log = Log()
    let watch = LogWatch()
    await withTaskGroup { group in
      group.addTask { await log.follow(watch, seen: 1) }
      await log.untilWaiting(1)
      log.change(to: nil)
    }
  }
}
