// SPDX-License-Identifier: MIT

public import LarderCore

extension EntryCache {
  /// Whether the cache is suspended.
  ///
  /// - Complexity: O(1).
  public var isSuspended: Bool { store.handle.suspension.isSuspended }

  /// Flushes and syncs the cache and releases its lock, descriptors and mappings until
  /// `resume()`, so that another process can open the folder for writing.
  ///
  /// For an app in an app group's container: the system ends one that it suspends while it
  /// holds a lock there.
  ///
  /// Writes under way finish first; later calls fail or wait, as `calls` says. An editor keeps
  /// what was set and can be committed after the resumption; a commit that fails meanwhile ends
  /// the edit, as any that fails. Its long values lie in a file without a lock or a name, which
  /// stays open with it. Snapshots stay valid. An enumeration that a suspension interrupts throws
  /// `.suspended` in either case. `close()` ends a suspended cache, too. Suspending twice is
  /// harmless: the first `calls` holds.
  ///
  /// - Parameter calls: What calls do until the cache is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io` or `.replaced` (its folder does not lie there any more) if the
  ///   flush failed; the cache is suspended all the same, and the log keeps what is not in the
  ///   index. `.closed`.
  /// - Complexity: As `flush()`.
  public func suspend(calls: SuspendedCalls = .fail) throws {
    try store.handle.suspend(calls: calls)
  }

  /// Opens the cache again after `suspend(calls:)`, as it was opened first, with the limits of
  /// now.
  ///
  /// Where no cache lies at its path any more, an empty one is created, also if it was only moved:
  /// that one stays where it is. Statistics begin at zero. Resuming a cache that is not suspended
  /// is harmless.
  ///
  /// - Throws: As opening, `.busy` for example; `.replaced` (something else is in the
  ///   way by now). The cache stays suspended then, and can be resumed later. `.closed`.
  /// - Complexity: As opening.
  public func resume() throws { try store.handle.resume() }

  /// As the synchronous form, on a thread of its own: suspends the cache.
  ///
  /// - Parameter calls: What calls do until the cache is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io`, `.replaced`; the cache is suspended all the same. `.closed`.
  /// - Complexity: As `flush()`.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try await store.executor.runAnyway { try self.suspend(calls: calls) }
  }

  /// As the synchronous form, on a thread of its own: opens the cache again.
  ///
  /// - Throws: As opening; `.replaced`. The cache stays suspended then.
  /// - Complexity: As opening.
  public func resume() async throws { try await store.executor.runAnyway { try self.resume() } }
}
