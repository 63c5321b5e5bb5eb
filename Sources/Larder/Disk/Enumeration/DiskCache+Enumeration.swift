// SPDX-License-Identifier: MIT

extension DiskCache {
  /// The keys of entries whose time is not over.
  ///
  /// Leaves no trace in the order of use. All listing shows the cache as it was when the
  /// call began. A damaged entry is left out, and counted in the statistics.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The keys.
  /// - Throws: `.invalidArgument` (the key coder keeps no order or no prefixes),
  ///   `.decoding` (there are keys of another type), `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(log n + entries listed).
  @available(*, noasync, message: "Use `await` in asynchronous code.")
  public func keys(
    _ selection: DiskCacheSelection<Key> = .all, order: DiskCacheOrder = .byKey,
    limit: Int = .max
  ) throws -> [Key] {
    try list(selection, order, limit, withValues: false) { try keyCoder.decode($0.key) }
  }

  /// What there is to know of entries besides their values.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: Keys, sizes, versions, times and extended data.
  /// - Throws: As `keys(_:order:limit:)`.
  /// - Complexity: O(log n + entries listed). Values in files are not touched.
  @available(*, noasync, message: "Use `await` in asynchronous code.")
  public func infos(
    _ selection: DiskCacheSelection<Key> = .all, order: DiskCacheOrder = .byKey,
    limit: Int = .max
  ) throws -> [DiskCacheInfo<Key>] {
    let limits = currentLimits
    return try list(selection, order, limit, withValues: false) {
      DiskCacheInfo($0, try keyCoder.decode($0.key), limits)
    }
  }

  /// Entries with their values, all in memory; for more than that see
  /// `forEachEntry(_:order:_:)`.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The entries.
  /// - Throws: As `keys(_:order:limit:)`.
  /// - Complexity: O(log n + entries listed), and what decoding takes.
  @available(*, noasync, message: "Use `await` in asynchronous code.")
  public func entries(
    _ selection: DiskCacheSelection<Key> = .all, order: DiskCacheOrder = .byKey,
    limit: Int = .max
  ) throws -> [DiskCacheEntry<Key, Value>] {
    let limits = currentLimits
    return try list(selection, order, limit, withValues: true) { try makeEntry(&$0, limits) }
  }

  /// Calls a closure with one entry after the other.
  ///
  /// It may use the cache, and sees the state from before. That state is held meanwhile:
  /// what others write makes the file grow instead of using its room again, so be quick.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - body: Gets an entry, and says whether to go on.
  /// - Throws: As `keys(_:order:limit:)`, and what the closure throws.
  /// - Complexity: O(log n + entries), and what decoding takes.
  @available(*, noasync, message: "Use `await` in asynchronous code.")
  public func forEachEntry(
    _ selection: DiskCacheSelection<Key> = .all, order: DiskCacheOrder = .byKey,
    _ body: (DiskCacheEntry<Key, Value>) throws -> Bool
  ) throws {
    let limits = currentLimits
    var cursor = try StoreCursor(store, selection.raw(keyCoder, order))
    var goesOn = true
    while goesOn, try cursor.next({ goesOn = try body(makeEntry(&$0, limits)) }) {}
  }

  /// What there is to know of one entry besides its value; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: Size, version, times and extended data; nil if there is no entry, or
  ///   it has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), the latter for the checksum.
  @available(*, noasync, message: "Use `await` in asynchronous code.")
  public func info(forKey key: Key) throws -> DiskCacheInfo<Key>? {
    let limits = currentLimits
    var info: DiskCacheInfo<Key>?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, [.peek, .withoutValue]) {
        info = DiskCacheInfo($0, key, limits)
      }
    }
    return info
  }
}

extension DiskCache {
  private func makeEntry(
    _ entry: inout StoreEntry, _ limits: StoreLimits
  ) throws -> DiskCacheEntry<Key, Value> {
    // What a cursor lends stays its own: a value from a file is copied here.
    DiskCacheEntry(
      info: DiskCacheInfo(entry, try keyCoder.decode(entry.key), limits),
      value: try coder.decode(entry.value))
  }

  private func list<Element>(
    _ selection: DiskCacheSelection<Key>, _ order: DiskCacheOrder, _ limit: Int,
    withValues: Bool, _ body: (inout StoreEntry) throws -> Element
  ) throws -> [Element] {
    var raw = try selection.raw(keyCoder, order)
    raw.isWithoutValues = !withValues
    var elements: [Element] = []
    if limit <= 0 { return elements }
    var cursor = try StoreCursor(store, raw)
    while elements.count < limit, try cursor.next({ elements.append(try body(&$0)) }) {}
    return elements
  }
}
