// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension EntryCache {
  /// The most bytes that the values of all entries have together. 0 and less: none that
  /// has any. Nil: no limit.
  ///
  /// What is too much leaves with the next checkpoint, the least recently used first;
  /// `checkpoint()` runs one at once. A change is of no effect on a cache that is closed or was
  /// opened for reading only.
  ///
  /// - Complexity: O(1).
  public var sizeLimit: DataSize? {
    get { store.limits.withLock { $0.size } }
    set { store.changeLimits { $0.size = newValue } }
  }

  /// The most entries. 0 and less: none. `Int.max`: no limit.
  ///
  /// - Complexity: O(1).
  public var countLimit: Int {
    get { store.limits.withLock { $0.count } }
    set { store.changeLimits { $0.count = max(0, newValue) } }
  }

  /// How long entries live that have no expiration of their own.
  ///
  /// A change holds for the entries that are there, too, counted from when they were
  /// written; but an ``LarderCore/Expiration/afterAccess`` only for those written from now on.
  ///
  /// - Complexity: O(1). The next flush that removes what expired looks at every entry once.
  public var expiration: Expiration {
    get { store.limits.withLock { $0.expiration } }
    set { store.changeLimits { $0.expiration = newValue } }
  }
}
