// SPDX-License-Identifier: MIT

#if ServiceLifecycle
  public import Larder
  public import LarderCore

  /// What a ``StoreService`` shuts down: every store of Larder that has a file or a folder, and
  /// yours.
  public protocol ServiceStore: Sendable {
    /// Brings what waits in memory to where it belongs. Does nothing by default.
    ///
    /// - Throws: What went wrong; the store is synced and closed all the same.
    func checkpoint() async throws

    /// Makes everything that was written survive a power cut. Does nothing by default.
    ///
    /// - Throws: What went wrong; the store is closed all the same.
    func sync() async throws

    /// Ends the use of the store.
    ///
    /// - Throws: What went wrong.
    func close() async throws
  }

  extension ServiceStore {
    /// Does nothing.
    ///
    /// - Complexity: O(1).
    public func checkpoint() async throws {}

    /// Does nothing.
    ///
    /// - Complexity: O(1).
    public func sync() async throws {}
  }

  extension ServiceStore where Self: FolderStore {
    /// As any store in a folder: runs a checkpoint.
    ///
    /// - Throws: As the store's own form.
    /// - Complexity: As the store's own form.
    public func checkpoint() async throws { try await (self as any FolderStore).checkpoint() }

    /// As any store in a folder: makes everything that was written survive a power cut.
    ///
    /// - Throws: As the store's own form.
    /// - Complexity: As the store's own form.
    public func sync() async throws { try await (self as any FolderStore).sync() }
  }

  extension MessageLog: ServiceStore {}
  extension DiskCache: ServiceStore {}
  extension Cache: ServiceStore {}
  extension EntryCache: ServiceStore {}
  extension Archive: ServiceStore {}
#endif
