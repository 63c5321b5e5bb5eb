// SPDX-License-Identifier: MIT

import LarderCore

extension DiskCache {
  /// Deletes the cache in a folder that is closed, and the folder if nothing else is in it.
  ///
  /// ```swift
  /// try cache.close()
  /// try DiskCache<String, Data>.delete(at: .path(path))
  /// ```
  ///
  /// Works for a cache of any keys and values, also for one that is damaged. Files that are not the
  /// cache's stay. Without a cache in the folder, or a folder, nothing happens. Who has the cache
  /// open for reading goes on with what it had.
  ///
  /// - Parameter location: The cache's folder.
  /// - Throws: `.busy` (it is open for writing, here or in another process), `.notALarderFile`,
  ///   `.incompatibleVersion`, `.configurationMismatch` (it is an archive or a cache of entries):
  ///   nothing was deleted; `.io`.
  /// - Complexity: O(segments of the log).
  public static func delete(at location: StoreLocation) throws {
    try StoreFiles.deleteCache(location.path(in: userDirectory))
  }
}
