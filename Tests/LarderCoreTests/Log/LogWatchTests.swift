// SPDX-License-Identifier: MIT

import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCore

/// Looking for what another process appends, by a clock that does not wait.
@Suite(.timeLimit(.minutes(5))) struct LogWatchTests {
  /// A log whose next number changes with the look of that number.
  private final class Log: Sendable {
    let signal = ChangeSignal()
    let pauses = Locked<[Duration]>([])
    private let changesAt: Int
    private let waiting = Atomic<Int>(0)
    private let expected: Int

    init(changesAt: Int, waiters: Int) {
      self.changesAt = changesAt
      expected = waiters
    }

    /// Waits as a follower does.
    func wait(_ watch: LogWatch) async {
      await signal.wait {
        watch.begin(self.signal, seen: 1) { self.look() }
        self.waiting.add(1, ordering: .sequentiallyConsistent)
        return false
      }
    }

    /// Nobody looks before all wait.
    func sleep(_ pause: Duration) async {
      while waiting.load(ordering: .sequentiallyConsistent) < expected { await Task.yield() }
      pauses.withLock { $0.append(pause) }
    }

    private func look() -> UInt64? { pauses.withLock { $0.count < changesAt ? 1 : 2 } }
  }

  @Test func manyWaitersShareOneLook() async {
    let log = Log(changesAt: 500, waiters: 100)
    let watch = LogWatch { await log.sleep($0) }
    await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { await log.wait(watch) } }
    }
    // One more where the watch was faster than those whom it woke.
    #expect((500...501).contains(log.pauses.withLock { $0.count }))
  }

  @Test func aQuietLogIsLookedAtTwentyTimesASecond() async {
    let log = Log(changesAt: 500, waiters: 1)
    await log.wait(LogWatch { await log.sleep($0) })
    let pauses = log.pauses.withLock { $0 }
    #expect(pauses.first == .milliseconds(2))
    #expect(pauses.allSatisfy { $0 >= .milliseconds(2) && $0 <= .milliseconds(50) })
    var time = Duration.zero
    var inFirstSecond = 0
    for pause in pauses.prefix(500) {
      if time < .seconds(1) { inFirstSecond += 1 } else { #expect(pause == .milliseconds(50)) }
      time += pause
    }
    #expect(inFirstSecond <= 60)
  }

  @Test func aWatchThatEndedBeginsAgain() async {
    for _ in 0..<20 {
      let first = Log(changesAt: 3, waiters: 1)
      let watch = LogWatch { await first.sleep($0) }
      for _ in 0..<5 { await first.wait(watch) }
    }
  }

  @Test func whatCannotBeReadWakesTheWaiters() async {
    let signal = ChangeSignal()
    let watch = LogWatch { _ in await Task.yield() }
    await signal.wait {
      watch.begin(signal, seen: 1) { nil }
      return false
    }
  }
}
