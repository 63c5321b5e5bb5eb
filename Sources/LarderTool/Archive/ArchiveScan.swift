// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// One pass over an archive: filters, sorts, limits and prints.
///
/// Without an order it prints as it reads, and stops at the limit. With one it keeps what may still
/// be printed: with a limit, no more than twice that much, so that the ten largest of many million
/// elements need little memory.
struct ArchiveScan {
  /// What is asked for.
  enum Wanted { case elements, keys, count }

  /// An element that may be printed.
  private struct Candidate {
    let values: [FieldValue]
    /// Among equal ones, the primary key decides.
    let ordinal: Int
    let line: [UInt8]
  }

  let format: ElementFormat
  private let conditions: [FieldCondition]
  private let ignoresCase: Bool
  private let sort: [FieldPath]
  private let isDescending: Bool
  private let skip: UInt64
  private let limit: UInt64
  private let wanted: Wanted
  private var candidates: [Candidate] = []
  private var text = CBORText()

  /// Fields that were asked for and that no element had, as far as was read.
  private var unseen: [FieldPath]
  /// Conditions that no element's field was of the right type for so far, and what the first one
  /// that had the field had to say.
  private var unproven: [(condition: FieldCondition, misfit: String?)]
  /// Not if the limit ended it before.
  private var readsAll = true

  /// Elements that were looked at.
  private(set) var read = 0
  /// Elements that are not of the format.
  private(set) var unreadable = 0
  /// Elements that met all conditions.
  private(set) var matched = 0
  /// Elements of which something was printed.
  private(set) var printed = 0
  /// What is wrong with the first element that was left out because it is damaged.
  private(set) var damage: LarderError?

  init(
    format: ElementFormat, conditions: [FieldCondition], ignoresCase: Bool, sort: [FieldPath],
    isDescending: Bool, skip: UInt64, limit: UInt64, wanted: Wanted
  ) {
    self.format = format
    self.conditions = conditions
    self.ignoresCase = ignoresCase
    self.sort = wanted == .count ? [] : sort
    self.isDescending = isDescending
    self.skip = skip
    self.limit = limit
    self.wanted = wanted
    unproven = conditions.map { ($0, nil) }
    unseen = []
    for path in conditions.map(\.path) + sort where !unseen.contains(path) { unseen.append(path) }
  }

  /// Fields that were asked for and that no element of the archive has.
  var unknownFields: [String] {
    readsAll && read > unreadable ? unseen.map(\.text) : []
  }

  /// What is wrong with a condition, if no element could have met it for the type of its field.
  var misfit: String? { unproven.lazy.compactMap(\.misfit).first }

  /// - Parameter print: Gets lines with their newlines.
  mutating func run(
    over archive: RawCache, _ keys: CacheKeys, print: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    if limit == 0 {
      readsAll = false
      return
    }
    let order: StoreOrder = isDescending && sort.isEmpty ? .byKeyDescending : .byKey
    do {
      try archive.forEachEntry(.all, order: order) { try take($0, keys, print) }
    } catch let error as LarderError where error.code == .damaged {
      damage = error
    }
    arrange(&candidates)
    for candidate in candidates.dropFirst(Int(clamping: skip)).prefix(Int(clamping: limit)) {
      try candidate.line.withUnsafeBytes(print)
      printed += 1
    }
  }

  /// - Returns: Whether to go on.
  private mutating func take(
    _ entry: DiskCacheEntry<Data, Data>, _ keys: CacheKeys,
    _ print: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    read += 1
    guard let value = try? format.value(entry.value) else {
      unreadable += 1  // Told to the caller, who says so.
      return true
    }
    if !unseen.isEmpty { unseen.removeAll { $0.value(in: value) != nil } }
    if !unproven.isEmpty { prove(by: value) }
    guard conditions.allSatisfy({ $0.isMet(by: value, ignoresCase: ignoresCase) }) else {
      return true
    }
    matched += 1
    if sort.isEmpty {
      if matched <= skip { return true }
      try line(entry.key, value, keys).withUnsafeBytes(print)
      printed += 1
      readsAll = UInt64(printed) < limit
      return readsAll
    }
    candidates.append(
      Candidate(
        values: sort.map { FieldValue($0.value(in: value)) }, ordinal: matched,
        line: line(entry.key, value, keys)))
    dropHopeless()
    return true
  }

  private mutating func prove(by element: CBORValue) {
    unproven = unproven.compactMap { condition, misfit in
      guard let field = condition.path.value(in: element), FieldValue(field) != .null else {
        return (condition, misfit)
      }
      guard let found = condition.misfit(field) else { return nil }
      return (condition, misfit ?? found)
    }
  }

  private mutating func line(_ key: Data, _ value: CBORValue, _ keys: CacheKeys) -> [UInt8] {
    switch wanted {
    case .count: return []
    case .keys: return Array("\(keys.text(key))\n".utf8)
    case .elements:
      text.convert(value)
      return text.json + [UInt8(ascii: "\n")]
    }
  }

  /// Forgets candidates that so many others come before that they cannot be printed.
  private mutating func dropHopeless() {
    let (needed, overflows) = skip.addingReportingOverflow(limit)
    guard !overflows, needed < 1 << 30, candidates.count >= 2 * Int(needed) + 1024 else { return }
    arrange(&candidates)
    candidates.removeSubrange(Int(needed)...)
  }

  private func arrange(_ candidates: inout [Candidate]) {
    candidates.sort { left, right in
      for (left, right) in zip(left.values, right.values) where left != right {
        if left < right { return !isDescending }
        if right < left { return isDescending }
      }
      return left.ordinal < right.ordinal
    }
  }
}
