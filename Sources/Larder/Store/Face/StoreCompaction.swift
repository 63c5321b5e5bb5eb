// SPDX-License-Identifier: MIT

import CLarderStore

/// What compacting a store came to, in bytes.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct StoreCompaction: Sendable, Hashable {
  /// What was in the log.
  public let logSizeBefore: UInt64
  /// What is in the log now.
  public let logSize: UInt64
  /// How large the index, the file data.mdb, was.
  public let dataSizeBefore: UInt64
  /// How large it is now.
  public let dataSize: UInt64

  init(_ raw: larder_store_compaction) {
    logSizeBefore = raw.log_bytes_before
    logSize = raw.log_bytes_after
    dataSizeBefore = raw.data_bytes_before
    dataSize = raw.data_bytes_after
  }
}
