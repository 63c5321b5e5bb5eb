// SPDX-License-Identifier: MIT

import CLarderStore
import Foundation
import LarderCore
import Synchronization

/// How to open a store: `larder_store_options` in Swift's types.
struct StoreOptions: Sendable {
  var isReadOnly = false
  /// Fail if the store is missing, rather than create it.
  var mustExist = false
  /// Remember the order of reads although no limit needs it.
  var tracksAccess = false
  /// Up to 8 visible ASCII characters; empty matches every store.
  var contentFormat = ""
  /// The same as a number, where it is none of ASCII; nil: as `contentFormat` says.
  var contentFormatNumber: UInt64?
  /// What the keys' bytes are; unknown matches every store.
  var keyForm = KeyForm.unknown
  var journalCapacity: UInt64 = StoreDefaults.journalCapacity
  var inlineThreshold = StoreDefaults.inlineThreshold
  /// nil: only when too much waits.
  var checkpointInterval: Duration?
  /// nil: only with a flush.
  var syncInterval: Duration?
  /// nil: only when told.
  var trimInterval: Duration?
  /// How long what has expired is kept; nil: not at all.
  var grace: Duration?
  var limits = StoreLimits()
  var permissions: UInt32 = 0o600
  /// Write although other users could have prepared the files, or have them too.
  var trustsOtherUsers = false
  /// What the folder gets when it is opened for writing.
  var files = FileAttributes()
  var clock: CacheClock = .system
  /// Told how far opening is; gives back whether to go on.
  var progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)?
  /// Room on the file system; nil asks the system.
  var freeSpace: (@Sendable () -> UInt64)?
  /// Where reads come from that a tier above answered; nil: from nowhere.
  var reads: StoreReads?
  /// The store's thresholds; nil for the usual ones.
  var tuning: StoreTuning?

  init() {}

  /// The same for the C core, but for the callbacks, which want a context.
  func raw() throws(LarderError) -> larder_store_options {
    var options = larder_store_options()
    larder_store_options_init(&options)
    options.flags = 0
    if tuning?.isMaintainedByHost == true { options.flags |= UInt32(LARDER_STORE_HOST_MAINTENANCE) }
    if isReadOnly { options.flags |= UInt32(LARDER_STORE_READ_ONLY) }
    if mustExist { options.flags |= UInt32(LARDER_STORE_EXISTING) }
    if tracksAccess { options.flags |= UInt32(LARDER_STORE_TRACK_ACCESS) }
    if trustsOtherUsers { options.flags |= UInt32(LARDER_STORE_TRUST_OTHERS) }
    options.mode = permissions
    if let contentFormatNumber {
      options.content_format = contentFormatNumber
    } else {
      options.content_format = try RingOptions.number(ofFormat: contentFormat)
    }
    options.key_form = UInt32(keyForm.rawValue)
    options.journal_bytes = journalCapacity
    options.inline_threshold_bytes = UInt64(max(0, inlineThreshold))
    options.flush_interval_ns = Self.nanoseconds(checkpointInterval)
    options.sync_interval_ns = Self.nanoseconds(syncInterval)
    options.trim_interval_ns = Self.nanoseconds(trimInterval)
    options.grace_ns = Self.nanoseconds(grace)
    options.limits = limits.raw
    return options
  }

  /// 0 is the C core's word for never.
  private static func nanoseconds(_ interval: Duration?) -> Int64 {
    guard let interval, interval > .zero else { return 0 }
    return max(1, interval.inNanoseconds)
  }
}

/// What configurations begin with.
enum StoreDefaults {
  /// How many bytes of the log may wait for a checkpoint.
  static let journalCapacity: UInt64 = 256 << 20
  /// The longest value that lies beside its key too.
  static let inlineThreshold = 64
}

/// The store's thresholds, which tests lower so that a few writes cross them, and its thread:
/// `larder_store_tuning` in Swift's types. What is nil stays as it is.
package struct StoreTuning: Sendable {
  /// Bytes of the first segment, and of the largest usual one.
  package var segmentSizes: ClosedRange<UInt64>?
  /// Keys in the memtable with which a checkpoint begins.
  package var memtableCount: UInt64?
  /// Writes of one transaction of a checkpoint.
  package var transactionCount: UInt64?
  /// No thread works for the store: files change only where a call changes them.
  package var isMaintainedByHost = false

  package init() {}

  var raw: larder_store_tuning {
    var tuning = larder_store_tuning()
    larder_store_tuning_init(&tuning)
    if let segmentSizes {
      tuning.segment_min_bytes = segmentSizes.lowerBound
      tuning.segment_max_bytes = segmentSizes.upperBound
    }
    if let memtableCount { tuning.memtable_max_count = memtableCount }
    if let transactionCount { tuning.transaction_max_count = transactionCount }
    return tuning
  }
}

/// How much a store keeps: `larder_store_limits` in Swift's types.
struct StoreLimits: Sendable, Hashable {
  var count = Int.max
  /// Nil for no limit.
  var size: DataSize?
  var expiration: Expiration = .never
  var freeSpace: UInt64 = 0

  init() {}

  var raw: larder_store_limits {
    larder_store_limits(
      count: Self.raw(count), bytes: Self.raw(size),
      age_ns: expiration.afterWrite.map { max(0, $0.inNanoseconds) } ?? .max,
      end_ns: expiration.date.map(\.inNanoseconds) ?? .max, free_bytes: freeSpace)
  }

  /// `Int.max` is no limit; less than 0 counts as 0.
  static func raw(_ limit: Int) -> UInt64 { limit == .max ? .max : UInt64(max(0, limit)) }

  static func raw(_ size: DataSize?) -> UInt64 { size.map { UInt64(max(0, $0.bytes)) } ?? .max }
}

/// What the C core calls back for: it has to live as long as the store.
///
/// Sendable, because it never changes and holds closures that are.
final class StoreHost: Sendable {
  private let clock: CacheClock
  private let freeSpace: (@Sendable () -> UInt64)?
  private let reads: StoreReads?
  private let progress: Mutex<(@Sendable (UInt64, UInt64) -> Bool)?>

  init(_ options: StoreOptions) {
    clock = options.clock
    reads = options.reads
    progress = Mutex(options.progress)
    freeSpace = options.freeSpace
  }

  /// The store is open, and tells nothing any more.
  func forgetProgress() { progress.withLock { $0 = nil } }

  /// Sets the callbacks that are needed; the C core has the system's itself.
  func install(in options: inout larder_store_options) {
    options.context = Unmanaged.passUnretained(self).toOpaque()
    if !clock.isSystem {
      options.clock = { context in
        guard let context else { return 0 }
        return Unmanaged<StoreHost>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.clock.nanoseconds
        }
      }
    }
    if reads != nil {
      options.hand_over_reads = { store, context in
        guard let context else { return 0 }
        return Unmanaged<StoreHost>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.reads?.handOver(to: store) == true ? 1 : 0
        }
      }
    }
    if progress.withLock({ $0 != nil }) {
      options.progress = { context, done, total in
        guard let context else { return 0 }
        return Unmanaged<StoreHost>.fromOpaque(context)._withUnsafeGuaranteedRef { host in
          let report = host.progress.withLock { $0 }
          return report?(done, total) ?? true ? 0 : 1
        }
      }
    }
    if freeSpace != nil {
      options.free_space = { context in
        guard let context else { return 0 }
        return Unmanaged<StoreHost>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.freeSpace?() ?? 0
        }
      }
    }
  }
}
