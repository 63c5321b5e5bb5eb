// SPDX-License-Identifier: MIT

/// How a query was answered, and how much had to be looked at for it.
///
/// ```swift
/// print(try archive.findWhere { $0.age(.greater(than: 30)) }
///   .sorted(by: \.age).limitResults(by: 10).explain())
/// // index age, age > 30, sorted by it: 10 results, 10 elements looked at, 10 decoded
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveExplanation: Sendable, Hashable, CustomStringConvertible {
  /// The name of the index that was used; nil if elements were looked at one after the other,
  /// in the order of their primary keys.
  public let index: String?

  /// Which part of the index, as in `age >= 18 and age < 65`; nil if all of it, or no index.
  public let range: String?

  /// Whether the index's order is the one that the query asks for, so that nothing had to be
  /// sorted but elements that one value does not tell apart.
  public let isSortedByIndex: Bool

  /// Whether the index was gone through from its end.
  public let isDescending: Bool

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
    let plan = outcome.plan
    index = plan.index?.name
    range = plan.index.flatMap { plan.range.description(of: $0.name) }
    isSortedByIndex = plan.sorting != nil
    isDescending = plan.isDescending
    examined = outcome.examined
    decoded = outcome.decoded
    undecodable = outcome.undecodable
    count = outcome.count
  }

  /// All of that in one line.
  public var description: String {
    var way = index.map { "index \($0)" } ?? "scan"
    if let range { way += ", \(range)" }
    if isSortedByIndex { way += isDescending ? ", sorted by it, descending" : ", sorted by it" }
    let left = undecodable > 0 ? ", \(undecodable) that cannot be decoded left out" : ""
    return "\(way): \(count) results, \(examined) elements looked at, \(decoded) decoded\(left)"
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

  /// Runs the query, on a thread of the archive's own, and says how that was done.
  ///
  /// - Returns: The index that was used, if any, and how much was looked at.
  /// - Throws: `CancellationError`; what filters throw; `.invalidArgument`, `.decoding`,
  ///   `.closed`, `.damaged`, `.io`.
  /// - Complexity: As the synchronous form, and a change of threads.
  public func explain() async throws -> ArchiveExplanation {
    try await archive.executor.runCancellable { goesOn in
      ArchiveExplanation(try self.run(isCounting: true, goesOn: goesOn))
    }
  }
}
