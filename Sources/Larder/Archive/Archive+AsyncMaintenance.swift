// SPDX-License-Identifier: MIT

extension Archive {
  /// As the synchronous form, on a thread of the archive's own: runs a checkpoint.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func flush() async throws { try await executor.run { try self.flush() } }

  /// As the synchronous form, on a thread of the archive's own: makes everything written so
  /// far survive a power cut.
  ///
  /// - Throws: `.diskFull`, `.io`, `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device.
  public func sync() async throws { try await executor.run { try self.sync() } }

  /// As the synchronous form, on a thread of the archive's own: ends the use of the archive.
  ///
  /// - Throws: `.diskFull` or `.io` if the flush failed; the archive is closed all the same.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func close() async throws { try await executor.runAnyway { try self.close() } }

  /// As the synchronous form, on a thread of the archive's own: closes the archive and
  /// deletes its files, and the folder if nothing else is in it.
  ///
  /// - Throws: `.readOnly`, and then nothing has changed; `.io`.
  /// - Complexity: O(segments of the log).
  public func delete() async throws { try await executor.runAnyway { try self.delete() } }

  /// As the synchronous form, on a thread of the archive's own: verifies everything.
  ///
  /// - Parameter progress: Receives the elements done and their total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know. Nor does it
  ///   go on when the task is cancelled.
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `CancellationError`, `.closed`, `.io`.
  /// - Complexity: O(bytes of everything). Writes may go on meanwhile.
  public func verify(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> DiskCacheReport {
    try await executor.runCancellable { goesOn in
      try self.verify { goesOn() && (progress?($0, $1) ?? true) }
    }
  }
}
