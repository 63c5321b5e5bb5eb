// SPDX-License-Identifier: MIT

extension DiskCache {
  /// The keys of entries whose time is not over.
  ///
  /// Leaves no trace in the order of use. All listing shows the cache as it was when the
  /// call began. A damaged entry, whose key the message has, is an error: no list is returned that
  /// lacks one. `forEachEntry(_:order:_:)` comes to all that are intact first.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The keys.
  /// - Throws: `.invalidArgument` (the key coder keeps no order or no prefixes),
  ///   `.decoding` (there are keys of another type), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + entries listed).
  public func keys(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
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
  public func infos(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
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
  public func entries(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
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
  /// - Throws: As `keys(_:order:limit:)`, and what the closure throws. `.damaged` behind the last
  ///   entry that is intact, if the closure went on until then.
  /// - Complexity: O(log n + entries), and what decoding takes.
  public func forEachEntry(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    _ body: (DiskCacheEntry<Key, Value>) throws -> Bool
  ) throws {
    let limits = currentLimits
    let damage = try forEachStored(selection, order, withValues: true) {
      try body(makeEntry(&$0, limits))
    }
    if let damage { throw damage }
  }

  /// What there is to know of one entry besides its value; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: Size, version, times and extended data; nil if there is no entry, or
  ///   it has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), the latter for the checksum.
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
    _ selection: DiskCacheSelection<Key>, _ order: StoreOrder, _ limit: Int,
    withValues: Bool, _ body: (inout StoreEntry) throws -> Element
  ) throws -> [Element] {
    var elements: [Element] = []
    if limit <= 0 { return elements }
    _ = try forEachStored(selection, order, withValues: withValues, refusesDamage: true) { entry in
      elements.append(try body(&entry))
      return elements.count < limit
    }
    return elements
  }

  /// Lends the entries of a selection, until the body says no.
  ///
  /// - Parameter refusesDamage: Whether damage ends it at once.
  /// - Returns: Else what is wrong with the first entry that was left out because it is damaged, if
  ///   the body did not say no.
  func forEachStored(
    _ selection: DiskCacheSelection<Key>, _ order: StoreOrder, withValues: Bool,
    refusesDamage: Bool = false, _ body: (inout StoreEntry) throws -> Bool
  ) throws -> LarderError? {
    var selections = try selection.raw(keyCoder, order)
    for form in selections.indices {
      selections[form].isWithoutValues = !withValues
      selections[form].showsKey = keyCoder.shown
      selections[form].refusesDamage = refusesDamage
    }
    var damage: LarderError?
    _ = try walk(selections[...], &damage, body)
    return damage
  }

  /// The first selection is listed first and opened last: what is moved from another one to it
  /// meanwhile may be listed twice, but is never left out.
  private func walk(
    _ selections: ArraySlice<StoreSelection>, _ damage: inout LarderError?,
    _ body: (inout StoreEntry) throws -> Bool
  ) throws -> Bool {
    guard let last = selections.last else { return true }
    var cursor = try StoreCursor(store, last)
    guard try walk(selections.dropLast(), &damage, body) else { return false }
    var goesOn = true
    while goesOn,
      try cursor.next({ entry in
        if selections.count > 1, try !isOther(entry.key, selections) { return }
        goesOn = try body(&entry)
      })
    {}
    if goesOn, damage == nil { damage = cursor.damage }
    return goesOn
  }

  /// Whether a key of the last selection has another form than today's, belongs to the first one
  /// in that of today, and was not listed yet.
  private func isOther(
    _ key: UnsafeRawBufferPointer, _ selections: ArraySlice<StoreSelection>
  ) throws -> Bool {
    if selections.dropLast().contains(where: { $0.contains(key) }) { return false }
    let own = try keyCoder.own(keyCoder.decode(key))
    if own.bytes.elementsEqual(key) { return false }
    return own.bytes.withUnsafeBytes { selections[0].contains($0) }
  }
}
