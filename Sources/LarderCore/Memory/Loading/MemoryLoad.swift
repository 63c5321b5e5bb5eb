// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// One load of one key, and the callers that wait for it.
package final class MemoryLoad<Value: Sendable>: Sendable {
  package typealias Outcome = Result<Value, any Error>

  private struct State {
    var outcome: Outcome?
    var tasks: [UInt64: CheckedContinuation<Value, any Error>] = [:]
    var threads: [DispatchSemaphore] = []
    /// How many callers want the outcome, the one that loads included; the load
    /// continues while this is not 0.
    var interested: Int
    var nextID: UInt64 = 0
    var task: Task<Void, Never>?
  }

  /// For telling a load that asks for its own key.
  package let id: UInt64
  private let state: Mutex<State>
  private let superseded = Atomic<Bool>(false)

  init(id: UInt64) {
    self.id = id
    state = Mutex(State(interested: 1))
  }

  /// Whether what it loads must not be stored any more, because the key was written
  /// or removed meanwhile, or nobody waits.
  package var isSuperseded: Bool { superseded.load(ordering: .acquiring) }

  func supersede() { superseded.store(true, ordering: .releasing) }

  /// One more caller wants the outcome.
  ///
  /// - Returns: False if it is too late.
  func join() -> Bool {
    state.withLock { state in
      if isSuperseded { return false }
      state.interested += 1
      return true
    }
  }

  /// Names the task that loads.
  package func setTask(_ task: Task<Void, Never>) {
    let isAbandoned = state.withLock { state in
      if state.outcome == nil { state.task = task }
      return state.interested == 0
    }
    if isAbandoned { task.cancel() }
  }

  /// Resumes every caller with the outcome.
  func finish(_ outcome: Outcome) {
    let (tasks, threads) = state.withLock { state in
      state.outcome = outcome
      state.task = nil
      defer {
        state.tasks = [:]
        state.threads = []
      }
      return (state.tasks, state.threads)
    }
    for continuation in tasks.values { continuation.resume(with: outcome) }
    for thread in threads { thread.signal() }
  }

  /// Blocks until there is an outcome.
  package func wait() throws -> Value {
    let semaphore = DispatchSemaphore(value: 0)
    let isFinished = state.withLock { state in
      if state.outcome != nil { return true }
      state.threads.append(semaphore)
      return false
    }
    if !isFinished { semaphore.wait() }
    // A semaphore is signalled only behind an outcome.
    guard let outcome = state.withLock({ $0.outcome }) else { throw CancellationError() }
    return try outcome.get()
  }

  /// Suspends until there is an outcome, or the task is cancelled.
  package nonisolated(nonsending) func value() async throws -> Value {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state in
          if state.outcome == nil { state.tasks[id] = continuation }
          return state.outcome
        }
        if let outcome {
          continuation.resume(with: outcome)
        } else if Task.isCancelled {
          // The handler below may have run before there was anything to find.
          cancel(id)
        }
      }
    } onCancel: {
      cancel(id)
    }
  }

  /// One caller stops waiting. The load is cancelled with the last.
  private func cancel(_ id: UInt64) {
    let (continuation, task) = state.withLock { state in
      guard let continuation = state.tasks.removeValue(forKey: id) else {
        return (CheckedContinuation<Value, any Error>?.none, Task<Void, Never>?.none)
      }
      state.interested -= 1
      if state.interested > 0 { return (continuation, nil) }
      supersede()
      return (continuation, state.task)
    }
    task?.cancel()
    continuation?.resume(throwing: CancellationError())
  }
}

/// The loads that the current task is running.
package enum MemoryLoading {
  @TaskLocal package static var ids: [UInt64] = []
  private static let lastID = Atomic<UInt64>(0)

  static func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }
}
