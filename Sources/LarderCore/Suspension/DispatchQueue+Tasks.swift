// SPDX-License-Identifier: MIT

package import Dispatch

extension DispatchQueue {
  /// Runs a blocking call on a thread of the queue, for a task that waits for it.
  ///
  /// The task goes on when the thread has released what the call holds: whoever has used a store
  /// with `await`, and releases it, may open it again at once.
  package func run<R: Sendable>(
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    let call = Handover(body)
    let outcome = Handover<Result<R, any Error>>()
    await withCheckedContinuation { continuation in
      async {
        if let body = call.take() { outcome.give(Result(catching: body)) }
        continuation.resume()
      }
    }
    guard let outcome = outcome.take() else { throw CancellationError() }
    return try outcome.get()
  }
}
