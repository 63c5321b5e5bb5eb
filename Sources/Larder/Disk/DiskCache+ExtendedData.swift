// SPDX-License-Identifier: MIT

public import Foundation

extension DiskCache {
  /// Reads what was stored with a value, without the value; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: The extended data; nil if there is none, no entry, or the entry has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), the latter for the checksum.
  public func extendedData(forKey key: Key) throws -> Data? {
    var data: Data?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, [.peek, .withoutValue]) { entry in
        if !entry.extended.isEmpty { data = Data(copied: entry.extended) }
      }
    }
    return data
  }

  /// Reads the value under a key with what was stored with it, which counts as a use.
  ///
  /// - Parameter key: The key.
  /// - Returns: Value and extended data; nil if there is no value, or it has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As `value(forKey:)`.
  public func valueWithExtendedData(
    forKey key: Key
  ) throws -> (value: Value, extendedData: Data?)? {
    var found: (Value, Data?)?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, .use) { entry in
        let extended = entry.extended.isEmpty ? nil : Data(copied: entry.extended)
        found = (try decode(&entry), extended)
      }
    }
    return found
  }
}
