// SPDX-License-Identifier: MIT

import LarderCore

// What is done with a store that is closed.
extension FolderStore {
  /// Frees all room that replaced and removed entries left.
  ///
  /// Checkpoints do so too, but leave some of it; this is for a store that has become much
  /// smaller for good. Readers may have it open meanwhile. An index, the file data.mdb, of
  /// which more than half is free is replaced by a smaller copy, unless somebody reads the
  /// store or the disk has no room for both: then what is free in it is used again. A crash
  /// in the midst of that leaves the old file or the new one.
  ///
  /// - Parameters:
  ///   - location: The folder, which nobody has open for writing.
  ///   - trustsOtherUsers: As in the configuration; false by default.
  ///   - progress: Receives the segments done and their total from time to time, and then
  ///     the rows of the index that were copied and theirs, and gives back whether to go on;
  ///     nil, the default, if nobody wants to know.
  /// - Returns: How large log and index were, and are now.
  /// - Throws: `.busy`; `.damaged`; `.untrusted`; `CancellationError` if `progress` said so, and
  ///   then what was done stays; `.diskFull`, `.io`, and as
  ///   ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: O(bytes of everything).
  @discardableResult
  public static func compact(
    at location: StoreLocation, trustsOtherUsers: Bool = false,
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreCompaction {
    StoreCompaction(
      try StoreHandle.compact(
        location.path(in: userDirectory), trustsOtherUsers: trustsOtherUsers, progress: progress))
  }

  /// Rebuilds the index of a closed store in place, from its log.
  ///
  /// The log has every entry; the index, the file data.mdb, only says where. So a store
  /// whose index is damaged or missing comes back complete, and no value is copied. The
  /// order of use becomes that of writing, and some of what was evicted comes back.
  ///
  /// ```swift
  /// let report = try Archive<User>.rebuild(at: .named("users"))
  /// let users = try Archive<User>(at: .named("users"))
  /// ```
  ///
  /// - Parameters:
  ///   - location: The folder, which nobody has open.
  ///   - trustsOtherUsers: As in the configuration; false by default.
  ///   - keepsUncertain: Whether entries are kept that may be older than what was lost, where all
  ///     that is known is that something was; false by default.
  ///   - progress: Receives what is done and the total from time to time, and gives back
  ///     whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found. Entries whose record is damaged are lost.
  /// - Throws: `.damaged` if the log is so, too, that older entries may be outdated, and they are
  ///   not to be kept: `salvage(from:to:keepsUncertain:progress:)` copies what is certain;
  ///   `.notALarderFile`, `.busy`, `.untrusted`, `CancellationError` if `progress` said so,
  ///   `.diskFull`, `.io`. Nothing has changed then.
  /// - Complexity: O(bytes of everything).
  public static func rebuild(
    at location: StoreLocation, trustsOtherUsers: Bool = false, keepsUncertain: Bool = false,
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreReport {
    try StoreHandle.rebuild(
      location.path(in: userDirectory), trustsOtherUsers: trustsOtherUsers,
      keepsUncertain: keepsUncertain, progress: progress)
  }

  /// Copies every intact entry of a folder, however damaged, into a new store.
  ///
  /// The source is only read, and must not be in use. Its index is not needed. A store
  /// that merely was not closed needs no salvage: opening it does what is needed.
  ///
  /// ```swift
  /// let report = try DiskCache<String, Data>.salvage(from: .url(damaged), to: .url(rescued))
  /// print(report.intact, "entries saved,", report.damaged, "lost")
  /// ```
  ///
  /// - Parameters:
  ///   - source: The damaged folder.
  ///   - target: The new folder, which must not exist.
  ///   - keepsUncertain: Whether entries are kept that may be older than what was lost, where all
  ///     that is known is that something was; false by default.
  ///   - progress: Receives what is done and the total from time to time, and gives back
  ///     whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found.
  /// - Throws: `.notALarderFile` if there is nothing of a store in it, `.io` with errno
  ///   `EEXIST` if the target exists, `.busy`, `CancellationError` if `progress` said so,
  ///   `.diskFull`, `.io`. Nothing is left at `target` then.
  /// - Complexity: O(bytes of everything).
  public static func salvage(
    from source: StoreLocation, to target: StoreLocation, keepsUncertain: Bool = false,
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreReport {
    try StoreHandle.salvage(
      from: source.path(in: userDirectory), to: target.path(in: userDirectory),
      keepsUncertain: keepsUncertain, progress: progress)
  }
}
