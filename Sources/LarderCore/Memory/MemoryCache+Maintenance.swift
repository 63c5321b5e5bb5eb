// SPDX-License-Identifier: MIT

extension MemoryCache {
  /// How often expired entries are looked for in the background. 0 and less: never.
  ///
  /// There is a task for it only while something can expire. It does not keep the cache.
  ///
  /// - Complexity: O(1).
  public var autoTrimInterval: Duration {
    get { trimmer.interval }
    set {
      trimmer.setInterval(newValue)
      if trimmer.isWanted, index.isTimed { startTrimming() }
    }
  }

  @usableFromInline @inline(never)
  func startTrimming() {
    trimmer.start { [weak self] in
      guard let self else { return false }
      removeExpired()
      return index.isTimed
    }
  }

  /// For tests: a sentence on what contradicts something else in the index; nil if
  /// nothing does.
  ///
  /// - Complexity: O(n).
  package func contradiction() -> String? {
    index.beginWriting()
    defer { index.endWriting() }
    return index.contradiction()
  }
}
