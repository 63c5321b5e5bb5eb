// SPDX-License-Identifier: MIT

extension FolderStore {
  /// As the synchronous form, on another thread: frees all room that replaced and removed
  /// entries left.
  ///
  /// - Parameters:
  ///   - location: The folder, which nobody has open for writing.
  ///   - trustsOtherUsers: As in the configuration; false by default.
  ///   - progress: Receives the segments done and their total from time to time, and then
  ///     the rows of the index that were copied and theirs, and gives back whether to go on;
  ///     nil, the default, if nobody wants to know.
  /// - Returns: How large log and index were, and are now.
  /// - Throws: `.busy`, `.damaged`, `.untrusted`, `CancellationError`, `.diskFull`, `.io`.
  /// - Complexity: O(bytes of everything).
  @discardableResult
  public static func compact(
    at location: StoreLocation, trustsOtherUsers: Bool = false,
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreCompaction {
    try await DiskExecutor("larder.compact").runCancellable { goesOn in
      try self.compact(at: location, trustsOtherUsers: trustsOtherUsers) {
        goesOn() && (progress?($0, $1) ?? true)
      }
    }
  }

  /// As the synchronous form, on another thread: rebuilds the index of a closed store.
  ///
  /// - Parameters:
  ///   - location: The folder, which nobody has open.
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
    at location: StoreLocation, trustsOtherUsers: Bool = false, keepsUncertain: Bool = false,
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await DiskExecutor("larder.rebuild").runCancellable { goesOn in
      try self.rebuild(
        at: location, trustsOtherUsers: trustsOtherUsers, keepsUncertain: keepsUncertain
      ) {
        goesOn() && (progress?($0, $1) ?? true)
      }
    }
  }

  /// As the synchronous form, on another thread: copies every intact entry of a folder,
  /// however damaged, into a new store.
  ///
  /// - Parameters:
  ///   - source: The damaged folder.
  ///   - target: The new folder, which must not exist.
  ///   - keepsUncertain: Whether entries are kept that may be older than what was lost; false by
  ///     default.
  ///   - progress: Receives what is done and the total from time to time, and gives back
  ///     whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found.
  /// - Throws: `.notALarderFile` if there is nothing of a store in it, `.io` with errno
  ///   `EEXIST` if the target exists, `.busy`, `CancellationError`, `.diskFull`, `.io`.
  /// - Complexity: O(bytes of everything).
  public static func salvage(
    from source: StoreLocation, to target: StoreLocation, keepsUncertain: Bool = false,
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await DiskExecutor("larder.salvage").runCancellable { goesOn in
      try self.salvage(from: source, to: target, keepsUncertain: keepsUncertain) {
        goesOn() && (progress?($0, $1) ?? true)
      }
    }
  }
}
