// SPDX-License-Identifier: MIT

public import Foundation

extension DiskCache {
  /// Reads the encoded bytes under a key, without a copy if they are more than 20 KiB,
  /// which counts as a use.
  ///
  /// They lie on the pages of the log, which the system reads when they are touched and
  /// takes back when it needs the memory. They stay good whatever happens to the entry or
  /// the cache: when their segment of the log is deleted, they are copied (on Apple systems
  /// they keep it until they are released). Their checksum was verified.
  ///
  /// - Parameter key: The key.
  /// - Returns: The bytes; nil if there is no value, or it has expired.
  /// - Throws: `.damaged`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), the latter for the checksum.
  public func mappedValue(forKey key: Key) throws -> Data? {
    var data: Data?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, .use) { data = $0.takeData() }
    }
    return data
  }

  /// Lends the encoded bytes under a key to a closure, never with a copy, which counts as
  /// a use.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - body: Gets the bytes, which are valid until it returns. They hold a reader
  ///     slot of the cache meanwhile, so be quick.
  /// - Returns: What the closure returns; nil if there is no value, or it has expired.
  /// - Throws: What the closure throws; as `mappedValue(forKey:)`.
  /// - Complexity: O(log n + bytes), the latter for the checksum.
  public func withValueBytes<R>(
    forKey key: Key, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R? {
    var result: R?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, .use) { result = try body($0.value) }
    }
    return result
  }
}
