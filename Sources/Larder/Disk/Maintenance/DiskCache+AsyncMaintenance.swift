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

  /// As the synchronous form, on another thread: frees all room that replaced and removed
  /// entries left.
  ///
  /// - Parameters:
  ///   - path: The folder, which nobody has open for writing.
  ///   - trustsOtherUsers: As in the configuration; false by default.
  ///   - progress: Receives the segments done and their total from time to time, and then
  ///     the rows of the index that were copied and theirs, and gives back whether to go on;
  ///     nil, the default, if nobody wants to know.
  /// - Returns: How large log and index were, and are now.
  /// - Throws: `.busy`, `.damaged`, `.untrusted`, `CancellationError`, `.diskFull`, `.io`.
  /// - Complexity: O(bytes of everything).
  @discardableResult
  public static func compact(
    path: String, trustsOtherUsers: Bool = false,
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> DiskCacheCompaction {
    try await DiskExecutor("larder.disk.compact").runCancellable { goesOn in
      try self.compact(path: path, trustsOtherUsers: trustsOtherUsers) {
        goesOn() && (progress?($0, $1) ?? true)
      }
    }
  }

  /// As the synchronous form, on another thread: rebuilds the index of a closed cache.
  ///
  /// - Parameters:
  ///   - path: The folder, which nobody has open.
  ///   - trustsOtherUsers: As in the configuration; false by default.
  ///   - keepsUncertain: Whether entries are kept that may be older than what was lost; false by
  ///     default.
  ///   - progress: Receives what is done and the total from time to time, and gives back
  ///     whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found.
  /// - Throws: `.damaged`, `.notALarderFile`, `.busy`, `.untrusted`, `CancellationError`,
  ///   `.diskFull`, `.io`. Nothing has changed then.
  /// - Complexity: O(bytes of everything).
  public static func rebuild(
    path: String, trustsOtherUsers: Bool = false, keepsUncertain: Bool = false,
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await DiskExecutor("larder.disk.rebuild").runCancellable { goesOn in
      try self.rebuild(
        path: path, trustsOtherUsers: trustsOtherUsers, keepsUncertain: keepsUncertain
      ) {
        goesOn() && (progress?($0, $1) ?? true)
      }
    }
  }

  /// As the synchronous form, on another thread: copies every intact entry of a folder,
  /// however damaged, into a new cache.
  ///
  /// - Parameters:
  ///   - source: The damaged folder.
  ///   - target: The new folder, which must not exist.
  ///   - keepsUncertain: Whether entries are kept that may be older than what was lost; false by
  ///     default.
  ///   - progress: Receives what is done and the total from time to time, and gives back
  ///     whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found.
  /// - Throws: `.notALarderFile` if there is nothing of a cache in it, `.io` with errno
  ///   `EEXIST` if the target exists, `.busy`, `CancellationError`, `.diskFull`, `.io`.
  /// - Complexity: O(bytes of everything).
  public static func salvage(
    from source: String, to target: String, keepsUncertain: Bool = false,
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await DiskExecutor("larder.disk.salvage").runCancellable { goesOn in
      try self.salvage(from: source, to: target, keepsUncertain: keepsUncertain) {
        goesOn() && (progress?($0, $1) ?? true)
      }
    }
  }
}
