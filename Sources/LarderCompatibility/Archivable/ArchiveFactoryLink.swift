// SPDX-License-Identifier: MIT

import Larder
import LarderCore
import Synchronization

/// An archive's way to the factory that its elements' properties go to. A factory owns its
/// archives, so these must not own it.
final class ArchiveFactoryLink: Sendable {
  private struct Weak {
    weak var factory: ArchiveFactory?
  }

  private let owned: ArchiveFactory?
  private let owner = Mutex(Weak())

  /// A factory that is none of the archive's owner.
  init(to factory: ArchiveFactory) { owned = factory }

  /// The factory that owns the archive.
  init(owner factory: ArchiveFactory) {
    owned = nil
    owner.withLock { $0.factory = factory }
  }

  func get() throws(LarderError) -> ArchiveFactory {
    if let owned { return owned }
    guard let factory = owner.withLock({ $0.factory }) else {
      throw LarderError(
        .closed, "The archive's factory no longer exists, and has closed its archives.")
    }
    return factory
  }
}
