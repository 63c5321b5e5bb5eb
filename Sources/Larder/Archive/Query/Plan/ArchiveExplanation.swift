// SPDX-License-Identifier: MIT

/// How a query was answered, and how much had to be looked at for it.
///
/// ```swift
/// print(try archive.where { $0.age > 30 }.sorted(by: \.age).limit(10).explain())
/// // index age, age > 30, sorted by it: 10 results, 10 elements looked at, 10 decoded
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveExplanation: Sendable, Hashable, CustomStringConvertible {
  /// The name of the index that was used, the first of several; nil if elements were found by
  /// their primary keys, or looked at one after the other in the order of these.
  public let index: String?

  /// Whether elements were found by their primary keys.
  public let isByPrimaryKey: Bool

  /// Which part of the index, as in `age >= 18 and age < 65`, or of the primary keys; nil if all
  /// of it.
  public let range: String?

  /// What was put together, as in `index name, name == "Ada"`, if alternatives (`||`) were found
  /// by an index each; otherwise empty.
  public let union: [String]

  /// Whether the order of the index, or of the primary keys, is the one that the query asks for,
  /// so that nothing had to be sorted but elements that one value does not tell apart.
  public let isSortedByIndex: Bool

  /// Whether the index was gone through from its end.
  public let isDescending: Bool

  /// Whether what was found had to be tested once more, because the ranges do not say all that
  /// the filters do.
  public let isFiltered: Bool

  /// How many rows of indexes were counted to choose among several.
  public let counted: Int

  /// How many elements were found, and looked at as far as the plan needs it.
  public let examined: Int

  /// How many of them were decoded.
  public let decoded: Int

  /// How many elements were left out because they cannot be decoded, and whoever opened the archive
  /// asked for that: those that the index leaves out, and those that were met.
  public let undecodable: Int

  /// How many results there were.
  public let count: Int

  init<Element>(_ outcome: ArchiveOutcome<Element>) {
    let route = outcome.plan.route
    let path = route.paths.first ?? ArchivePath()
    index = route.paths.lazy.compactMap { $0.index?.name }.first
    range = route.paths.count == 1 ? path.description : nil
    isByPrimaryKey = route.paths.count == 1 && path.index == nil && !path.shown.isEmpty
    union = route.paths.count == 1 ? [] : route.paths.map(Self.way)
    isSortedByIndex = route.isSorted
    isDescending = route.isDescending
    isFiltered = !outcome.plan.filters.isEmpty && !route.isComplete
    counted = route.counted
    examined = outcome.examined
    decoded = outcome.decoded
    undecodable = outcome.undecodable
    count = outcome.count
  }

  /// All of that in one line.
  public var description: String {
    var way = union.isEmpty ? ArchiveExplanation.way(index, isByPrimaryKey, range) : "union of "
    way += union.joined(separator: "; ")
    if isSortedByIndex { way += isDescending ? ", sorted by it, descending" : ", sorted by it" }
    if isFiltered, index != nil || isByPrimaryKey { way += ", filtered" }
    if counted > 0 { way += ", chosen by \(counted) rows" }
    let left = undecodable > 0 ? ", \(undecodable) that cannot be decoded left out" : ""
    return "\(way): \(count) results, \(examined) elements looked at, \(decoded) decoded\(left)"
  }

  private static func way(_ path: ArchivePath) -> String {
    way(path.index?.name, path.index == nil, path.description)
  }

  private static func way(_ index: String?, _ isByKey: Bool, _ range: String?) -> String {
    let name = index.map { "index \($0)" } ?? (isByKey ? "primary key" : "scan")
    return range.map { "\(name), \($0)" } ?? name
  }
}

extension ArchiveQuery {
  /// Runs the query, and says how that was done.
  ///
  /// - Returns: The index that was used, if any, and how much was looked at.
  /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.closed`, `.damaged`,
  ///   `.io`.
  /// - Complexity: That of the query.
  public func explain() throws -> ArchiveExplanation {
    ArchiveExplanation(try run(isCounting: true))
  }
}
