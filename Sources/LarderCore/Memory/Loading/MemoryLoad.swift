// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// The load of one key, and the callers that wait for it.
@usableFromInline
package final class MemoryLoad<Value: Sendable>: Sendable {
  /// nil: there is nothing under the key.
  package typealias Outcome = Result<Value?, any Error>

  /// What a caller that waits is told.
  package enum News: Sendable {
    case outcome(Outcome)
    /// The key was removed: what is being loaded may be older than that.
    case removed
    /// The load takes longer than callers with an old value wait for it.
    case late
  }

  /// What a caller does not want to be told.
  package struct Ignored: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static var removal: Ignored { Ignored(rawValue: 1) }
    package static var lateness: Ignored { Ignored(rawValue: 2) }
  }

  private struct Waiter {
    let ignored: Ignored
    let resume: @Sendable (Result<News, any Error>) -> Void
  }

  private struct State {
    var outcome: Outcome?
    var isRemoved = false
    var isLate = false
    var waiters: [UInt64: Waiter] = [:]
    /// How many callers want the outcome, the one that loads included; the load
    /// continues while this is not 0.
    var interested = 1
    var nextID: UInt64 = 0
    var run: MemoryLoadRun?

    func news(_ ignored: Ignored) -> News? {
      if let outcome { return .outcome(outcome) }
      if isRemoved, !ignored.contains(.removal) { return .removed }
      return isLate && !ignored.contains(.lateness) ? .late : nil
    }

    /// A caller that is told of a removal does not want the outcome any more.
    ///
    /// - Returns: The call that loads, if nobody does.
    mutating func tell(_ news: News?) -> MemoryLoadRun? {
      guard case .removed? = news else { return nil }
      interested -= 1
      return interested > 0 ? nil : run.take()
    }

    mutating func takeID() -> UInt64 {
      nextID += 1
      return nextID
    }
  }

  /// For telling a load that asks for its own key.
  package let id = MemoryLoading.nextID()
  private let state = Mutex(State())
  private let superseded = Atomic<Bool>(false)

  init() {}

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

  /// One caller does not want it any more. The load is cancelled with the last.
  package func leave() { state.withLock { abandoned(&$0) }?.abandon() }

  private func abandoned(_ state: inout State) -> MemoryLoadRun? {
    state.interested -= 1
    if state.interested > 0 { return nil }
    supersede()
    return state.run.take()
  }

  /// Names the call that loads.
  package func begin(_ run: MemoryLoadRun) {
    let isAbandoned = state.withLock { state in
      let isAbandoned = state.interested == 0 || state.outcome != nil
      if !isAbandoned { state.run = run }
      return isAbandoned
    }
    if isAbandoned { run.abandon() }
  }

  /// Tells every caller the outcome.
  func finish(_ outcome: Outcome) {
    var run: MemoryLoadRun?
    tell { state in
      state.outcome = state.outcome ?? outcome
      run = state.run.take()
    }
    run?.end()
  }

  /// The key was written or removed by somebody else: nobody has to wait any more. To be
  /// called while nothing is locked.
  ///
  /// - Parameter value: What was written; nil for a removal, which has callers start over.
  @usableFromInline
  package func release(_ value: Value?) {
    var run: MemoryLoadRun?
    let unwanted = tell { state in
      state.isRemoved = true
      guard let value else { return }
      state.outcome = state.outcome ?? .success(value)
      run = state.run.take()
    }
    (run ?? unwanted)?.abandon()
  }

  /// Who has an old value may take that.
  func becomeLate() {
    tell { $0.isLate = true }
  }

  /// Changes what there is to tell, and tells those who do not ignore it.
  ///
  /// - Returns: The call that loads, if nobody wants its outcome any more.
  @discardableResult
  private func tell(_ change: (inout State) -> Void) -> MemoryLoadRun? {
    let (told, unwanted) = state.withLock { state in
      change(&state)
      let told = state.waiters.compactMap { id, waiter in
        state.news(waiter.ignored).map { (id: id, waiter: waiter, news: $0) }
      }
      var unwanted: MemoryLoadRun?
      for (id, _, news) in told {
        state.waiters[id] = nil
        unwanted = state.tell(news) ?? unwanted
      }
      return (told, unwanted)
    }
    for (_, waiter, news) in told { waiter.resume(.success(news)) }
    return unwanted
  }

  /// Blocks until there is something to tell.
  package func wait(_ ignored: Ignored) -> News {
    let thread = WaitingThread<News>()
    let (news, unwanted) = state.withLock { state in
      let news = state.news(ignored)
      if news == nil {
        state.waiters[state.takeID()] = Waiter(ignored: ignored) { thread.wake($0) }
      }
      return (news, state.tell(news))
    }
    unwanted?.abandon()
    return news ?? thread.wait() ?? .removed
  }

  /// Suspends until there is something to tell, or the task is cancelled.
  package nonisolated(nonsending) func wait(_ ignored: Ignored) async throws -> News {
    let id = state.withLock { $0.takeID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (news, unwanted) = state.withLock { state in
          let news = state.news(ignored)
          if news == nil {
            state.waiters[id] = Waiter(ignored: ignored) { continuation.resume(with: $0) }
          }
          return (news, state.tell(news))
        }
        unwanted?.abandon()
        if let news {
          continuation.resume(returning: news)
        } else if Task.isCancelled {
          // The handler below may have run before there was anything to find.
          cancel(id)
        }
      }
    } onCancel: {
      cancel(id)
    }
  }

  /// One caller stops waiting.
  private func cancel(_ id: UInt64) {
    let (waiter, run) = state.withLock { state in
      guard let waiter = state.waiters.removeValue(forKey: id) else {
        return (Waiter?.none, MemoryLoadRun?.none)
      }
      return (waiter, abandoned(&state))
    }
    run?.abandon()
    waiter?.resume(.failure(CancellationError()))
  }
}

/// A thread that waits for news.
private final class WaitingThread<News: Sendable>: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let news = Mutex<News?>(nil)

  func wake(_ result: Result<News, any Error>) {
    // Threads are not cancelled.
    news.withLock { $0 = try? result.get() }
    semaphore.signal()
  }

  func wait() -> News? {
    semaphore.wait()
    return news.withLock { $0 }
  }
}

/// The loads that the current task is running.
package enum MemoryLoading {
  @TaskLocal package static var ids: [UInt64] = []
  private static let lastID = Atomic<UInt64>(0)

  static func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }
}
