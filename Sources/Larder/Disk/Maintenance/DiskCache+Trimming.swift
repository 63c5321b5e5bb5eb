// SPDX-License-Identifier: MIT

public import LarderCore

extension DiskCache {
  /// Does at once what happens every ``StoreConfiguration/autoTrimInterval``: removes
  /// what is expired, enforces all limits, that of free disk space too, and deletes files
  /// that nobody needs.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(entries that leave · log n), and a flush.
  public func trim() throws { try store.maintain() }

  /// Evicts the least recently used entries until there are no more than this.
  ///
  /// The limit stays as it is.
  ///
  /// - Parameter count: How many may stay. 0 and less: none. `Int.max`: all.
  /// - Returns: How many left.
  /// - Throws: `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(entries that leave · log n), and a flush.
  @discardableResult
  public func trim(toCount count: Int) throws -> Int {
    try store.trim(count: StoreLimits.raw(count), bytes: .max)
  }

  /// Evicts the least recently used entries until their values have no more bytes than
  /// this.
  ///
  /// The limit stays as it is.
  ///
  /// - Parameter size: How much may stay. 0 and less: nothing.
  /// - Returns: How many entries left.
  /// - Throws: As `trim(toCount:)`.
  /// - Complexity: O(entries that leave · log n), and a flush.
  @discardableResult
  public func trim(toSize size: DataSize) throws -> Int {
    try store.trim(count: .max, bytes: StoreLimits.raw(size))
  }

  /// Removes every expired entry.
  ///
  /// - Returns: How many went.
  /// - Throws: `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(expired · log n), and a flush; O(n) once after ``expiration`` was set.
  @discardableResult
  public func removeExpired() throws -> Int {
    try store.removeExpired()
  }
}
