// SPDX-License-Identifier: MIT

public import Larder

// Names of earlier versions.

extension FolderStore {
  /// Runs a checkpoint.
  ///
  /// - Throws: As `checkpoint()`.
  /// - Complexity: As `checkpoint()`.
  @available(*, deprecated, renamed: "checkpoint()")
  public func flush() throws { try checkpoint() }

  /// Runs a checkpoint, on a thread of the store's own.
  ///
  /// - Throws: As `checkpoint()`.
  /// - Complexity: As `checkpoint()`.
  @available(*, deprecated, renamed: "checkpoint()")
  public func flush() async throws { try await checkpoint() }
}

extension Cache {
  /// Makes everything that waits reach the tiers.
  ///
  /// - Throws: As `drain()`.
  /// - Complexity: As `drain()`.
  @available(*, deprecated, renamed: "drain()")
  public func flush() throws { try drain() }

  /// Makes everything that waits reach the tiers.
  ///
  /// - Throws: As `drain()`.
  /// - Complexity: As `drain()`.
  @available(*, deprecated, renamed: "drain()")
  public func flush() async throws { try await drain() }
}

extension EntryCache {
  /// Closes the cache and deletes its files.
  ///
  /// - Throws: As `destroy()`.
  /// - Complexity: As `destroy()`.
  @available(*, deprecated, renamed: "destroy()")
  public func delete() throws { try destroy() }

  /// Closes the cache and deletes its files, on a thread of the cache's own.
  ///
  /// - Throws: As `destroy()`.
  /// - Complexity: As `destroy()`.
  @available(*, deprecated, renamed: "destroy()")
  public func delete() async throws { try await destroy() }
}
