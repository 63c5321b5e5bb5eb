// SPDX-License-Identifier: MIT

/// The first of many items in an order; those that are alike stay as they came.
///
/// What comes behind the last one that is wanted is dropped at once, which most are.
@usableFromInline
struct ArchiveTop<Item: Sendable>: Sendable {
  /// How many are wanted.
  @usableFromInline let most: Int
  @usableFromInline let precedes: @Sendable (Item, Item) -> Bool
  @usableFromInline var kept: [Item] = []
  /// The last one that is wanted of those that were sorted so far.
  @usableFromInline var last: Item?

  @inlinable
  init(_ most: Int, by precedes: @escaping @Sendable (Item, Item) -> Bool) {
    self.most = most
    self.precedes = precedes
  }

  @inlinable
  mutating func add(_ item: Item) {
    if let last, !precedes(item, last) { return }
    kept.append(item)
    // A good many more than are wanted, so that sorting is rare.
    if kept.count / 2 - 256 > most { sort() }
  }

  /// The first items, in order. Nothing is kept of them.
  @inlinable
  mutating func take() -> [Item] {
    sort()
    defer {
      kept = []
      last = nil
    }
    return kept
  }

  @inlinable
  mutating func sort() {
    kept.sort(by: precedes)
    if kept.count < most { return }
    kept.removeSubrange(most...)
    last = kept.last
  }
}
