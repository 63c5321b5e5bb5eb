// SPDX-License-Identifier: MIT

public import LarderCore

// What each of these takes, returns and throws is told at its synchronous form. Where a task's
// cancellation ends it, `CancellationError` is thrown.

extension FolderStore {
  /// As the synchronous form, on another thread, until the task is cancelled.
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

  /// As the synchronous form, on another thread, until the task is cancelled.
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

  /// As the synchronous form, on another thread, until the task is cancelled.
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

  /// As the synchronous form, on a thread of the store's own.
  public func checkpoint() async throws {
    try await access.executor.run { try self.checkpoint() }
  }

  /// As the synchronous form, on a thread of the store's own.
  public func sync() async throws { try await access.executor.run { try self.sync() } }

  /// As the synchronous form, on a thread of the store's own, until the task is cancelled.
  public func backup(
    to path: String, progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws {
    try await access.executor.runCancellable { goesOn in
      try self.backup(to: path) { goesOn() && (progress?($0, $1) ?? true) }
    }
  }

  /// As the synchronous form, on a thread of the store's own.
  public func close() async throws { try await access.executor.runAnyway { try self.close() } }

  /// As the synchronous form, on a thread of the store's own.
  public func destroy() async throws { try await access.executor.runAnyway { try self.destroy() } }

  /// As the synchronous form, on a thread of its own.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try await access.executor.runAnyway { try self.suspend(calls: calls) }
  }

  /// As the synchronous form, on a thread of its own.
  public func resume() async throws { try await access.executor.runAnyway { try self.resume() } }
}
