// SPDX-License-Identifier: MIT

import LarderCore

/// An element in memory, and of which entry of the store it is: another writer, an
/// eviction or an end of its time show in the store, which is asked at every access.
@usableFromInline
struct ArchiveCell<Element: Sendable>: Sendable {
  @usableFromInline let element: Element
  @usableFromInline let trace: StoreTrace
  /// In bytes, in the store.
  @usableFromInline let size: Int

  @inlinable
  init(element: Element, trace: StoreTrace, size: Int) {
    self.element = element
    self.trace = trace
    self.size = size
  }

  /// The cache for them, within the size that the configuration asks for.
  static func makeMemory<ID: Hashable & Sendable>(
    _ configuration: ArchiveConfiguration
  ) -> MemoryCache<ID, ArchiveCell<Element>> {
    MemoryCache(
      policy: .lru, costLimit: max(0, configuration.memorySizeLimit.bytes))
  }
}
