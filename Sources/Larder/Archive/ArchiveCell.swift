// SPDX-License-Identifier: MIT

import LarderCore

/// An element in memory, and of which entry of the store it is: another writer, an
/// eviction or an end of its time show in the store, which is asked at every access.
@usableFromInline
struct ArchiveCell<Element: Sendable>: Sendable {
  @usableFromInline let element: Element
  @usableFromInline let version: UInt64
  /// In bytes, in the store.
  @usableFromInline let size: Int
  /// The store's, from when on it has this version; 0 if it is to be asked.
  @usableFromInline let state: UInt64

  @inlinable
  init(element: Element, version: UInt64, size: Int, state: UInt64) {
    self.element = element
    self.version = version
    self.size = size
    self.state = state
  }

  /// The cache for them, within the size that the configuration asks for.
  static func makeMemory<ID: Hashable & Sendable>(
    _ configuration: ArchiveConfiguration
  ) -> MemoryCache<ID, ArchiveCell<Element>> {
    MemoryCache(
      policy: .lru, costLimit: max(0, configuration.maximumMemorySize.bytes))
  }
}
