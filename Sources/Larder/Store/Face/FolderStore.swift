// SPDX-License-Identifier: MIT

import CLarderStore
public import Foundation
public import LarderCore
import Synchronization

/// What every store in a folder can do: ``DiskCache``, ``EntryCache`` and ``Archive``.
///
/// ```swift
/// func prepareForSuspension(_ stores: [any FolderStore]) throws {
///   for store in stores { try store.suspend() }
/// }
/// ```
///
/// Each call has a synchronous form, for threads that may wait, and an `async` one of the same
/// name, which works on a thread of the store's own. Only the library's own types conform.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time.
public protocol FolderStore: AnyObject, CustomStringConvertible, Sendable {
  /// The library's own way to the store, of no use to programs.
  var access: StoreAccess { get }

  /// In which of the user's folders ``LarderCore/StoreLocation/named(_:)`` is: caches, but for an
  /// ``Archive``.
  static var userDirectory: FileManager.SearchPathDirectory { get }
}

/// The library's own way to a store, of no use to programs: see ``FolderStore``.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct StoreAccess: Sendable {
  /// What a store does around what all have in common.
  typealias Around = @Sendable (_ body: () throws -> Void) throws -> Void

  let handle: StoreHandle
  let executor: DiskExecutor
  /// Runs what closes, or resumes, the folder.
  var closing: Around = { try $0() }
  var resuming: Around = { try $0() }
  /// Deletes what else the store has in its folder.
  var deletesOthers: @Sendable (borrowing OpenFolder) -> Void = { _ in }

  /// Reads of entries that the store found whole, and that are none of its owner's.
  var unreadable: UInt64 = 0

  init(_ handle: StoreHandle, _ executor: DiskExecutor) {
    self.handle = handle
    self.executor = executor
  }
}

extension FolderStore {
  /// The user's caches folder.
  public static var userDirectory: FileManager.SearchPathDirectory { .cachesDirectory }

  /// Opens a store on another thread, so that neither the log that a killed process left nor new
  /// indexes keep the caller's busy.
  ///
  /// ```swift
  /// let users = try await Archive<User>.opening { try Archive(at: .named("users")) }
  /// ```
  ///
  /// - Parameter make: Opens the store.
  /// - Returns: The store.
  /// - Throws: What the closure throws.
  /// - Complexity: That of the closure.
  public static func opening(_ make: @escaping @Sendable () throws -> Self) async throws -> Self {
    try await DiskExecutor("larder.opening").run(make)
  }

  /// The folder as a URL, which is absolute: a relative path means what it did at opening.
  ///
  /// - Complexity: O(1).
  public var directoryURL: URL {
    URL(fileURLWithPath: access.handle.folder.location, isDirectory: true)
  }

  /// Whether the store was closed or destroyed.
  ///
  /// - Complexity: O(1).
  public var isClosed: Bool { access.handle.suspension.isClosed }

  /// Whether the store is suspended.
  ///
  /// - Complexity: O(1).
  public var isSuspended: Bool { access.handle.suspension.isSuspended }

