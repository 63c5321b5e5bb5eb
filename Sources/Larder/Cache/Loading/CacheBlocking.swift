// SPDX-License-Identifier: MIT

import Dispatch
import Foundation
import Synchronization

/// Runs an asynchronous closure and blocks the thread until it is done: for calls that
/// block where a tier can only suspend.
///
/// The closure runs on the thread that waits for it, and so does what it asks of a disk: all
/// threads of a pool may be blocked here.
func blocking<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
  let outcome = BlockedOutcome<R>()
  let executor = BlockedExecutor()
  Task.detached(executorPreference: executor) {
    let result: Result<R, any Error>
    do {
      result = .success(
        try await DiskExecutor.$mayBlockItsThread.withValue(true) { try await body() })
    } catch {
      result = .failure(error)
    }
    outcome.result.withLock { $0 = result }
    executor.end()
  }
  executor.run()
  // It ends only behind a result.
  guard let result = outcome.result.withLock({ $0 }) else { throw CancellationError() }
  return try result.get()
}

/// Where the result of an asynchronous closure is put for the thread that waits.
private final class BlockedOutcome<R: Sendable>: Sendable {
  let result = Mutex<Result<R, any Error>?>(nil)
}

/// Runs what is to be run on the thread that waits for its end: one of a bounded pool could be
/// waited for by those that hold all the others, and a thread for each piece takes long to start.
private final class BlockedExecutor: TaskExecutor {
  private let state = Mutex<(jobs: [UnownedJob], isOver: Bool)>(([], false))
  private let ready = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isOver = state.withLock { state in
      if !state.isOver { state.jobs.append(job) }
      return state.isOver
    }
    if !isOver {
      ready.signal()
    } else {
      // Nobody waits any more.
      Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// Returns behind ``end()``, when what came before that was run.
  func run() {
    while true {
      ready.wait()
      let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
      guard let job else { return }
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  func end() {
    state.withLock { $0.isOver = true }
    ready.signal()
  }
}
