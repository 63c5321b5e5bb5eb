// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension EntryCache {
  /// Stores all values of an entry, in place of what was there.
  ///
  /// - Parameters:
  ///   - values: As many as the cache has for an entry; each may be empty.
  ///   - key: The key.
  ///   - expiration: How long the entry lives; nil: as ``expiration`` says.
  ///   - durability: What it survives once the call returns, and with it all that was
  ///     written before; nil: as the configuration said.
  /// - Throws: `.invalidArgument` (another number of values, or a key against the
  ///   ``keyRule``), `.conflict` (an editor is open on the key), `.encoding` (of the key),
  ///   `.tooLarge` (the key), `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`. On
  ///   failure nothing has changed, unless it was the sync of `.power` that failed: then the
  ///   write is there, and may not survive a power cut.
  /// - Complexity: O(bytes). No disk access unless a segment of the log is full and no
  ///   other one is ready, or too much waits for a checkpoint. At a durability of `.power`
  ///   one sync, shared with concurrent callers.
  public func setValues(
    _ values: [Data], forKey key: Key, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) throws {
    let terms = store.terms(expiration, durability)
    try keyCoder.borrow(key) { try store.setValues(values, $0, terms) }
  }

  /// Stores some values of an entry, and leaves the others as they are, in one step.
  ///
  /// ```swift
  /// try pages.update([0: head], forKey: "home")
  /// ```
  ///
  /// - Parameters:
  ///   - values: Values by index. With none, only the entry's expiration is renewed.
  ///   - key: The key, which has an entry.
  ///   - expiration: How long the entry lives from now on; nil: as ``expiration`` says.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.invalidArgument` (there is no entry, no such value, or a key against the
  ///   ``keyRule``), `.damaged` (a value that was not given cannot be read), `.conflict` (an
  ///   editor is open on the key, or others were faster a thousand times), and as
  ///   `setValues(_:forKey:expiration:durability:)`. On failure nothing has changed,
  ///   unless it was the sync of `.power` that failed: then the write is there, and may not
  ///   survive a power cut.
  /// - Complexity: O(bytes of all values of the entry).
  public func update(
    _ values: [Int: Data], forKey key: Key, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) throws {
    let terms = store.terms(expiration, durability)
    try keyCoder.borrow(key) { try store.update(values, $0, terms) }
  }
}
