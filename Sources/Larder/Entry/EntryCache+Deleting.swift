// SPDX-License-Identifier: MIT

import LarderCore

extension EntryCache {
  /// Closes the cache and deletes its files, and the folder, if nothing else is in it.
  ///
  /// Files that are not the cache's stay. So does whatever lies at its path once its own folder
  /// was moved or deleted. Snapshots stay good. Deleting twice is harmless.
  ///
  /// - Throws: `.readOnly`, and `.replaced` (the folder that was opened does not lie there any
  ///   more), and then nothing has changed; `.busy` (it was closed before, and somebody else has it
  ///   open for writing: nothing was deleted); `.io`.
  /// - Complexity: O(segments of the log).
  public func delete() throws {
    if isReadOnly {
      throw LarderError(.readOnly, "The cache at \(path) was opened for reading only.")
    }
    try store.handle.delete(others: { EntrySpool.clean($0) }) {
      if isClosed { return }
      // That all entries are gone at once matters to others who read them and if we crash
      // below. If it fails, the files are deleted all the same.
      try? store.handle.removeAll(progress: nil)
      try store.close()
    }
  }

  /// As the synchronous form, on a thread of the cache's own: closes the cache and deletes
  /// its files.
  ///
  /// - Throws: `.readOnly`, `.replaced`, `.busy`, `.io`.
  /// - Complexity: O(segments of the log).
  public func delete() async throws { try await store.executor.runAnyway { try self.delete() } }
}