  /// What opening found in the log: see ``StoreReport/taken``.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var recovery: StoreReport {
    get throws { StoreReport(recovery: try access.handle.recovery()) }
  }

  /// The store's figures on disk, all of the same moment. Of an ``EntryCache``
  /// ``StoreStatistics/damaged`` counts the reads that gave nil because of damage, too.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var statistics: StoreStatistics {
    get throws {
      let access = access
      var raw = try access.handle.statistics()
      raw.damaged &+= access.unreadable
      return StoreStatistics(raw)
    }
  }

  /// Runs a checkpoint: brings what was written into the index, enforces limits and ages, and
  /// cleans the log.
  ///
  /// Happens by itself too: see ``StoreConfiguration/checkpointInterval``. It also makes the
  /// index show when elements of an archive were accessed.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.damaged`; `.diskFull`, `.io` and `.replaced` (its folder
  ///   does not lie there any more), when everything stays in the log and a later checkpoint tries
  ///   again.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func checkpoint() throws { try access.handle.flush() }

  /// Makes everything written so far survive a power cut.
  ///
  /// Concurrent callers share one sync of the device.
  ///
  /// - Throws: `.diskFull` and `.io` if the device failed; `.replaced`, `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device.
  public func sync() throws { try access.handle.sync() }

  /// Copies the store, as it is now, into a new folder, while it is in use.
  ///
  /// - Parameters:
  ///   - path: The new folder, which must not exist.
  ///   - progress: Receives the entries done and their total from time to time, and gives
  ///     back whether to go on; nil, the default, if nobody wants to know.
  /// - Throws: `.io` with errno `EEXIST` if the folder exists; `.damaged` at the first
  ///   damaged entry; `CancellationError` if `progress` said so; `.closed`, `.diskFull`,
  ///   `.io`. Nothing is left there then.
  /// - Complexity: O(bytes of everything).
  public func backup(
    to path: String, progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws {
    try access.handle.backup(to: path, progress: progress)
  }

  /// Ends the use of the store: runs a checkpoint, syncs, and lets others write to it.
  ///
  /// Calls under way finish first; later ones throw `.closed`. Closing twice is harmless. A store
  /// that nobody refers to any more closes itself. Open edits of an ``EntryCache`` are aborted; one
  /// that an editor still refers to closes itself with that. Snapshots stay valid.
  ///
  /// - Throws: `.diskFull`, `.io` or `.replaced` if the checkpoint failed; the store is closed all
  ///   the same, and the log keeps what is not in the index.
  /// - Complexity: As `checkpoint()`.
  public func close() throws {
    let access = access
    try access.closing { try access.handle.shutdown() }
  }

  /// Closes the store and deletes its files, and the folder if nothing else is in it.
  ///
  /// Files that are not the store's stay. So does whatever lies at its path once its own folder was
  /// moved or deleted. Destroying twice is harmless.
  ///
  /// - Throws: `.readOnly`, and `.replaced` (the folder that was opened does not lie there any
  ///   more), and then nothing has changed; `.busy` (it was closed before, and somebody else has it
  ///   open for writing: nothing was deleted); `.io`.
  /// - Complexity: O(segments of the log).
  public func destroy() throws {
    let access = access
    if access.handle.options.withLock({ $0.isReadOnly }) {
      throw LarderError(
        .readOnly, "\(access.handle.path) is not deleted: it was opened for reading only.")
    }
    try access.handle.delete(others: access.deletesOthers) {
      if isClosed { return }
      // That everything is gone at once matters to those who read it, and if we crash below. If
      // it fails, the files are deleted all the same.
      if !isSuspended { try? access.handle.removeAll(progress: nil) }
      try close()
    }
  }

  /// Runs a checkpoint, syncs, and releases the store's lock, descriptors and mappings until
  /// `resume()`, so that another process can open the folder for writing.
  ///
  /// For an app in an app group's container: the system ends one that it suspends while it
  /// holds a lock there. Also works for a store that was opened for reading.
  ///
  /// ```swift
  /// func sleep(_ store: any FolderStore, until wakes: () async -> Void) async throws {
  ///   try await store.suspend()
  ///   await wakes()
  ///   try await store.resume()
  /// }
  /// ```
  ///
  /// Writes under way finish first; later calls fail or wait, as `calls` says. Reads under way
  /// finish too, and what is mapped for them goes with the last of them. A batch or a transaction
  /// goes on after the resumption, and commits if what it depends on is unchanged; so does an
  /// editor of entries, which keeps what was set. (Its long values lie in a file without a lock or
  /// a name, which stays open with it.) A list or a query that a suspension interrupts throws
  /// `.suspended` in either case; ``ArchiveQuery/updates()`` waits for the resumption and goes on.
  /// `Data` and snapshots that were read stay valid, and keep their own pages mapped. `close()`
  /// ends a suspended store, too. Suspending twice is harmless: the first `calls` holds. Not to be
  /// called by a coder or a `progress` closure of the same store.
  ///
  /// - Parameter calls: What calls do until the store is resumed; they fail by default.
  /// - Throws: `.diskFull`, `.io` or `.replaced` (its folder does not lie there any more) if the
  ///   checkpoint failed; the store is suspended all the same, and the log keeps what is not in the
  ///   index. `.closed`.
  /// - Complexity: As `checkpoint()`.
  public func suspend(calls: SuspendedCalls = .fail) throws {
    try access.handle.suspend(calls: calls)
  }

  /// Opens the store again after `suspend(calls:)`, as it was opened first, with the limits of now.
  ///
  /// Where no store lies at its path any more, an empty one is created, also if it was only moved:
  /// that one stays where it is. Statistics begin at zero, and what was in memory is read again, as
  /// others may have written. Resuming a store that is not suspended is harmless.
  ///
  /// - Throws: As opening, `.busy` for example; `.replaced` (something else is in the way by now).
  ///   The store stays suspended then, and can be resumed later. `.closed`.
  /// - Complexity: As opening.
  public func resume() throws {
    let access = access
    try access.resuming { try access.handle.resume() }
  }
}

// On a thread of the store's own.
