// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

extension EntryStore {
  /// Reads an entry; one that is damaged is none, if that was asked for.
  ///
  /// - Parameter chosen: Which values are wanted; nil for all.
  func snapshot(
    _ key: StoreKey, _ how: StoreReading = .use, chosen: [Bool]? = nil
  ) throws -> EntrySnapshot? {
    try keyRule.check(key)
    return try unlessMissed { try read(key, how, chosen: chosen) }
  }

  /// nil if the body finds damage, and that is to be a miss.
  func unlessMissed<R>(_ body: () throws -> R?) throws -> R? {
    do {
      return try body()
    } catch let error as LarderError where error.code == .damaged && readingDamage == .asMiss {
      // Counted in the statistics.
      return nil
    }
  }

  /// Reads an entry.
  ///
  /// - Throws: `.damaged`, `.closed`, `.io`.
  func read(
    _ key: StoreKey, _ how: StoreReading, chosen: [Bool]? = nil
  ) throws -> EntrySnapshot? {
    var found: EntryBytes?
    let isThere = try handle.read(key, how) { entry in
      found = EntryBytes.make(
        &entry, key, valueCount: valueCount, chosen: chosen, reference)
    }
    try checkForm()
    if let found { return EntrySnapshot(found) }
    if !isThere { return nil }
    unreadable.add(1, ordering: .relaxed)
    throw foreignFailure
  }

  var foreignFailure: LarderError {
    LarderError(
      .damaged, "Could not read an entry of \(path): it was not made by a cache of entries.")
  }

  /// The version of an entry; nil if there is none, 0 if what there is cannot be read.
  func version(_ key: StoreKey) throws -> UInt64? {
    do {
      return try foundVersion(key)
    } catch let error as LarderError where error.code == .damaged {
      // Counted in the statistics.
      return 0
    }
  }

  private func foundVersion(_ key: StoreKey) throws -> UInt64? {
    var version: UInt64?
    _ = try handle.read(key, [.peek, .withoutValue]) { version = $0.sequence }
    try checkForm()
    return version
  }

  /// Throws `.configurationMismatch` if another process has opened the cache with another version
  /// since this one, which only reads: then its entries mean something else, or are gone.
  private func checkForm() throws(LarderError) {
    if expectedFormat == nil { return }
    var all = StoreSelection()
    all.isWithoutValues = true
    all.storeFormat = expectedFormat
    _ = try StoreCursor(handle, all)
  }

  func contains(_ key: StoreKey) throws -> Bool {
    try keyRule.check(key)
    return try unlessMissed { try foundVersion(key) } != nil
  }

  /// Which values a caller asks for.
  func choice(_ indices: some Sequence<Int>) throws(LarderError) -> [Bool] {
    var chosen = [Bool](repeating: false, count: valueCount)
    for index in indices {
      try check(index)
      chosen[index] = true
    }
    return chosen
  }

  func check(_ index: Int) throws(LarderError) {
    if index >= 0, index < valueCount { return }
    throw LarderError(
      .invalidArgument, "There is no value \(index); an entry has 0 to \(valueCount - 1).")
  }
}
