// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

// Elements that cannot be decoded are in no index but one of their own, which names them.

extension Archive {
  /// The primary keys of all elements, in their order as far as they have one, as they were when
  /// the call began. No element is decoded: so one that cannot be is found, and can be deleted.
  ///
  /// - Parameter limit: How many at most; all by default. 0 and less: none.
  /// - Returns: The primary keys.
  /// - Throws: `.decoding` (of a key), `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(elements).
  public func ids(limit: Int = .max) throws -> [Element.ID] {
    let ids = Result { try self.ids(catalog.selection(), limit) }
    try checkVersion()
    return try ids.get()
  }

  /// The primary keys of the elements that are in no index, because they could not be decoded when
  /// the indexes were built. Empty if the archive has no indexes, or does not use them.
  ///
  /// - Parameter limit: How many at most; all by default. 0 and less: none.
  /// - Returns: The primary keys.
  /// - Throws: `.decoding` (of a key), `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(log n + primary keys).
  public func unindexedIDs(limit: Int = .max) throws -> [Element.ID] {
    try withCurrentIndexes { usesIndexes in
      usesIndexes ? try ids(unindexed, limit) : []
    }
  }

  private func ids(_ selection: StoreSelection, _ limit: Int) throws -> [Element.ID] {
    if limit <= 0 { return [] }
    var selection = selection
    selection.isWithoutValues = true
    var cursor = try StoreCursor(store, selection)
    var keys = ArchiveKeys()
    // Long ones do not come in their order.
    var areLong = false
    while areLong || keys.count < limit,
      try cursor.next({ entry in
        keys.append(entry.key, entry.sequence)
        areLong = areLong || entry.key.count > ArchiveRoute.longKey
      })
    {}
    let order = areLong ? keys.order() : Array(0..<keys.count)
    var ids: [Element.ID] = []
    for number in order.prefix(limit) {
      try keys.withKey(number) { key, _ in ids.append(try keyCoder.decode(key)) }
    }
    return ids
  }

  private var unindexed: StoreSelection {
    var selection = StoreSelection()
    selection.index = ArchiveIndex<Element>.unindexed.index
    return selection
  }

  /// Lends the elements that are in no index, until the body says that this is enough.
  ///
  /// - Parameter format: The content format that the folder has to have; nil: the one in use.
  func forEachUnindexed(
    _ format: UInt64? = nil, _ body: (StoreEntry) throws -> Bool
  ) throws {
    var selection = unindexed
    selection.indexFormat = format
    var cursor = try StoreCursor(store, selection)
    var goesOn = true
    while goesOn, try cursor.next({ goesOn = try body($0) }) {}
  }

  /// How many elements an index leaves out.
  ///
  /// - Throws: `.decoding`, if that is not to be, of the first one.
  func unindexedCount() throws -> Int {
    if !indexState.haveUnindexed.load(ordering: .acquiring) { return 0 }
    if undecodable == .fail {
      try forEachUnindexed {
        _ = try decode($0); return true
      }
    }
    return try store.count(unindexed, upTo: .max)
  }

  // MARK: - Decoding

  /// Decodes an element.
  ///
  /// - Throws: An error that names its primary key.
  func decode(_ entry: StoreEntry) throws -> Element {
    do { return try decode(entry.value, tag: entry.extended, key: entry.key) } catch {
      throw decodingFailure(error, entry.key)
    }
  }

  /// Throws why an element cannot be decoded, unless such elements are left out. Those of a later
  /// version of the schema never are: they are as good as any, and this archive is outdated.
  @usableFromInline
  func leaveOut(
    _ error: any Error, _ key: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
  ) throws {
    if undecodable == .fail || schema.isOutdated(by: tag) { throw decodingFailure(error, key) }
  }

  /// Gives an error the primary key of the element that could not be decoded.
  @usableFromInline
  func decodingFailure(_ error: any Error, _ key: UnsafeRawBufferPointer) -> any Error {
    guard var failure = error as? LarderError, failure.code == .decoding else { return error }
    let beginning =
      "The element of \(path) with the primary key \(keyCoder.shown(key)) cannot be decoded: "
    // A failure that comes from another archive says so already.
    if !failure.message.hasPrefix(beginning) { failure.message = beginning + failure.message }
    return failure
  }
}
