// SPDX-License-Identifier: MIT

public import LarderCore

extension DiskCache {
  /// Whether the cache is suspended.
  ///
  /// - Complexity: O(1).
  public var isSuspended: Bool { store.suspension.isSuspended }

  /// Flushes and syncs the cache and releases its lock, descriptors and mappings until
  /// `resume()`, so that another process can open the folder for writing.
  ///
  /// For an app in an app group's container: the system ends one that it suspends while it
  /// holds a lock there. Also works for a cache opened for reading.
  ///
  /// ```swift
  /// try await cache.suspend()
  /// // … in the background …
  /// try await cache.resume()
  /// ```
  ///
  /// Writes under way finish first; later calls fail or wait, as `calls` says. Reads under way
  /// finish too, and what is mapped for them goes with the last of them. A batch or a
  /// transaction goes on after the resumption, and commits if what it depends on is unchanged;
  /// an enumeration that a suspension interrupts throws `.suspended` in either case. `Data` that
  /// was read stays valid, and keeps its own pages mapped. `close()` ends a suspended cache, too.
  /// Suspending twice is harmless: the first `calls` holds. Not to be called by a coder or a
  /// `progress` closure of the same cache.
  ///
  /// - Parameter calls: What calls do until the cache is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io` or `.replaced` (its folder does not lie there any more) if the
  ///   flush failed; the cache is suspended all the same, and the log keeps what is not in the
  ///   index. `.closed`.
  /// - Complexity: As `flush()`.
  public func suspend(calls: SuspendedCalls = .fail) throws { try store.suspend(calls: calls) }

  /// Opens the cache again after `suspend(calls:)`, as it was opened first, with the limits of
  /// now.
  ///
  /// Where no cache lies at its path any more, an empty one is created, also if it was only moved:
  /// that one stays where it is. Statistics begin at zero. Resuming a cache that is not suspended
  /// is harmless.
  ///
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``, `.busy` for example;
  ///   `.replaced` (something else is in the way by now). The cache stays suspended then, and can
  ///   be resumed later. `.closed`.
  /// - Complexity: As opening.
  public func resume() throws { try store.resume() }

  /// As the synchronous form, on a thread of its own: suspends the cache.
  ///
  /// - Parameter calls: What calls do until the cache is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io`, `.replaced`; the cache is suspended all the same. `.closed`.
  /// - Complexity: As `flush()`.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try await executor.runAnyway { try self.suspend(calls: calls) }
  }

  /// As the synchronous form, on a thread of its own: opens the cache again.
  ///
  /// - Throws: As opening; `.replaced`. The cache stays suspended then.
  /// - Complexity: As opening.
  public func resume() async throws { try await executor.runAnyway { try self.resume() } }
}
