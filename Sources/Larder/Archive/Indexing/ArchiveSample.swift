// SPDX-License-Identifier: MIT

import LarderCore

/// What some elements of an archive's folder tell about those who stored them.
struct ArchiveSample {
  /// How many elements were looked at.
  var count = 0
  /// How many of them can be decoded.
  var decodable = 0
  /// How many are found by something else than what the indexes give for them now.
  var differing = 0
  /// How many lie under another key than that of their `id`.
  var misplaced = 0
  /// How many of those of an earlier version do: a migration moves them.
  var movable = 0
  /// Of the first one that cannot be decoded.
  var failure: (any Error)?
  fileprivate var bytes = 0
}

extension Archive {
  /// Looks at elements all over the folder, at others each time; at all of them if they are few.
  func takeSample() throws -> ArchiveSample {
    var sample = ArchiveSample()
    if sampleCount <= 0 { return sample }
    if try store.totals().count <= sampleCount {
      try look(StoreSelection(), upTo: sampleCount, &sample)
      return sample
    }
    var last = StoreSelection()
    last.isDescending = true
    guard let low = try look(StoreSelection(), upTo: 2, &sample),
      let high = try look(last, upTo: 2, &sample)
    else { return sample }
    // Halves of what lies between two keys, the widest first.
    var gaps = [(low: low, high: high)]
    var next = 0
    while next < gaps.count, next < 2 * sampleCount, sample.count < sampleCount {
      let gap = gaps[next]
      next += 1
      guard let middle = Self.key(between: gap.low, gap.high) else { continue }
      gaps.append((gap.low, middle))
      var selection = StoreSelection()
      selection.setLower(middle)
      selection.setUpper(gap.high, isExclusive: true)
      if let found = try look(selection, upTo: 2, &sample) { gaps.append((found, gap.high)) }
    }
    return sample
  }

  /// Looks at the first elements of a selection.
  ///
  /// - Returns: The key of the last one that was looked at; nil if there was none.
  @discardableResult
  private func look(
    _ selection: StoreSelection, upTo count: Int, _ sample: inout ArchiveSample
  ) throws -> [UInt8]? {
    // Of large elements fewer are enough.
    let mostBytes = 4 << 20
    var key: [UInt8]?
    var left = count
    var cursor = try StoreCursor(store, selection)
    while left > 0, sample.bytes < mostBytes,
      try cursor.next({ entry in
        key = [UInt8](entry.key)
        sample.bytes += entry.value.count
        look(entry, &sample)
      })
    { left -= 1 }
    return key
  }

  private func look(_ entry: StoreEntry, _ sample: inout ArchiveSample) {
    sample.count += 1
    switch compare(entry) {
    case .same: break
    case .differing: sample.differing += 1
    case .unindexed: break
    case .misplaced:
      if isCurrent(entry.extended) { sample.misplaced += 1 } else { sample.movable += 1 }
    case .undecodable(let failure, let isMarked):
      if !isMarked { sample.differing += 1 }
      if sample.failure == nil { sample.failure = failure }
      return
    }
    sample.decodable += 1
  }

  /// What an element is found by, beside what the indexes give for it.
  func compare(_ entry: StoreEntry) -> ArchiveMatch {
    let stored = entry.indexValues
    let isUnindexed = stored == [ArchiveIndex<Element>.unindexed]
    do {
      let element = try decodeToMove(entry)
      if !keyCoder.finds(entry.key, by: element.id) { return .misplaced }
      if isUnindexed { return .unindexed }
      return Self.sorted(stored) == Self.sorted(indexValues(of: element)) ? .same : .differing
    } catch {
      return .undecodable(error, isMarked: isUnindexed || declaredIndexes.isEmpty)
    }
  }

  /// In whatever order they were declared.
  private static func sorted(_ values: [StoreIndexValue]) -> [StoreIndexValue] {
    values.sorted { $0.index < $1.index }
  }

  /// A key between two others, about in the middle; nil if they are as good as neighbours.
  static func key(between low: [UInt8], _ high: [UInt8]) -> [UInt8]? {
    let shared = zip(low, high).prefix { $0 == $1 }.count
    func number(_ key: [UInt8]) -> UInt64 {
      (0..<8).reduce(0) { $0 << 8 | UInt64(shared + $1 < key.count ? key[shared + $1] : 0) }
    }
    let (from, to) = (number(low), number(high))
    guard to > from, to - from > 7 else { return nil }
    let eighth = (to - from) / 8
    let middle = from + 3 * eighth + .random(in: 0...2 * eighth)
    return high.prefix(shared) + (0..<8).map { UInt8(truncatingIfNeeded: middle >> (56 - 8 * $0)) }
  }
}

/// What an element is found by, beside what the indexes give for it.
enum ArchiveMatch {
  case same
  case differing
  /// In no index, although it can be decoded.
  case unindexed
  /// It lies under another key than that of its `id`, which may find another element.
  case misplaced
  /// It cannot be decoded; `isMarked`: and is in no index.
  case undecodable(any Error, isMarked: Bool)
}

extension ArchiveSample {
  /// Refuses a folder most of whose elements have another `id` now than they are stored under; and
  /// one whose elements get another by a migration, which somebody else has to do.
  func checkKeys(_ path: String, _ id: Any.Type, isReadOnly: Bool) throws(LarderError) {
    let moved = isReadOnly ? movable : 0
    if 2 * (misplaced + moved) <= decodable { return }
    throw LarderError(
      .configurationMismatch,
      """
      Could not open \(path): \(misplaced + moved) of the \(count) elements that were looked at \
      lie under another key than that of their id of type \(id). \(moved > 0
        ? "Open it for writing first, which migrates it"
        : "Open it with the element type that it was written with"); nothing was changed.
      """)
  }

  /// Refuses a folder whose elements are obviously of another type.
  func check(_ path: String, _ element: Any.Type) throws {
    guard count > 0, decodable == 0, let failure else { return }
    throw LarderError(
      .configurationMismatch,
      """
      Could not open \(path): none of the \(count) elements that were looked at can be decoded as \
      \(element). \((failure as? LarderError)?.message ?? "") Open it with the type that it was \
      written with, or set the configuration's `undecodable` to `.skip`.
      """, cause: (failure as? LarderError)?.cause ?? failure)
  }
}
