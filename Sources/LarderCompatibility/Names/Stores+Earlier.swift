// SPDX-License-Identifier: MIT

public import Larder

// Names of earlier versions.

/// What a store in a folder did, and what it is made of.
@available(*, deprecated, renamed: "StoreStatistics")
public typealias DiskCacheStatistics = StoreStatistics

/// What a walk over a store found.
@available(*, deprecated, renamed: "StoreReport")
public typealias DiskCacheReport = StoreReport

/// In which order a store lists its entries.
@available(*, deprecated, renamed: "StoreOrder")
public typealias DiskCacheOrder = StoreOrder

/// What compacting a store came to.
@available(*, deprecated, renamed: "StoreCompaction")
public typealias DiskCacheCompaction = StoreCompaction

extension StoreStatistics {
  /// Checkpoints.
  @available(*, deprecated, renamed: "checkpoints")
  public var flushes: UInt64 { checkpoints }

  /// Checkpoints that failed.
  @available(*, deprecated, renamed: "checkpointFailures")
  public var flushFailures: UInt64 { checkpointFailures }

  /// How long all checkpoints took together.
  @available(*, deprecated, renamed: "checkpointTime")
  public var flushTime: Duration { checkpointTime }

  /// The version of the last write that is in the index.
  @available(*, deprecated, renamed: "indexedVersion")
  public var flushedVersion: UInt64 { indexedVersion }
}

extension StoreConfiguration {
  /// How long a write waits for a checkpoint.
  @available(*, deprecated, renamed: "checkpointInterval")
  public var flushInterval: Duration {
    get { checkpointInterval }
    set { checkpointInterval = newValue }
  }
}

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
