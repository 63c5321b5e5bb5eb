// SPDX-License-Identifier: MIT

public import LarderCore

extension EntryCache {
  /// Removes an entry.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: as the
  ///     configuration said.
  /// - Returns: Whether it was removed: false if there is none, or an editor is open on the
  ///   key, and then nothing has changed.
  /// - Throws: `.encoding` (of the key), `.invalidArgument` (against the ``keyRule``),
  ///   `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged` (the file of all entries).
  /// - Complexity: O(log n), as a write.
  @discardableResult
  public func remove(forKey key: Key, durability: Durability? = nil) throws -> Bool {
    var wasThere = false
    try keyCoder.borrow(key) { wasThere = try store.remove($0, durability) }
    return wasThere
  }

  /// Removes every entry, at once; the segments of the log are deleted after that, in the
  /// background.
  ///
  /// An edit that is under way stays open. Its commit stores an entry if all values were
  /// set, and throws `.invalidArgument` if some were to come from the old one.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(1), as a write.
  public func removeAll() throws { try store.handle.removeAll(progress: nil) }
}
