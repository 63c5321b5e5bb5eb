// SPDX-License-Identifier: MIT

extension DiskCache {
  /// As the synchronous form, on a thread of the cache's own: verifies everything.
  ///
  /// - Parameter progress: Receives the entries done and their total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know. Nor does it
  ///   go on when the task is cancelled.
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `CancellationError`, `.closed`, `.io`.
  /// - Complexity: O(bytes of everything). Writes may go on meanwhile.
  public func verify(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await executor.runCancellable { goesOn in
      try self.verify { goesOn() && (progress?($0, $1) ?? true) }
    }
  }
}
