// SPDX-License-Identifier: MIT

import CLarderStore
public import Foundation
import LarderCore

/// What a store in a folder did since it was opened, and what it is made of.
///
/// ```swift
/// print(try cache.statistics)
/// // 98.7 % of 120000 reads hit; 1560 written, 12 removed, 3 evicted, 0 expired; …
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct StoreStatistics: Sendable, Hashable, CustomStringConvertible {
  /// Entries, with those that wait for a checkpoint, and expired ones that were not removed yet.
  public let count: Int
  /// The bytes of their values.
  public let size: Int
  /// Keys with writes that wait for a checkpoint.
  public let pendingCount: Int
  /// How many bytes of the log may wait for a checkpoint.
  public let journalCapacity: UInt64
  /// How many do.
  public let journalSize: UInt64
  /// Segments of the log.
  public let segmentCount: Int
  /// The bytes that are in them, as of the last checkpoint.
  public let logSize: UInt64
  /// What of that is still needed; cleaning gives back the rest.
  public let liveSize: UInt64
  /// Bytes that writes appended to the log.
  public let appendedSize: UInt64
  /// Bytes that cleaning copied to new segments.
  public let cleanedSize: UInt64
  /// The size of the index, the file data.mdb, in bytes.
  public let dataSize: UInt64
  /// What of it is in use.
  public let dataSizeInUse: UInt64
  /// How far that file can grow before its place in memory has to.
  public let mapSize: UInt64
  /// The version of the last write.
  public let lastVersion: UInt64
  /// The version of the last write that is in the index.
  public let indexedVersion: UInt64
  /// The version of the last write that survives a power cut.
  public let syncedVersion: UInt64
  /// Reads that found an entry, also where its value could not be decoded.
  public let hits: UInt64
  /// Reads that found none.
  public let misses: UInt64
  /// Entries that were found damaged.
  public let damaged: UInt64
  /// Values stored.
  public let written: UInt64
  /// Removals that were written: of a key without an entry, too, but of an ``EntryCache`` only of
  /// keys with one.
  public let removed: UInt64
  /// Entries that left for a limit.
  public let evicted: UInt64
  /// Entries that expired.
  public let expired: UInt64
  /// Checkpoints.
  public let checkpoints: UInt64
  /// Checkpoints that failed; see ``lastFailure``.
  public let checkpointFailures: UInt64
  /// How long all checkpoints took together, those that failed, too.
  public let checkpointTime: Duration
  /// Reads that did not enter the order of use, because too many came between two
  /// checkpoints.
  public let usesDropped: UInt64
  /// Why the last checkpoint failed; nil if it did not.
  public let lastFailure: LarderError.Code?
  /// The process that has the cache open for writing; nil if none has.
  public let writerProcess: Int?
  /// The format of the values' coder; empty for a cache that says nothing.
  public let format: String
  /// The same as the number that is in the folder, which other kinds of folders use, too.
  package let contentFormat: UInt64
  /// When the cache was made.
  public let created: Date
  /// The version of the files' format.
  public let formatVersion: Int
  /// Whether it was opened for reading only.
  public let isReadOnly: Bool

  /// Reads.
  ///
  /// - Complexity: O(1).
  public var reads: UInt64 { hits &+ misses }

  /// Which share of the reads found a value: from 0 to 1, and 0 if there were none.
  ///
  /// - Complexity: O(1).
  public var hitRatio: Double { reads == 0 ? 0 : Double(hits) / Double(reads) }

  /// The figures that are asked for most, in one line.
  public var description: String {
    let permille = Int((hitRatio * 1000).rounded())
    return """
      \(permille / 10).\(permille % 10) % of \(reads) reads hit; \(written) written, \
      \(removed) removed, \(evicted) evicted, \(expired) expired, \(damaged) damaged; \
      \(checkpoints) checkpoints, \(checkpointFailures) failed; \(count) entries of \(size) bytes \
      and \(pendingCount) that wait for a checkpoint; \(liveSize) of \(logSize) bytes in \
      \(segmentCount) segments are live
      """
  }

  init(_ raw: larder_store_statistics) {
    count = Int(clamping: raw.count)
    size = Int(clamping: raw.bytes)
    pendingCount = Int(clamping: raw.pending_count)
    journalCapacity = raw.journal_bytes
    journalSize = raw.journal_used_bytes
    segmentCount = Int(clamping: raw.segment_count)
    logSize = raw.log_used_bytes
    liveSize = raw.log_live_bytes
    appendedSize = raw.appended_bytes
    cleanedSize = raw.cleaned_bytes
    dataSize = raw.data_bytes
    dataSizeInUse = raw.data_used_bytes
    mapSize = raw.map_bytes
    lastVersion = raw.last_sequence
    indexedVersion = raw.applied_sequence
    syncedVersion = raw.synced_sequence
    hits = raw.hits
    misses = raw.misses
    damaged = raw.damaged
    written = raw.written
    removed = raw.removed
    evicted = raw.evicted
    expired = raw.expired
    checkpoints = raw.flushes
    checkpointFailures = raw.flush_failures
    checkpointTime = .nanoseconds(Int64(clamping: raw.flush_ns))
    usesDropped = raw.touches_dropped
    lastFailure = raw.last_failure == 0 ? nil : LarderError.code(raw.last_failure)
    writerProcess = raw.writer_pid == 0 ? nil : Int(clamping: raw.writer_pid)
    format = RingOptions.format(ofNumber: raw.content_format)
    contentFormat = raw.content_format
    created = Date(nanoseconds: raw.created_ns)
    formatVersion = Int(clamping: raw.version)
    isReadOnly = raw.read_only != 0
  }
}
