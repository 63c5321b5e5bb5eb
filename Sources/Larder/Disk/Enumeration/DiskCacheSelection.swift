// SPDX-License-Identifier: MIT

/// Which entries of a cache on disk are meant: all, those in a range of keys, or those
/// whose keys begin alike.
///
/// ```swift
/// let march = try cache.entries(.range("2026-03-01"..<"2026-04-01"))
/// let pages = try cache.keys(.prefix("https://swift.org/"))
/// ```
///
/// Ranges want a ``KeyCoder/keepsOrder``, prefixes a ``KeyCoder/keepsPrefixes``.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DiskCacheSelection<Key: Sendable>: Sendable {
  struct Bound: Sendable {
    var key: Key
    var isExclusive = false
  }

  var lower: Bound?
  var upper: Bound?
  var prefix: Key?

  private init(lower: Bound? = nil, upper: Bound? = nil, prefix: Key? = nil) {
    self.lower = lower
    self.upper = upper
    self.prefix = prefix
  }

  /// Every entry.
  ///
  /// - Complexity: O(1).
  public static var all: DiskCacheSelection { DiskCacheSelection() }

  /// The entries whose keys begin with another key.
  ///
  /// - Parameter prefix: What the keys begin with; an empty one begins every key.
  /// - Returns: A selection.
  /// - Complexity: O(1).
  public static func prefix(_ prefix: Key) -> DiskCacheSelection {
    DiskCacheSelection(prefix: prefix)
  }

  /// The selection in the terms of the store: of the keys as they are stored, and then of those
  /// that earlier versions stored in another form of the bounds.
  ///
  /// - Throws: `.invalidArgument` if the coder's bytes do not keep what it is about.
  func raw(_ coder: KeyCoder<Key>, _ order: StoreOrder) throws -> [StoreSelection] {
    let raw = StoreSelection(order)
    if raw.isByRecency, lower != nil || upper != nil || prefix != nil {
      throw LarderError(
        .invalidArgument, "A range of keys or a prefix is listed by key, not by use.")
    }
    if lower != nil || upper != nil, !coder.keepsOrder {
      throw LarderError(
        .invalidArgument,
        "The key coder of \(Key.self) does not preserve the order of keys, so ranges do not work.")
    }
    if prefix != nil, !coder.keepsPrefixes {
      throw LarderError(
        .invalidArgument,
        "The key coder of \(Key.self) does not preserve prefixes; select by key instead."
      )
    }
    let lowers = try lower.map { try coder.own($0.key).allForms } ?? []
    let uppers = try upper.map { try coder.own($0.key).allForms } ?? []
    let prefixes = try prefix.map { try coder.own($0).allForms } ?? []
    return (0..<max(1, lowers.count, uppers.count, prefixes.count)).map { form in
      var raw = raw
      if let lower {
        raw.setLower(lowers[min(form, lowers.count - 1)], isExclusive: lower.isExclusive)
      }
      if let upper {
        raw.setUpper(uppers[min(form, uppers.count - 1)], isExclusive: upper.isExclusive)
      }
      if prefix != nil { raw.prefix = prefixes[min(form, prefixes.count - 1)] }
      return raw
    }
  }
}

extension StoreSelection {
  /// Everything in an order.
  init(_ order: StoreOrder) {
    isByRecency = order == .leastRecentFirst || order == .mostRecentFirst
    isDescending = order == .byKeyDescending || order == .mostRecentFirst
  }
}

extension DiskCacheSelection where Key: Comparable {
  /// The keys from one bound up to another, which does not belong to them.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A selection.
  /// - Complexity: O(1).
  public static func range(_ range: Range<Key>) -> DiskCacheSelection {
    DiskCacheSelection(
      lower: Bound(key: range.lowerBound), upper: Bound(key: range.upperBound, isExclusive: true))
  }

  /// The keys from one bound through another.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A selection.
  /// - Complexity: O(1).
  public static func range(_ range: ClosedRange<Key>) -> DiskCacheSelection {
    DiskCacheSelection(
      lower: Bound(key: range.lowerBound), upper: Bound(key: range.upperBound))
  }

  /// The keys from a bound on.
  ///
  /// - Parameter range: The bound.
  /// - Returns: A selection.
  /// - Complexity: O(1).
  public static func range(_ range: PartialRangeFrom<Key>) -> DiskCacheSelection {
    DiskCacheSelection(lower: Bound(key: range.lowerBound))
  }

  /// The keys up to a bound, which does not belong to them.
  ///
  /// - Parameter range: The bound.
  /// - Returns: A selection.
  /// - Complexity: O(1).
  public static func range(_ range: PartialRangeUpTo<Key>) -> DiskCacheSelection {
    DiskCacheSelection(upper: Bound(key: range.upperBound, isExclusive: true))
  }

  /// The keys through a bound.
  ///
  /// - Parameter range: The bound.
  /// - Returns: A selection.
  /// - Complexity: O(1).
  public static func range(_ range: PartialRangeThrough<Key>) -> DiskCacheSelection {
    DiskCacheSelection(upper: Bound(key: range.upperBound))
  }
}
