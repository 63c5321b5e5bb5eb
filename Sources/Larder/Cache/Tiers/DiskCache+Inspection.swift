// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

extension DiskCache {
  /// Calls a closure with what is known of one entry after the other, for lists that do
  /// not fit in memory. Values in files are not touched.
  ///
  /// - Parameter body: Says whether to go on.
  /// - Returns: What is wrong with the first entry that was left out because it is damaged, if the
  ///   body did not say no.
  package func forEachInfo(
    _ selection: DiskCacheSelection<Key>, order: StoreOrder,
    _ body: (DiskCacheInfo<Key>) throws -> Bool
  ) throws -> LarderError? {
    let limits = currentLimits
    return try forEachStored(selection, order, withValues: false) { entry in
      try body(DiskCacheInfo(entry, try keyCoder.decode(entry.key), limits))
    }
  }
}
