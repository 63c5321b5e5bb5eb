// SPDX-License-Identifier: MIT

import CLarderStore
import Foundation
import LarderCore

extension EntryStore {
  /// How often a write that is based on what it read is tried.
  private static var attempts: Int { 1000 }

  /// Stores all values of an entry, in place of what was there.
  func setValues(
    _ values: [Data], _ key: StoreKey, _ terms: StoreTerms
  ) throws {
    guard values.count == valueCount else {
      throw LarderError(
        .invalidArgument, "An entry has \(valueCount) values here, and \(values.count) were given.")
    }
    let isDone: Void? = try writing(key) { try put(values.map { .data($0) }, key, terms) }
    if isDone == nil { throw beingEditedFailure }
  }

  /// Stores some values of an entry, and leaves the others as they are.
  func update(
    _ values: [Int: Data], _ key: StoreKey, _ terms: StoreTerms
  ) throws {
    for index in values.keys { try check(index) }
    let isDone: Void? = try writing(key) {
      for _ in 0..<Self.attempts {
        guard let old = try read(key, .peek) else { throw missingFailure }
        let pieces: [EntryPiece] = (0..<valueCount).map { index in
          values[index].map { .data($0) } ?? .old(old, index)
        }
        if try put(pieces, key, terms, requiring: old.version) { return }
      }
      throw LarderError(
        .conflict, "An update was tried \(Self.attempts) times, and each time others wrote first.")
    }
    if isDone == nil { throw beingEditedFailure }
  }

  private var missingFailure: LarderError {
    LarderError(.invalidArgument, "There is no entry to update; a new one wants all its values.")
  }

  /// Removes an entry.
  ///
  /// - Returns: Whether there was one that nobody edits.
  func remove(_ key: StoreKey, _ durability: Durability?) throws -> Bool {
    let isSynced = (durability ?? self.durability) == .power
    let wasThere = try writing(key) {
      for _ in 0..<Self.attempts {
        guard let seen = try version(key) else { return false }
        if seen == 0 {
          try handle.remove(key, isSynced: isSynced)
          return true
        }
        let batch = try StoreBatch(handle)
        try batch.require(key, version: seen)
        try batch.remove(key)
        if try batch.commit(isSynced: isSynced) != nil { return true }
      }
      throw LarderError(
        .conflict, "A removal was tried \(Self.attempts) times, and each time others wrote first.")
    }
    return wasThere ?? false
  }

  /// Stores an entry.
  func put(
    _ pieces: [EntryPiece], _ key: StoreKey, _ terms: StoreTerms
  ) throws {
    _ = try pieces.withRecord(folder: handle.folder) { head, values in
      try handle.put(key, values, extended: head, terms: terms)
    }
  }

  /// Stores an entry if it has that version still.
  ///
  /// - Returns: Whether it was stored.
  func put(
    _ pieces: [EntryPiece], _ key: StoreKey, _ terms: StoreTerms,
    requiring version: UInt64
  ) throws -> Bool {
    try pieces.withRecord(folder: handle.folder) { head, values in
      let batch = try StoreBatch(handle)
      try batch.require(key, version: version)
      try batch.put(key, values, extended: head, terms: terms.unsynced)
      return try batch.commit(isSynced: terms.flags & StoreTerms.flags(.power) != 0)
    } != nil
  }
}
