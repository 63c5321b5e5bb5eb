// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

// Each element says which version of the schema it is of, in its extended data. So whatever a
// migration has done when it is cut short is known, and the next one goes on from there; and who
// only reads makes elements of this version of all others as it meets them.
//
// A migration is a build of the indexes in which elements are encoded again. The folder has the
// new version from its beginning on, and other indexes than anybody declares until its end: see
// `rebuild(after:isAlone:_:)`.

extension Archive {
  /// Whether an element's extended data says that it is of this version.
  @inlinable
  func isCurrent(_ tag: UnsafeRawBufferPointer) -> Bool {
    tag.count == versionTag.count && (tag.isEmpty || tag[0] == versionTag[0])
  }

  /// Decodes an element of whatever version that was found under a key.
  @inlinable
  func decode(
    _ value: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws -> Element {
    isCurrent(tag) ? try coder.decode(value) : try decodeOther(value, tag: tag, key: key)
  }

  @usableFromInline
  func decodeOther(
    _ value: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
  ) throws -> Element {
    let element = try schema.decode(value, tag: tag, coder, isReadOnly: isReadOnly)
    // Who only reads finds elements that their migration has not moved yet.
    if isReadOnly || keyCoder.finds(key, by: element.id) { return element }
    throw LarderError(
      .decoding,
      """
      The migration to version \(schema.version) gives it the id \(keyCoder.shown(element.id)), \
      which another element has.
      """)
  }

  /// Decodes an element of whatever version, also one that is to be moved to another key.
  func decodeToMove(_ entry: StoreEntry) throws -> Element {
    do {
      return try schema.decode(entry.value, tag: entry.extended, coder, isReadOnly: isReadOnly)
    } catch {
      throw decodingFailure(error, entry.key)
    }
  }

  /// An element of another version as it is to be stored now; nil if it is of this version.
  ///
  /// - Parameter movesKeys: Whether it may have another primary key now.
  /// - Throws: `.decoding` if it cannot be migrated; then it stays what it is, or the migration
  ///   ends, as `undecodable` says.
  func migrated(
    _ entry: StoreEntry, movesKeys: Bool
  ) throws -> (element: Element, key: [UInt8], bytes: Data)? {
    if isCurrent(entry.extended) { return nil }
    let element = try decodeToMove(entry)
    if keyCoder.finds(entry.key, by: element.id) {
      return (element, [UInt8](entry.key), try coder.encode(element))
    }
    guard movesKeys else {
      let failure = LarderError(
        .decoding, "The migration to version \(schema.version) changed the primary key.")
      throw decodingFailure(failure, entry.key)
    }
    return (element, try keyCoder.own(element.id).bytes, try coder.encode(element))
  }

  /// Refuses a migration, or unique indexes, that the elements do not allow, before anything has
  /// changed: so the release before can still open the folder.
  ///
  /// - Parameters:
  ///   - movesKeys: Elements of earlier versions may get other primary keys.
  ///   - progress: Gives back whether to go on.
  /// - Throws: `.duplicate`, `.tooLarge`, and `.decoding` of an element that cannot be migrated,
  ///   all with primary keys in the message.
  /// - Complexity: O(elements), in memory O(bytes of the keys that change) and as
  ///   ``checkUniqueness(isStrict:_:_:)``.
  func checkElements(movesKeys: Bool, _ progress: StoreProgressReport?) throws {
    guard movesKeys || hasUniqueIndexes else { return }
    let unindexed = [ArchiveIndex<Element>.unindexed]
    var moved = Set<[UInt8]>()
    let isStrict = movesKeys && undecodable == .fail
    try checkUniqueness(isStrict: isStrict, progress) { element, entry in
      let id = element.id
      if !movesKeys || isCurrent(entry.extended) || keyCoder.finds(entry.key, by: id) { return }
      // One that was left out before goes on being that, if there is no room for it.
      if undecodable == .skip, entry.indexValues == unindexed { return }
      try keyCoder.borrow(id) { key in
        let bytes = [UInt8](key.bytes)
        // No element may move to a key that another has until it moves, too.
        if try store.contains(key) || !moved.insert(bytes).inserted { throw twice(bytes) }
      }
    }
  }

  /// Two elements would have one primary key.
  func twice(_ key: [UInt8]) -> LarderError {
    let id = try? key.withUnsafeBytes { try keyCoder.decode($0) }
    return LarderError(
      .duplicate,
      """
      The migration of \(path) to version \(schema.version) gives two elements the id \
      \(id.map { "\($0)" } ?? "of \(key.count) bytes"), or one that another element has before it; \
      neither was changed.
      """, cause: ArchiveDuplicate(index: nil, id: id))
  }
}
