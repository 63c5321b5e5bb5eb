// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import CLarderSystem
import LarderCore
import Synchronization

/// Asked how far a long call is: done, all there is; whether to go on.
typealias StoreProgressReport = (UInt64, UInt64) -> Bool

extension StoreHandle {
  /// Entries, and the bytes of their values.
  func totals() throws(LarderError) -> (count: UInt64, bytes: UInt64) {
    var count: UInt64 = 0
    var bytes: UInt64 = 0
    try check(
      suspension.call { larder_store_totals($0, &count, &bytes) }, "count the entries of \(path)")
    return (count, bytes)
  }

  /// Sets the limits. That only fails for a store that is not to be written to any more,
  /// where no limit matters.
  func setLimits(_ limits: StoreLimits) {
    options.withLock { $0.limits = limits }
    applyLimits()
  }

  private func applyLimits() {
    var raw = options.withLock { $0.limits }.raw
    _ = suspension.withPointer { larder_store_limits_set($0, &raw) }
  }

  func trim(count: UInt64, bytes: UInt64) throws(LarderError) -> Int {
    var removed: UInt64 = 0
    try check(suspension.call { larder_store_trim($0, count, bytes, &removed) }, "trim \(path)")
    return Int(clamping: removed)
  }

  func removeExpired() throws(LarderError) -> Int {
    var removed: UInt64 = 0
    try check(
      suspension.call { larder_store_remove_expired($0, &removed) },
      "remove expired entries from \(path)")
    return Int(clamping: removed)
  }

  func remove(prefix: UnsafeRawBufferPointer) throws(LarderError) -> Int {
    var removed: UInt64 = 0
    let status = try suspension.call { store in
      // A suspension may come between two batches.
      var count: UInt64 = 0
      defer { removed += count }
      return larder_store_remove_prefix(store, larder_bytes(prefix), &count)
    }
    try check(status, "remove entries from \(path) by prefix")
    return Int(clamping: removed)
  }

  func removeAll(progress: StoreProgressReport?) throws {
    let status = try with(progress) { larder_store_remove_all($0, $1, $2) }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    try check(status, "remove all entries from \(path)")
  }

  /// Makes everything written so far survive a power cut.
  func sync() throws(LarderError) {
    try check(suspension.call { larder_store_sync($0) }, "sync \(path)")
  }

  /// A checkpoint, which enforces limits and ages.
  func flush() throws(LarderError) {
    try check(suspension.call { larder_store_flush($0) }, "flush \(path)")
  }

  /// Gives the store another content format, and the form of keys that it was opened for, in one
  /// transaction with everything that was written before.
  func setContentFormat(_ format: UInt64) throws(LarderError) {
    var keyForm = UInt32(options.withLock { $0.keyForm.rawValue })
    if keyForm == 0 { keyForm = try statistics().key_form }
    try check(
      suspension.call { larder_store_formats_set($0, format, keyForm) },
      "give \(path) another content format")
    options.withLock { $0.contentFormatNumber = format }
  }

  /// What is done now and then.
  func maintain() throws(LarderError) {
    try check(suspension.call { larder_store_maintain($0) }, "look after \(path)")
  }

  /// Ends all use. Any number of times.
  func shutdown() throws(LarderError) {
    try suspension.close { store throws(LarderError) in
      try check(larder_store_shutdown(store), "flush \(path) while closing it")
    }
  }

  /// Has the store closed, and deletes its files; does nothing if that was done before.
  ///
  /// - Parameters:
  ///   - others: Deletes what else is ours in the folder.
  ///   - close: Shuts the store down. What it fails with does not matter any more.
  /// - Throws: `.replaced`, and the store was not closed; `.busy`, `.io`.
  func delete(
    others: (borrowing OpenFolder) -> Void = { _ in }, close: () throws -> Void
  ) throws {
    if isDeleted.load(ordering: .acquiring) { return }
    let isGone = suspension.withPointer { larder_store_is_deleted($0) } == true
    if !isGone && folder.isReplaced { throw folder.replaced }
    try? close()
    if !isGone { try StoreFiles.delete(folder, others: others) }
    isDeleted.store(true, ordering: .releasing)
  }

  /// Flushes, syncs and releases the folder until ``resume()``.
  func suspend(calls: SuspendedCalls) throws(LarderError) {
    try suspension.suspend(calls: calls) { store throws(LarderError) in
      try check(larder_store_shutdown(store), "flush \(path) while suspending it")
    }
  }

