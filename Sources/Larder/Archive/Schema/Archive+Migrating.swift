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

  /// Decodes an element of whatever version.
  @inlinable
  func decode(_ value: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer) throws -> Element {
    isCurrent(tag) ? try coder.decode(value) : try decodeOther(value, tag: tag)
  }

  @usableFromInline
  func decodeOther(
    _ value: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer
  ) throws -> Element {
    try schema.decode(value, tag: tag, coder, isReadOnly: isReadOnly)
  }

  /// An element of another version as it is to be stored now; nil if it is of this version.
  ///
  /// - Throws: `.decoding` if it cannot be migrated; then it stays what it is, or the migration
  ///   ends, as `undecodable` says.
  func migrated(_ entry: StoreEntry) throws -> (element: Element, bytes: Data)? {
    if isCurrent(entry.extended) { return nil }
    let element = try decode(entry)
    let key = try keyCoder.own(element.id)
    guard key.allForms.contains(where: { entry.key.elementsEqual($0) }) else {
      let failure = LarderError(
        .decoding, "The migration to version \(schema.version) changed the primary key.")
      throw decodingFailure(failure, entry.key)
    }
    return (element, try coder.encode(element))
  }
}
