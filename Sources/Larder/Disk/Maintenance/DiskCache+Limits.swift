// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

extension DiskCache {
  /// The most entries that the cache keeps. 0 and less: none. `Int.max`: no limit.
  ///
  /// What is too much leaves with the next flush, the least recently used first. A change
  /// is of no effect on a cache that is closed or was opened for reading only.
  ///
  /// - Complexity: O(1).
  public var countLimit: Int {
    get { currentLimits.count }
    set { changeLimits { $0.count = max(0, newValue) } }
  }

  /// The most encoded bytes that all values have together. 0 and less: none that has any.
  /// Nil: no limit.
  ///
  /// What is too much leaves with the next flush, as for ``countLimit``.
  ///
  /// - Complexity: O(1).
  public var sizeLimit: DataSize? {
    get { currentLimits.size }
    set { changeLimits { $0.size = newValue } }
  }

  /// How long entries live that have no expiration of their own.
  ///
  /// A change holds for the entries that are there, too, counted from when they were
  /// written; but an ``LarderCore/Expiration/afterAccess`` and a
  /// ``LarderCore/Expiration/spread`` only for those written from now on.
  ///
  /// - Complexity: O(1). The next `removeExpired()` looks at every entry once.
  public var expiration: Expiration {
    get { currentLimits.expiration }
    set {
      changeLimits { $0.expiration = newValue }
      lives.setStandard(newValue)
      defaultIdle.store(StoreTerms.idle(newValue), ordering: .relaxed)
    }
  }

  /// The bytes that the cache leaves free on its file system, as far as its own values go;
  /// 0 for none.
  ///
  /// Looked at every ``StoreConfiguration/autoTrimInterval`` and by `trim()`; the least
  /// recently used go first. Room in the file data.mdb is used again, but not given back.
  ///
  /// - Complexity: O(1).
  public var freeDiskSpaceLimit: UInt64 {
    get { currentLimits.freeSpace }
    set { changeLimits { $0.freeSpace = newValue } }
  }

  var currentLimits: StoreLimits { settings.withLock { $0.limits } }

  private func changeLimits(_ body: (inout StoreLimits) -> Void) {
    settings.withLock { settings in
      body(&settings.limits)
      store.setLimits(settings.limits)
    }
  }
}
