// SPDX-License-Identifier: MIT

import LarderCore

extension ArchiveQuery {
  /// The results, some at a time.
  ///
  /// ```swift
  /// var pages = archive.sorted(by: \.date, .reverse).pages(of: 20)
  /// while let page = try await pages.next() { show(page) }
  ///
  /// for try await page in archive.query.pages(of: 100) { try upload(page) }
  /// ```
  ///
  /// A page that an index or the primary keys put into order is read when it is asked for, from
  /// behind the last element of the one before: it costs the same however far behind it is, and
  /// sees what was written until then. An element that meanwhile got another place in the order
  /// can come twice or not at all. Where elements have to be sorted first, all of that happens
  /// with the first page, and the others show that moment, too.
  ///
  /// - Parameter size: How many results a page has, but for the last. Less than 1 counts as 1.
  /// - Returns: The pages.
  /// - Complexity: O(1).
  @inlinable
  public func pages(of size: Int) -> ArchivePages<Element> {
    ArchivePages(query: self, size: Swift.max(1, size)) { goesOn in
      try self.runResults(wanted: nil, self.makeFetch(), goesOn)
    }
  }

  /// One page of the results; to go through many, ``pages(of:)`` is faster.
  ///
  /// - Parameters:
  ///   - number: Which page; the first is 0. One before it is empty.
  ///   - size: How many results a page has. 0 and less: none.
  /// - Returns: The results; none behind the last page.
  /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.closed`, `.damaged`,
  ///   `.io`.
  /// - Complexity: As for all results up to the end of the page.
  public func page(_ number: Int, size: Int) throws -> [Element] {
    try single(number, size)?.results() ?? []
  }

  /// One page of the results, on a thread of the archive's own; to go through many,
  /// ``pages(of:)`` is faster.
  ///
  /// - Parameters:
  ///   - number: Which page; the first is 0. One before it is empty.
  ///   - size: How many results a page has. 0 and less: none.
  /// - Returns: The results; none behind the last page.
  /// - Throws: `CancellationError`; what filters throw; `.invalidArgument`, `.decoding`,
  ///   `.closed`, `.damaged`, `.io`.
  /// - Complexity: As the synchronous form, and a change of threads.
  public func page(_ number: Int, size: Int) async throws -> [Element] {
    try await single(number, size)?.results() ?? []
  }

  private func single(_ number: Int, _ size: Int) -> ArchiveQuery? {
    let (skipped, overflows) = number.multipliedReportingOverflow(by: size)
    if number < 0 || size <= 0 || overflows { return nil }
    return skip(skipped).limit(size)
  }
}

/// The results of a query, some at a time; see ``ArchiveQuery/pages(of:)``.
///
/// **Concurrency.** A value with a place of its own; safe to pass between threads, and used by
/// one at a time.
public struct ArchivePages<Element: Identifiable & Sendable>: Sendable
where Element.ID: Codable & Sendable & SendableMetatype {
  private let query: ArchiveQuery<Element>
  private let size: Int
  /// Finds all results, where they have to be sorted.
  private let findAll: @Sendable (@escaping @Sendable () -> Bool) throws -> [Element]
  private var plan: ArchivePlan<Element>?
  private var pipeline: ArchivePipeline<Element>
  /// Behind which the next page begins.
  private var place: ArchivePlace?
  /// How many results have been handed over.
  private var given = 0
  /// What is left of results that were all there at once.
  private var rest: ArraySlice<Element>?
  private var isOver = false

  @usableFromInline
  init(
    query: ArchiveQuery<Element>, size: Int,
    _ findAll: @escaping @Sendable (@escaping @Sendable () -> Bool) throws -> [Element]
  ) {
    self.query = query
    self.size = size
    self.findAll = findAll
    pipeline = ArchivePipeline([], wanted: size)
  }

  /// The next page.
  ///
  /// - Returns: The results, at least one; nil if there are no more.
  /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.closed`, `.damaged`,
  ///   `.io`. A later call tries again.
  /// - Complexity: O(log n + elements looked at), for each page; see ``ArchiveQuery/pages(of:)``.
  public mutating func next() throws -> [Element]? { try step { true } }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  public mutating func next() async throws -> [Element]? {
    let pages = self
    let (page, later) = try await query.archive.executor.runCancellable { goesOn in
      var pages = pages
      let page = try pages.step(goesOn)
      return (page, pages)
    }
    self = later
    return page
  }

  mutating func step(_ goesOn: @escaping @Sendable () -> Bool) throws -> [Element]? {
    if isOver { return nil }
    do { return try stepOnce(goesOn) } catch let error as LarderError
      where error.cause is StoreHasOtherIndexes
    {
      // Places in an index that is gone lead nowhere.
      rest = try findAll(goesOn).dropFirst(given)
      return try stepOnce(goesOn)
    }
  }

  private mutating func stepOnce(_ goesOn: @escaping @Sendable () -> Bool) throws -> [Element]? {
    var page: [Element]?
    if rest == nil {
      let plan = try plan ?? makePlan()
      if query.transaction == nil && plan.isContinuous && place?.isExact ?? true {
        page = try read(plan, goesOn)
      }
      if page == nil {
        rest = try findAll(goesOn).dropFirst(given)
      }
    }
    if let rest {
      page = Array(rest.prefix(size))
      self.rest = rest.dropFirst(size)
    }
    guard let page else { return nil }
    given += page.count
    isOver = page.count < size
    return page.isEmpty ? nil : page
  }

  private mutating func makePlan() throws -> ArchivePlan<Element> {
    let archive = query.archive
    let plan = try ArchivePlan(
      query.stages, of: archive, wanted: size, usesIndexes: archive.indexesAreCurrent)
    self.plan = plan
    pipeline = ArchivePipeline(plan.stages, wanted: size)
    return plan
  }

  /// Goes on behind the last place.
  ///
  /// - Returns: nil if all that is left has to be sorted.
  private mutating func read(
    _ plan: ArchivePlan<Element>, _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element]? {
    let walk = ArchiveWalk(archive: query.archive, plan: plan)
    walk.goesOn = goesOn
    walk.isLimited = true
    walk.wantsPlaces = true
    // Changed only when the page is complete, so that a failure leaves all as it is.
    var pipeline = pipeline
    var last = place
    if pipeline.isOver { return [] }
    try walk.run(after: place) { row in
      last = row.place
      return try pipeline.add(row)
    }
    if walk.gaveUp { return nil }
    let page = pipeline.take().map { $0.element }
    self.pipeline = pipeline
    place = last
    return page
  }
}

extension ArchivePlan {
  /// Whether a page can begin after any result.
  fileprivate var isContinuous: Bool {
    if route.sharedCount != nil || route.paths.count > 1 || ordersByKey { return false }
    if route.budget < .max { return false }
    return stages.allSatisfy { if case .sort = $0 { false } else { true } }
  }
}

extension ArchivePages: AsyncSequence {
  /// A page.
  public typealias AsyncIterator = Iterator

  /// Begins with the page that is next.
  ///
  /// - Returns: An iterator with a place of its own.
  /// - Complexity: O(1).
  public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

  /// One way through the pages.
  ///
  /// **Concurrency.** Belongs to one task at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var pages: ArchivePages

    /// The next page, read on a thread of the archive's own.
    ///
    /// - Returns: The results, at least one; nil if there are no more.
    /// - Throws: `CancellationError`; what filters throw; `.invalidArgument`, `.decoding`,
    ///   `.closed`, `.damaged`, `.io`.
    /// - Complexity: As the synchronous form, and a change of threads.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> [Element]? {
      try await pages.next()
    }
  }
}