  /// Opens the folder as it was opened first, with the limits of now; creates it if it is gone.
  ///
  /// - Throws: `.replaced` if something else lies there, or it cannot be created in its place.
  func resume() throws(LarderError) {
    try suspension.resume { () throws(LarderError) in
      let folder = folder
      let finding = folder.finding
      if finding == .other { throw folder.replaced }
      var unused: UInt64 = 0
      let options = options.withLock { $0 }
      let store: SuspendableHandle.Opened
      do throws(LarderError) {
        store = try Self.open(
          folder.location, named: folder.path, options, foundFormat: &unused)
      } catch {
        throw folder.replaced(error.errno) ?? error
      }
      if finding == .nothing { try found(at: folder) }
      return store
    }
    // They may have been set after the options were looked at.
    applyLimits()
  }

  func statistics(waits: Bool = true) throws(LarderError) -> larder_store_statistics {
    var statistics = larder_store_statistics()
    try check(
      suspension.call(waits: waits) { larder_store_statistics_get($0, &statistics) },
      "look into \(path)")
    return statistics
  }

  /// What opening found in the log.
  func recovery() throws(LarderError) -> larder_store_report {
    var report = larder_store_report()
    try check(suspension.call { larder_store_recovery($0, &report) }, "look into \(path)")
    return report
  }

  /// Verifies everything. Damage is a result and not an error.
  func verify(
    progress: StoreProgressReport?
  ) throws -> (isIntact: Bool, report: larder_store_report) {
    var report = larder_store_report()
    let status = try with(progress) { larder_store_check($0, $1, $2, &report) }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    if status != LARDER_EDAMAGED { try check(status, "verify \(path)") }
    return (status == LARDER_OK, report)
  }

  /// Copies everything into a new store.
  func backup(to target: String, progress: StoreProgressReport?) throws {
    try Self.validate(path: target)
    let status = try with(progress) { larder_store_backup($0, target, $1, $2) }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    try check(status, "copy \(path) to \(target)")
  }

  private func with(
    _ progress: StoreProgressReport?,
    _ body: (OpaquePointer, larder_progress?, UnsafeMutableRawPointer?) -> Int32
  ) throws(LarderError) -> Int32 {
    try suspension.call { store in StoreProgress.with(progress) { body(store, $0, $1) } }
  }

  /// The usual options, with the permissions that the store has.
  private static func mending(trustsOtherUsers: Bool) -> larder_store_options {
    var options = larder_store_options()
    larder_store_options_init(&options)
    options.mode = 0
    if trustsOtherUsers { options.flags |= UInt32(LARDER_STORE_TRUST_OTHERS) }
    return options
  }

  /// Frees the room that replaced and removed entries left in a closed store.
  static func compact(
    _ path: String, trustsOtherUsers: Bool, progress: StoreProgressReport?
  ) throws -> larder_store_compaction {
    try validate(path: path)
    var options = mending(trustsOtherUsers: trustsOtherUsers)
    var detail = larder_store_detail()
    var report = larder_store_compaction()
    let status = StoreProgress.with(progress) {
      larder_store_compact(path, &options, &detail, $0, $1, &report)
    }
    if status == LARDER_OK { return report }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    throw LarderError(
      status: status, doing: "compact \(path)",
      reason: StoreFailure.reason(status, detail: detail, asked: options))
  }

  /// Rebuilds the index of a store in place.
  static func rebuild(
    _ path: String, trustsOtherUsers: Bool, keepsUncertain: Bool, progress: StoreProgressReport?
  ) throws -> StoreReport {
    try validate(path: path)
    var options = mending(trustsOtherUsers: trustsOtherUsers)
    if keepsUncertain { options.flags |= UInt32(LARDER_STORE_WITH_UNCERTAIN) }
    var report = larder_store_report()
    let status = StoreProgress.with(progress) {
      larder_store_rebuild(path, &options, $0, $1, &report)
    }
    if status == LARDER_OK { return StoreReport(repair: report) }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    var reason = StoreFailure.reason(status)
    if status == LARDER_EDAMAGED, report.uncertain > 0, !keepsUncertain {
      reason =
        """
        the log is damaged, and \(report.uncertain) entries may be older than what was lost; \
        keepsUncertain (--keep-uncertain) keeps them, and a salvage copies what is certain. If \
        data.mdb is an older copy, move it away first: then the log alone decides
        """
    }
    throw LarderError(status: status, doing: "rebuild the index of \(path)", reason: reason)
  }

  /// Copies what is intact in a store, however damaged, into a new one.
  static func salvage(
    from source: String, to target: String, keepsUncertain: Bool, progress: StoreProgressReport?
  ) throws -> StoreReport {
    try validate(path: source)
    try validate(path: target)
    var options = larder_store_options()
    larder_store_options_init(&options)
    if keepsUncertain { options.flags |= UInt32(LARDER_STORE_WITH_UNCERTAIN) }
    var report = larder_store_report()
    let status = StoreProgress.with(progress) {
      larder_store_salvage(source, target, &options, $0, $1, &report)
    }
    if status == LARDER_OK { return StoreReport(repair: report) }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    throw LarderError(
      status: status, doing: "salvage \(source) to \(target)", reason: StoreFailure.reason(status))
  }
}
