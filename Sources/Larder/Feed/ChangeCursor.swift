// SPDX-License-Identifier: MIT

import CLarderStore
public import LarderCore

/// A named cursor, which the store keeps with what its consumer has acknowledged.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ChangeCursor: Sendable, Hashable {
  /// Its name.
  public let name: String
  /// Whether a feed, in some process, has it. On Apple's systems always false.
  public let isOpen: Bool
  /// The version of the last write that was acknowledged.
  public let version: UInt64
  /// How many writes were not acknowledged yet.
  public let lag: Int
  /// The segments that those writes lie in, in bytes.
  public let lagSize: DataSize
  /// How much of the log it keeps at most: what lags further is a gap.
  public let maximumLag: DataSize

  init(_ raw: larder_store_feed_cursor) {
    name = withUnsafeBytes(of: raw.name) {
      String(decoding: $0.prefix(Int(raw.name_length)), as: UTF8.self)
    }
    isOpen = raw.is_open
    version = raw.sequence
    lag = Int(clamping: raw.lag_count)
    lagSize = DataSize(bytes: Int(clamping: raw.lag_bytes))
    maximumLag = DataSize(bytes: Int(clamping: raw.max_lag_bytes))
  }
}
