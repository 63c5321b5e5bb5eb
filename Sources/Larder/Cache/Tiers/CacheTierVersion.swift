// SPDX-License-Identifier: MIT

/// Names one write of an entry, in all tiers: two entries with the same version are the same.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheTierVersion: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64

  /// How many bytes a version has.
  ///
  /// - Complexity: O(1).
  public static var byteCount: Int { 16 }

  /// Makes a new one, of random bytes.
  ///
  /// - Complexity: O(1).
  public init() {
    high = .random(in: .min ... .max)
    low = .random(in: .min ... .max)
  }

  /// Makes one of the bytes of another.
  ///
  /// - Parameter bytes: The bytes.
  /// - Returns: nil unless there are ``byteCount``.
  /// - Complexity: O(1).
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Its bytes.
  ///
  /// - Complexity: O(1).
  public var bytes: [UInt8] {
    [high, low].flatMap { half in withUnsafeBytes(of: half.bigEndian, Array.init) }
  }
}
