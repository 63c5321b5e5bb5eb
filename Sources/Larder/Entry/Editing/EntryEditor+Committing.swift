// SPDX-License-Identifier: MIT

public import LarderCore

extension EntryEditor {
  /// Stores what was set, all at once, and ends the edit.
  ///
  /// If it fails, the edit has ended all the same, and the entry is as it was.
  ///
  /// - Parameters:
  ///   - expiration: How long the entry lives from now on; nil: as the cache says.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.invalidArgument` (there is no entry, or it has been evicted or removed with
  ///   all others, and a value was not set), `.conflict` (the editor was committed or aborted
  ///   before), `.damaged` (a value that was not set cannot be read), `.closed`,
  ///   `.tooLarge` (the key); `.diskFull` and `.io`, also those of a writer.
  /// - Complexity: O(bytes of all values). No disk access unless a segment of the log is
  ///   full and no other one is ready, or too much waits for a checkpoint. At a durability
  ///   of `.power` one sync, shared with concurrent callers.
  public func commit(expiration: Expiration? = nil, durability: Durability? = nil) throws {
    guard let edited = end() else { throw overFailure }
    defer { store.endEdit(key) }
    if let failure = edited.failure { throw failure }
    if store.isClosed { throw store.closedFailure }
    let terms = store.terms(expiration, durability)
    let set = edited.values.compactMap { $0 }
    try key.withKey { key in
      // Nobody else writes under the key meanwhile: all that may have happened is that the
      // entry left, and that does not matter to one that is stored whole.
      if set.count == valueCount { return try store.put(set, key, terms) }
      try commitSome(edited, key, terms)
    }
  }

  private func commitSome(
    _ edited: State, _ key: StoreKey, _ terms: StoreTerms
  ) throws {
    // One that is damaged says so here.
    guard let old = try edited.old ?? store.read(key, .peek), seen != 0 else {
      throw missingFailure(edited)
    }
    let pieces = edited.values.enumerated().map { $1 ?? .old(old, $0) }
    if old.version == seen, try store.put(pieces, key, terms, requiring: seen) { return }
    throw missingFailure(edited)
  }

  private func missingFailure(_ edited: State) -> LarderError {
    let index = edited.values.firstIndex { $0 == nil } ?? 0
    return LarderError(
      .invalidArgument,
      """
      Value \(index) was not set, and there is no entry to have it from; a new one wants all its \
      \(valueCount) values. Nothing was stored.
      """)
  }
}
