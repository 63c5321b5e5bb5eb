// SPDX-License-Identifier: MIT

import Dispatch
import Foundation
import Synchronization

/// Runs an asynchronous closure and blocks the thread until it is done: for calls that
/// block where a tier can only suspend.
///
/// The closure runs on threads apart from the few that run tasks, and so does what it asks
/// of a disk: all threads of a pool may be blocked here.
func blocking<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
  let outcome = BlockedOutcome<R>()
  let done = DispatchSemaphore(value: 0)
  Task.detached(executorPreference: BlockedExecutor.shared) {
    let result: Result<R, any Error>
    do {
      result = .success(
        try await DiskExecutor.$mayBlockItsThread.withValue(true) { try await body() })
    } catch {
      result = .failure(error)
    }
    outcome.result.withLock { $0 = result }
    done.signal()
  }
  done.wait()
  // The semaphore is signalled only behind a result.
  guard let result = outcome.result.withLock({ $0 }) else { throw CancellationError() }
  return try result.get()
}

/// Where the result of an asynchronous closure is put for the thread that waits.
private final class BlockedOutcome<R: Sendable>: Sendable {
  let result = Mutex<Result<R, any Error>?>(nil)
}

/// A thread for each piece of work: one of a bounded pool could be waited for by those that
/// hold all the others.
private final class BlockedExecutor: TaskExecutor {
  static let shared = BlockedExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
