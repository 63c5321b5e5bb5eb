// SPDX-License-Identifier: MIT

public import Foundation

/// A question to an ``Archive``: stages that run in the order in which they are written.
///
/// ```swift
/// let adults = try archive
///   .where { $0.age >= 18 && $0.name.contains("an") }
///   .sorted(by: \.age, .reverse)
///   .limit(10)
///   .results()
/// ```
///
/// A limit that is written before a filter limits what the filter gets to see.
///
/// **Indexes.** Filters at the beginning that say something about an indexed property are
/// answered by its ``ArchiveIndex``, equality before ranges; and a first sort by an indexed
/// property by the order of the index, so that a limit behind it ends the search early. Which
/// one was used says `explain()`.
///
/// **Order.** Elements come in the order of their primary keys' bytes until they are sorted,
/// whatever index finds them; those that a sort leaves alike stay in the order that they had.
/// Without a sort, a query with a limit may have to find the keys of all that an index has in a
/// range, but decodes only what the filters and the limit need.
///
/// **What it sees.** Everything written before the call, flushed or not, and nothing written
/// after it began. Expired elements are not seen. A query leaves no trace in the
/// order of use. Elements that are in memory in their version are not decoded again where memory
/// has room for all; see ``ArchiveConfiguration/memorySizeLimit``.
///
/// **Concurrency.** A value; safe to pass between threads. It keeps its archive open.
public struct ArchiveQuery<Element: Identifiable & Sendable>: Sendable
where Element.ID: Codable & Sendable & SendableMetatype {
  @usableFromInline let archive: Archive<Element>
  @usableFromInline var stages: [ArchiveStage<Element>]
  /// Whose writes the query sees besides what is stored.
  @usableFromInline var transaction: ArchiveTransaction<Element>?

  @inlinable
  init(
    archive: Archive<Element>, stages: [ArchiveStage<Element>] = [],
    transaction: ArchiveTransaction<Element>? = nil
  ) {
    self.archive = archive
    self.stages = stages
    self.transaction = transaction
  }

  @inlinable
  func adding(_ stage: ArchiveStage<Element>) -> ArchiveQuery {
    var query = self
    query.stages.append(stage)
    return query
  }
}

/// One step of a query.
@usableFromInline
enum ArchiveStage<Element: Sendable>: Sendable {
  case filter([ArchiveTerm<Element>])
  case sort([ArchiveSortKey<Element>])
  case limit(Int)
  case skip(Int)
}

extension Archive {
  /// A query without stages: every element, in the order of the primary keys' bytes.
  @inlinable public var query: ArchiveQuery<Element> { ArchiveQuery(archive: self) }
}

// MARK: - Filters

extension ArchiveQuery {
  /// Lets elements through whose properties meet a condition.
  ///
  /// ```swift
  /// books.where { $0.year > 1800 && $0.author != nil }
  /// ```
  ///
  /// - Parameter condition: Gets the properties of an element, and compares some.
  /// - Returns: The query, longer by a stage. An index helps; see ``ArchiveCondition``.
  /// - Complexity: O(comparisons).
  @inlinable
  public func `where`(
    _ condition: (ArchiveProperties<Element>) throws -> ArchiveCondition<Element>
  ) rethrows -> ArchiveQuery {
    `where`(try condition(ArchiveProperties()))
  }

  /// Lets elements through that meet a condition.
  ///
  /// ```swift
  /// books.where(\.year > 1800 && \.author != nil)
  /// ```
  ///
  /// - Parameter condition: Comparisons of key paths, or any other condition.
  /// - Returns: The query, longer by a stage. An index helps; see ``ArchiveCondition``.
  /// - Complexity: O(comparisons).
  @inlinable
  public func `where`(_ condition: ArchiveCondition<Element>) -> ArchiveQuery {
    adding(.filter(condition.terms))
  }

  /// Lets elements through for which a predicate holds.
  ///
  /// ```swift
  /// books.where(#Predicate { $0.year > 1800 && $0.author != nil })
  /// ```
  ///
  /// - Parameter predicate: As `#Predicate` makes it. What it throws comes out of the query.
  /// - Returns: The query, longer by a stage. An index helps with comparisons of a property
  ///   with a constant, by themselves or joined by `&&`, `||` and `!`.
  /// - Complexity: O(size of the predicate).
  public func `where`(_ predicate: Predicate<Element>) -> ArchiveQuery {
    adding(.filter(ArchivePredicate.terms(predicate)))
  }

  /// Lets elements through that a closure finds.
  ///
  /// - Parameter isIncluded: Whether an element will do. What it throws comes out of the
  ///   query.
  /// - Returns: The query, longer by a stage. No index helps with it.
  /// - Complexity: O(1).
  @inlinable
  public func filter(_ isIncluded: @escaping @Sendable (Element) throws -> Bool) -> ArchiveQuery {
    adding(.filter([ArchiveTerm { try isIncluded($0) }]))
  }
}

// MARK: - Limits

extension ArchiveQuery {
  /// Lets so many elements through.
  ///
  /// - Parameter count: How many at most. 0 and less: none.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(1).
  @inlinable
  public func limit(_ count: Int) -> ArchiveQuery { adding(.limit(Swift.max(0, count))) }

  /// Leaves out the first elements.
  ///
  /// - Parameter count: How many. 0 and less: none.
  /// - Returns: The query, longer by a stage. What is left out is read all the same: to go
  ///   through many pages see ``pages(of:)``.
  /// - Complexity: O(1).
  @inlinable
  public func skip(_ count: Int) -> ArchiveQuery { adding(.skip(Swift.max(0, count))) }
}
