// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Synchronization

extension Bench {
  /// Lets each of `threads` threads do its part of twice as many calls as there are keys, after one
  /// round over all keys that only warms up. Returns the time per call, from the first thread's
  /// start to the last one's end.
  func onThreads<Store: Sendable>(
    _ threads: Int, _ order: [Int], _ store: Store,
    _ body: @escaping @Sendable (UnsafeBufferPointer<Int>, Store) -> Int
  ) -> Double {
    let parts = 2
    let start = StartingLine()
    let all = DispatchGroup()
    for thread in 0..<threads {
      all.enter()
      Thread.detachNewThread {
        let mine = (0..<parts).filter { $0 % threads == thread }
        order.withUnsafeBufferPointer { consume(body($0, store)) }
        start.wait(for: threads)
        let began = rivals_now_ns()
        for part in mine {
          // The second part is in another place of the list, so that two do not read in step.
          order.withUnsafeBufferPointer { keys in
            let middle = part * keys.count / parts
            consume(body(UnsafeBufferPointer(rebasing: keys[middle...]), store))
            consume(body(UnsafeBufferPointer(rebasing: keys[..<middle]), store))
          }
        }
        start.finished(from: began, to: rivals_now_ns())
        all.leave()
      }
    }
    all.wait()
    return perOperation(start.elapsed, parts * order.count, loop: .swift, threads: threads)
  }
}

/// Runs an asynchronous closure and waits for it.
func wait<R: Sendable>(for body: @escaping @Sendable () async throws -> R) throws -> R {
  let done = DispatchSemaphore(value: 0)
  nonisolated(unsafe) var result: Result<R, any Error>?
  Task.detached {
    do { result = .success(try await body()) } catch { result = .failure(error) }
    done.signal()
  }
  done.wait()
  // It is signalled behind a result only.
  guard let result else { throw CancellationError() }
  return try result.get()
}

/// Where threads wait until all are there, and note when they ran.
private final class StartingLine: Sendable {
  private let ready = Atomic<Int>(0)
  private let span = Mutex<(first: UInt64, last: UInt64)>((.max, 0))

  func wait(for threads: Int) {
    ready.add(1, ordering: .acquiringAndReleasing)
    while ready.load(ordering: .acquiring) < threads { sched_yield() }
  }

  func finished(from began: UInt64, to ended: UInt64) {
    span.withLock { $0 = (min($0.first, began), max($0.last, ended)) }
  }

  var elapsed: UInt64 { span.withLock { $0.last - $0.first } }
}
