// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

extension EntryCache {
  /// The keys of entries whose time is not over.
  ///
  /// Leaves no trace in the order of use. Listing shows the cache as it was when the call
  /// began. Values are not looked at.
  ///
  /// - Parameters:
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The keys.
  /// - Throws: `.decoding` (there are keys of another type), `.damaged` (an entry, or the index,
  ///   unless ``EntryCacheConfiguration/readingDamage`` leaves such entries out), `.closed`, `.io`.
  /// - Complexity: O(log n + entries listed).
  public func keys(order: StoreOrder = .byKey, limit: Int = .max) throws -> [Key] {
    try list(order, limit) { try keyCoder.decode($0.key) }
  }

  /// What there is to know of entries besides their values.
  ///
  /// - Parameters:
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: Keys, lengths, versions and times.
  /// - Throws: As `keys(order:limit:)`.
  /// - Complexity: O(log n + entries listed). Values in files are not touched.
  public func infos(
    order: StoreOrder = .byKey, limit: Int = .max
  ) throws -> [EntryInfo<Key>] {
    let limits = store.limits.withLock { $0 }
    return try list(order, limit) { entry in
      try store.unlessMissed {
        try info(entry, try keyCoder.decode(entry.key), limits)
      }
    }
  }

  /// What there is to know of one entry besides its values; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: Lengths, version and times; nil if there is no entry, or it is expired.
  /// - Throws: `.encoding` (of the key), `.invalidArgument` (against the ``keyRule``),
  ///   `.damaged` (as ``EntryCacheConfiguration/readingDamage`` says), `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), the latter for the checksum.
  public func info(forKey key: Key) throws -> EntryInfo<Key>? {
    let limits = store.limits.withLock { $0 }
    var found: EntryInfo<Key>?
    try keyCoder.borrow(key) { bytes in
      try store.keyRule.check(bytes)
      found = try store.unlessMissed {
        var found: EntryInfo<Key>?
        _ = try store.handle.read(bytes, [.peek, .withoutValue]) {
          found = try info($0, key, limits)
        }
        return found
      }
    }
    return found
  }

  private func info(
    _ entry: borrowing StoreEntry, _ key: @autoclosure () throws -> Key, _ limits: StoreLimits
  ) throws -> EntryInfo<Key> {
    guard let info = try EntryInfo(entry, key(), valueCount: valueCount, limits) else {
      throw store.foreignFailure
    }
    return info
  }

  private func list<Element>(
    _ order: StoreOrder, _ limit: Int, _ body: (StoreEntry) throws -> Element?
  ) throws -> [Element] {
    var selection = StoreSelection(order)
    selection.isWithoutValues = true
    selection.showsKey = keyCoder.shown
    selection.storeFormat = store.expectedFormat
    selection.refusesDamage = store.readingDamage == .asError
    var elements: [Element] = []
    if limit <= 0 { return elements }
    var cursor = try StoreCursor(store.handle, selection)
    while elements.count < limit,
      try cursor.next({ entry in if let element = try body(entry) { elements.append(element) } })
    {}
    return elements
  }
}
