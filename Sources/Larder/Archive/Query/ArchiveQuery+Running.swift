// SPDX-License-Identifier: MIT

import Synchronization

/// What a query gave, and what it took.
struct ArchiveOutcome<Element: Sendable>: Sendable {
  var plan: ArchivePlan<Element>
  var rows: [ArchiveRow<Element>] = []
  var count = 0
  var examined = 0
  var decoded = 0
  var undecodable = 0
}

extension ArchiveQuery {
  /// Runs the query.
  ///
  /// - Parameters:
  ///   - wanted: How many results are enough; nil for all.
  ///   - isCounting: Whether results are only counted.
  ///   - fetch: Makes elements, if memory has room for all of them; nil: the coder does.
  ///   - goesOn: Asked now and then.
  func run(
    wanted: Int? = nil, isCounting: Bool = false, fetch: ArchiveFetch<Element>? = nil,
    goesOn: @escaping @Sendable () -> Bool = { true }
  ) throws -> ArchiveOutcome<Element> {
    if let transaction {
      return try transaction.run(
        self, wanted: wanted, isCounting: isCounting, fetch: fetch, goesOn: goesOn)
    }
    return try archive.withCurrentIndexes { try runOnce(wanted, isCounting, fetch, goesOn) }
  }

  private func runOnce(
    _ wanted: Int?, _ isCounting: Bool, _ fetch: ArchiveFetch<Element>?,
    _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> ArchiveOutcome<Element> {
    let plan = try ArchivePlan(stages, of: archive, wanted: wanted)
    return try run(plan, wanted, isCounting, fetch, goesOn)
  }

  private func run(
    _ plan: ArchivePlan<Element>, _ wanted: Int?, _ isCounting: Bool,
    _ fetch: ArchiveFetch<Element>?, _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> ArchiveOutcome<Element> {
    let walk = ArchiveWalk(archive: archive, plan: plan)
    walk.goesOn = goesOn
    if let fetch, try archive.fitsIntoMemory { walk.fetch = fetch }
    walk.isLimited = wanted != nil || plan.limit != nil
    var outcome = ArchiveOutcome(plan: plan)
    var pipeline = ArchivePipeline(plan.stages, wanted: wanted)
    pipeline.isCounting = isCounting
    if pipeline.isOver { return outcome }
    try walk.run { try pipeline.add($0) }
    try pipeline.finish()
    outcome.count = pipeline.count
    outcome.rows = pipeline.take()
    outcome.examined = walk.examined
    outcome.decoded = walk.decoded
    outcome.undecodable = walk.undecodable
    return outcome
  }

  /// The results of a plan, whatever it is.
  @usableFromInline
  func runAny(
    _ plan: ArchivePlan<Element>, wanted: Int?, _ fetch: ArchiveFetch<Element>?,
    _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element] {
    try run(plan, wanted, false, fetch, goesOn).rows.map { $0.element }
  }

  /// All results.
  @inlinable
  func runAll(_ fetch: @escaping ArchiveFetch<Element>) throws -> [Element] {
    try runResults(wanted: nil, fetch) { true }
  }

  /// All results, on a thread of the archive's own.
  @inlinable
  func runAll(_ fetch: @escaping ArchiveFetch<Element>) async throws -> [Element] {
    try await archive.executor.runCancellable { goesOn in
      try self.runResults(wanted: nil, fetch, goesOn)
    }
  }

  /// The first result.
  @inlinable
  func runFirst(_ fetch: @escaping ArchiveFetch<Element>) throws -> Element? {
    try runResults(wanted: 1, fetch) { true }.first
  }

  /// The last result: the first one back to front, if nothing behind the filters counts.
  func runLast(goesOn: @escaping @Sendable () -> Bool = { true }) throws -> Element? {
    if transaction != nil { return try run(goesOn: goesOn).rows.last?.element }
    return try archive.withCurrentIndexes { try runLastOnce(goesOn) }
  }

  private func runLastOnce(_ goesOn: @escaping @Sendable () -> Bool) throws -> Element? {
    let plan = try ArchivePlan(stages, of: archive, wanted: 1)
    guard plan.stages.isEmpty, plan.route.paths.count == 1 else {
      return try run(goesOn: goesOn).rows.last?.element
    }
    let walk = ArchiveWalk(archive: archive, plan: plan)
    walk.goesOn = goesOn
    walk.isLimited = true
    walk.isReversed = true
    var last: Element?
    try walk.run { row in
      last = row.element
      return false
    }
    return last
  }

  /// Counts the results.
  func runCount(goesOn: @escaping @Sendable () -> Bool = { true }) throws -> Int {
    if transaction != nil { return try run(isCounting: true, goesOn: goesOn).count }
    return try archive.withCurrentIndexes { try runCountOnce(goesOn) }
  }

  private func runCountOnce(_ goesOn: @escaping @Sendable () -> Bool) throws -> Int {
    var query = self
    // How a sort turns out matters if a filter gets to see a part of it only.
    let lastFilter = stages.lastIndex { if case .filter = $0 { true } else { false } } ?? 0
    query.stages = stages.enumerated().compactMap { number, stage in
      if case .sort = stage, number > lastFilter { nil } else { stage }
    }
    let plan = try ArchivePlan(query.stages, of: archive, wanted: nil)
    let isAllInNumbers = plan.stages.allSatisfy {
      switch $0 {
      case .limit, .skip: true
      case .filter, .sort: false
      }
    }
    guard isAllInNumbers, plan.route.isComplete, plan.route.paths.count == 1 else {
      return try query.run(isCounting: true, goesOn: goesOn).count
    }
    let format = archive.store.indexFormat.load(ordering: .acquiring)
    if plan.route.paths[0].index != nil { _ = try archive.unindexedCount() }
    let found = try archive.catalog.count(plan.route.paths[0], upTo: plan.limit ?? .max)
    if format != archive.store.indexFormat.load(ordering: .acquiring) {
      return try runCountOnce(goesOn)
    }
    return plan.stages.reduce(found) { count, stage in
      switch stage {
      case .limit(let limit): Swift.min(count, limit)
      case .skip(let skipped): Swift.max(0, count - skipped)
      case .filter, .sort: count
      }
    }
  }
}
