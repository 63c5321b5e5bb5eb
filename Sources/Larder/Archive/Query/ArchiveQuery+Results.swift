// SPDX-License-Identifier: MIT

extension ArchiveQuery {
  /// Runs the query.
  ///
  /// - Returns: The results, in their order; possibly none.
  /// - Throws: What filters throw; `.invalidArgument` (a pattern that is no regular
  ///   expression), `.decoding`, `.closed`, `.io`; `.damaged`, with the primary key in the
  ///   message, if an element that would have to be looked at is, and
  ///   ``ArchiveConfiguration/undecodable-swift.property`` is not `.skip`.
  /// - Complexity: O(log n + elements looked at), which an index or a limit keeps few, and what
  ///   decoding them takes; O(elements · log elements) for a sort without an index.
  @inlinable
  public func results() throws -> [Element] { try runAll(makeFetch()) }

  /// Runs the query, on a thread of the archive's own.
  ///
  /// - Returns: The results, in their order; possibly none.
  /// - Throws: `CancellationError`; what filters throw; `.invalidArgument` (a pattern that is
  ///   no regular expression), `.decoding`, `.closed`, `.damaged`, `.io`.
  /// - Complexity: As the synchronous form, and a change of threads.
  @inlinable
  public func results() async throws -> [Element] { try await runAll(makeFetch()) }

  /// Runs the query until there is a result.
  ///
  /// - Returns: The first result; nil if there is none.
  /// - Throws: As the form for all results.
  /// - Complexity: O(log n + elements looked at), and what decoding them takes.
  @inlinable
  public func first() throws -> Element? { try runFirst(makeFetch()) }

  /// Runs the query until there is a result, on a thread of the archive's own.
  ///
  /// - Returns: The first result; nil if there is none.
  /// - Throws: `CancellationError`; what filters throw; `.invalidArgument`, `.decoding`,
  ///   `.closed`, `.damaged`, `.io`.
  /// - Complexity: As the synchronous form, and a change of threads.
  @inlinable
  public func first() async throws -> Element? { try await runFirst(makeFetch()) }

  /// Runs the query for its last result.
  ///
  /// - Returns: The last result; nil if there is none.
  /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.closed`, `.damaged`,
  ///   `.io`.
  /// - Complexity: As for the first result if there are only filters, and a sort that an
  ///   index does; otherwise that of all results.
  @inlinable
  public func last() throws -> Element? { try runLast(makeFetch()) { true } }

  /// Counts the results.
  ///
  /// If there are no filters, or one index says all that they say, no element is read or
  /// decoded: then one whose bytes are damaged counts, too. But all are decoded where
  /// ``ArchiveConfiguration/undecodable-swift.property`` is `.skip`, and those count that can be.
  ///
  /// - Returns: How many results there are. Expired elements do not count.
  /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.closed`, `.damaged`,
  ///   `.io`.
  /// - Complexity: O(log n + elements counted), and what decoding takes if it is needed;
  ///   without filters O(elements written since the last flush, and expired ones that are still
  ///   there). With a limit of age each element is read.
  public func count() throws -> Int { try runCount() }
}
