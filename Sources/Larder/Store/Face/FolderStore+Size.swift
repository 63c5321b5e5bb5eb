// SPDX-License-Identifier: MIT

public import LarderCore

extension FolderStore {
  /// How many entries there are, including expired ones that were not removed yet; of an
  /// ``Archive`` how many elements.
  ///
  /// - Throws: `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(1), and once for each write since the last call O(log n).
  public var count: Int {
    get throws { Int(clamping: try access.handle.totals().count) }
  }

  /// How many encoded bytes all values have together, likewise.
  ///
  /// What keys, indexes and the files themselves take is not part of it: see
  /// ``StoreStatistics/dataSize``.
  ///
  /// - Throws: As ``count``.
  /// - Complexity: As ``count``.
  public var size: DataSize {
    get throws { DataSize(bytes: Int(clamping: try access.handle.totals().bytes)) }
  }

  /// Whether ``count`` is 0.
  ///
  /// - Throws: As ``count``.
  /// - Complexity: As ``count``.
  public var isEmpty: Bool {
    get throws { try count == 0 }
  }
}
