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
  public func destroy() async throws { try await executor.runAnyway { try self.destroy() } }
}
