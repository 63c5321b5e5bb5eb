// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

extension DiskCache {
  /// Calls a closure with what is known of one entry after the other, for lists that do
  /// not fit in memory. Values in files are not touched.
  ///
  /// - Parameter body: Says whether to go on.
  package func forEachInfo(
    _ selection: DiskCacheSelection<Key>, order: DiskCacheOrder,
    _ body: (DiskCacheInfo<Key>) throws -> Bool
  ) throws {
    let limits = currentLimits
    var raw = try selection.raw(keyCoder, order)
    raw.isWithoutValues = true
    var cursor = try StoreCursor(store, raw)
    var goesOn = true
    while goesOn,
      try cursor.next({ entry in
        goesOn = try body(DiskCacheInfo(entry, try keyCoder.decode(entry.key), limits))
      })
    {}
  }
}
