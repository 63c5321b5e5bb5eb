// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// Whether the archive is suspended.
  ///
  /// - Complexity: O(1).
  public var isSuspended: Bool { store.suspension.isSuspended }

  /// Flushes and syncs the archive and releases its lock, descriptors and mappings until
  /// `resume()`, so that another process can open the folder for writing.
  ///
  /// For an app in an app group's container: the system ends one that it suspends while it
  /// holds a lock there.
  ///
  /// Writes under way finish first; later calls fail or wait, as `calls` says. A query that a
  /// suspension interrupts throws `.suspended` in either case, as what comes later is another
  /// state; ``ArchiveQuery/updates()`` waits for the resumption and goes on. `close()` ends a
  /// suspended archive, too. Suspending twice is harmless: the first `calls` holds.
  ///
  /// - Parameter calls: What calls do until the archive is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io` or `.replaced` (its folder does not lie there any more) if the
  ///   flush failed; the archive is suspended all the same, and the log keeps what is not in the
  ///   index. `.closed`.
  /// - Complexity: As `flush()`.
  public func suspend(calls: SuspendedCalls = .fail) throws { try store.suspend(calls: calls) }

  /// Opens the archive again after `suspend(calls:)`, as it was opened first.
  ///
  /// Elements in memory are read again, as others may have written. Where no archive lies at its
  /// path any more, an empty one is created, also if it was only moved: that one stays where it is.
  /// Resuming an archive that is not suspended is harmless.
  ///
  /// - Throws: As opening, `.busy` for example; `.replaced` (something else is in the
  ///   way by now). The archive stays suspended then, and can be resumed later. `.closed`.
  /// - Complexity: As opening.
  public func resume() throws {
    guard isSuspended else { return try store.resume() }
    memory.removeAll()
    try store.resume()
    room.forget()
    changes.notify()
  }

  /// As the synchronous form, on a thread of its own: suspends the archive.
  ///
  /// - Parameter calls: What calls do until the archive is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io`, `.replaced`; the archive is suspended all the same. `.closed`.
  /// - Complexity: As `flush()`.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try await executor.runAnyway { try self.suspend(calls: calls) }
  }

  /// As the synchronous form, on a thread of its own: opens the archive again.
  ///
  /// - Throws: As opening; `.replaced`. The archive stays suspended then.
  /// - Complexity: As opening.
  public func resume() async throws { try await executor.runAnyway { try self.resume() } }
}
