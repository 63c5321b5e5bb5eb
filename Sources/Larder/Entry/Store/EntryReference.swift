// SPDX-License-Identifier: MIT

/// Leads from a snapshot to its cache, without keeping that open.
///
/// Sendable, although Swift cannot see it: `store` is set once, before anybody else has the
/// object, and reading a weak reference is atomic.
final class EntryReference: @unchecked Sendable {
  private(set) weak var store: EntryStore?

  init() {}

  /// To be called once.
  func set(_ store: EntryStore) { self.store = store }
}
