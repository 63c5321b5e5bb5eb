// SPDX-License-Identifier: MIT

import LarderCore

// What each of these takes, returns and throws is told at its synchronous form. Where a task's
// cancellation ends it, `CancellationError` is thrown.

extension ArchiveQuery {
  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  @inlinable
  public func last() async throws -> Element? {
    let fetch = makeFetch()
    return try await archive.executor.runCancellable { goesOn in
      try self.runLast(fetch, goesOn: goesOn)
    }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  public func count() async throws -> Int {
    try await archive.executor.runCancellable { goesOn in try self.runCount(goesOn: goesOn) }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  @discardableResult
  public func update(
    durability: Durability? = nil, _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Int {
    try await archive.executor.runCancellable { goesOn in
      try self.update(durability, body, goesOn: goesOn)
    }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  @discardableResult
  public func delete(durability: Durability? = nil) async throws -> Int {
    try await archive.executor.runCancellable { goesOn in
      try self.delete(durability, goesOn: goesOn)
    }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  public func explain() async throws -> ArchiveExplanation {
    try await archive.executor.runCancellable { goesOn in
      ArchiveExplanation(try self.run(isCounting: true, goesOn: goesOn))
    }
  }
}
