// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import LarderCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Asked how far a long call is: done, all there is; whether to go on.
typealias StoreProgressReport = (UInt64, UInt64) -> Bool

extension StoreHandle {
  /// Entries, and the bytes of their values.
  func totals() throws(LarderError) -> (count: UInt64, cost: UInt64) {
    var count: UInt64 = 0
    var bytes: UInt64 = 0
    try check(larder_store_totals(store, &count, &bytes), "count the entries of \(path)")
    return (count, bytes)
  }

  /// Sets the limits. That only fails for a store that is not to be written to any more,
  /// where no limit matters.
  func setLimits(_ limits: StoreLimits) {
    var raw = limits.raw
    _ = larder_store_limits_set(store, &raw)
  }

  func trim(count: UInt64, cost: UInt64) throws(LarderError) -> Int {
    var removed: UInt64 = 0
    try check(larder_store_trim(store, count, cost, &removed), "trim \(path)")
    return Int(clamping: removed)
  }

  func removeExpired() throws(LarderError) -> Int {
    var removed: UInt64 = 0
    try check(
      larder_store_remove_expired(store, &removed), "remove expired entries from \(path)")
    return Int(clamping: removed)
  }

  func remove(prefix: UnsafeRawBufferPointer) throws(LarderError) -> Int {
    var removed: UInt64 = 0
    try check(
      larder_store_remove_prefix(store, larder_bytes(prefix), &removed),
      "remove entries from \(path) by prefix")
    return Int(clamping: removed)
  }

  func removeAll(progress: StoreProgressReport?) throws {
    let status = StoreProgress.with(progress) { larder_store_remove_all(store, $0, $1) }
    if status == ECANCELED { throw CancellationError() }
    try check(status, "remove all entries from \(path)")
  }

  /// Makes everything written so far survive a power cut.
  func sync() throws(LarderError) { try check(larder_store_sync(store), "sync \(path)") }

  /// A checkpoint, which enforces limits and ages.
  func flush() throws(LarderError) { try check(larder_store_flush(store), "flush \(path)") }

  /// Gives the store another content format, in one transaction with everything that was
  /// written before.
  func setContentFormat(_ format: UInt64) throws(LarderError) {
    try check(
      larder_store_content_format_set(store, format), "give \(path) another content format")
  }

  /// What is done now and then.
  func maintain() throws(LarderError) {
    try check(larder_store_maintain(store), "look after \(path)")
  }

  /// Ends all use. Any number of times.
  func shutdown() throws(LarderError) {
    try check(larder_store_shutdown(store), "flush \(path) while closing it")
  }

  func statistics() throws(LarderError) -> larder_store_statistics {
    var statistics = larder_store_statistics()
    try check(larder_store_statistics_get(store, &statistics), "look into \(path)")
    return statistics
  }

  /// What opening found in the log.
  func recovery() throws(LarderError) -> larder_store_report {
    var report = larder_store_report()
    try check(larder_store_recovery(store, &report), "look into \(path)")
    return report
  }

  /// Verifies everything. Damage is a result and not an error.
  func verify(
    progress: StoreProgressReport?
  ) throws -> (isIntact: Bool, report: larder_store_report) {
    var report = larder_store_report()
    let status = StoreProgress.with(progress) { larder_store_check(store, $0, $1, &report) }
    if status == ECANCELED { throw CancellationError() }
    if status != LARDER_EDAMAGED { try check(status, "verify \(path)") }
    return (status == LARDER_OK, report)
  }

  /// Copies everything into a new store.
  func backup(to target: String, progress: StoreProgressReport?) throws {
    try Self.validate(path: target)
    let status = StoreProgress.with(progress) { larder_store_backup(store, target, $0, $1) }
    if status == ECANCELED { throw CancellationError() }
    try check(status, "copy \(path) to \(target)")
  }

  /// Frees the room that replaced and removed entries left in a closed store's log.
  static func compact(_ path: String, progress: StoreProgressReport?) throws {
    try validate(path: path)
    var detail = larder_store_detail()
    let status = StoreProgress.with(progress) { larder_store_compact(path, &detail, $0, $1) }
    if status == LARDER_OK { return }
    if status == ECANCELED { throw CancellationError() }
    throw LarderError(
      status: status, doing: "compact \(path)",
      reason: StoreFailure.reason(status, detail: detail, asked: larder_store_options()))
  }

  /// Rebuilds the index of a store in place.
  static func rebuild(
    _ path: String, progress: StoreProgressReport?
  ) throws -> larder_store_report {
    try validate(path: path)
    var report = larder_store_report()
    let status = StoreProgress.with(progress) {
      larder_store_rebuild(path, nil, $0, $1, &report)
    }
    if status == LARDER_OK { return report }
    if status == ECANCELED { throw CancellationError() }
    throw LarderError(
      status: status, doing: "rebuild the index of \(path)", reason: StoreFailure.reason(status))
  }

  /// Copies what is intact in a store, however damaged, into a new one.
  static func salvage(
    from source: String, to target: String, progress: StoreProgressReport?
  ) throws -> larder_store_report {
    try validate(path: source)
    try validate(path: target)
    var report = larder_store_report()
    let status = StoreProgress.with(progress) {
      larder_store_salvage(source, target, nil, $0, $1, &report)
    }
    if status == LARDER_OK { return report }
    if status == ECANCELED { throw CancellationError() }
    throw LarderError(
      status: status, doing: "salvage \(source) to \(target)", reason: StoreFailure.reason(status))
  }
}
