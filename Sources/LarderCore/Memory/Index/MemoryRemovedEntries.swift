// SPDX-License-Identifier: MIT

/// Entries that left the index while it was locked, until it is not: then they are
/// reported and destroyed.
///
/// The first lies in the struct itself, as there is seldom more than one.
@usableFromInline
struct MemoryRemovedEntries<Key, Value> {
  @usableFromInline var first: MemoryEntry<Key, Value>?
  /// A `larder_index_cause`.
  @usableFromInline var firstCause: UInt32
  @usableFromInline var rest: [MemoryEntry<Key, Value>]
  @usableFromInline var restCauses: [UInt32]

  /// The values are given here, because those at the properties are not inlined.
  @inlinable
  init() {
    first = nil
    firstCause = 0
    rest = []
    restCauses = []
  }

  @inlinable
  var isEmpty: Bool { first == nil }

  @inlinable
  var count: Int { first == nil ? 0 : 1 + rest.count }

  /// Moves an entry out of the index's memory.
  @inlinable
  mutating func take(_ payload: UnsafeMutableRawPointer, _ cause: UInt32) {
    let entry = payload.assumingMemoryBound(to: MemoryEntry<Key, Value>.self).move()
    if first == nil {
      first = entry
      firstCause = cause
    } else {
      rest.append(entry)
      restCauses.append(cause)
    }
  }
}
