// SPDX-License-Identifier: MIT

public import Foundation

extension Archive {
  /// As the synchronous form: reads the element with a primary key, which counts as an access; on
  /// a thread of the archive's own unless it is in memory.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The element; nil if there is none, or it has expired.
  /// - Throws: `.damaged`, `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n), and what decoding takes if the element was not kept; a change of
  ///   threads where a device or a lock may have to be waited for, and of more than 16 KiB.
  public nonisolated(nonsending) func element(forID id: Element.ID) async throws -> Element? {
    try await executor.read { try self.read(id, $0) }
  }

  /// As the synchronous form: whether there is an element with a primary key; on a thread of the
  /// archive's own unless that can be seen in memory.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: False also if the element has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n), and a change of threads where a device or a lock may have to be waited
  ///   for.
  public nonisolated(nonsending) func contains(id: Element.ID) async throws -> Bool {
    try await executor.read { how in
      if how.isEmpty { return try self.contains(id: id) }
      var isThere = false
      try self.keyCoder.borrow(id) { isThere = try self.store.contains($0, how) }
      return isThere
    }
  }

  /// As the synchronous form, on a thread of the archive's own: reads all elements.
  ///
  /// - Parameter limit: How many at most; all by default. 0 and less: none.
  /// - Returns: The elements.
  /// - Throws: `.decoding`, `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(elements read), and what decoding takes.
  public func elements(limit: Int = .max) async throws -> [Element] {
    try await executor.run { try self.elements(limit: limit) }
  }

  /// As the synchronous form, on a thread of the archive's own: when the element with a
  /// primary key was accessed or written last.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The time; nil if there is no element, or it has expired.
  /// - Throws: `.encoding` (of the key), `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(log n), and a flush if there were accesses since the last one.
  public func latestAccessTime(of id: Element.ID) async throws -> Date? {
    try await executor.run { try self.latestAccessTime(of: id) }
  }
}
