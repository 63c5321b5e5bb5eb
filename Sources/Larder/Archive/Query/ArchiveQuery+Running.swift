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
    return try archive.withCurrentIndexes { usesIndexes in
      let plan = try ArchivePlan(stages, of: archive, wanted: wanted, usesIndexes: usesIndexes)
      return try run(plan, wanted, isCounting, fetch, goesOn)
    }
  }

  private func run(
    _ plan: ArchivePlan<Element>, _ wanted: Int?, _ isCounting: Bool,
    _ fetch: ArchiveFetch<Element>?, _ goesOn: @escaping @Sendable () -> Bool,
    after earlier: ArchiveOutcome<Element>? = nil
  ) throws -> ArchiveOutcome<Element> {
    let walk = ArchiveWalk(archive: archive, plan: plan)
    walk.goesOn = goesOn
    if let fetch, try archive.fitsIntoMemory { walk.fetch = fetch }
    walk.isLimited = wanted != nil || plan.limit != nil
    var outcome = ArchiveOutcome(plan: plan)
    var pipeline = ArchivePipeline(plan.stages, wanted: wanted)
    pipeline.isCounting = isCounting
    if pipeline.isOver { return outcome }
    try walk.run { row in
      var row = row
      // As behind any sort, the next one keeps the order, and not that of the keys.
      if plan.sorting != nil { row.place = nil }
      return try pipeline.add(row)
    }
    outcome.examined = walk.examined + (earlier?.examined ?? 0)
    outcome.decoded = walk.decoded + (earlier?.decoded ?? 0)
    if walk.gaveUp {
      return try run(plan.next, wanted, isCounting, fetch, goesOn, after: outcome)
    }
    try pipeline.finish()
    outcome.count = pipeline.count
    outcome.rows = pipeline.take()
    outcome.undecodable = walk.undecodable
    return outcome
  }

  /// The results of a plan, whatever it is.
  @usableFromInline
  func runAny(
    _ plan: ArchivePlan<Element>, wanted: Int?, _ fetch: ArchiveFetch<Element>?,
    _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element] {
    // A scan has spent its budget already.
    let plan = plan.route.budget < .max ? plan.next : plan
    return try run(plan, wanted, false, fetch, goesOn).rows.map { $0.element }
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

  /// The first result, on a thread of the archive's own.
  @inlinable
  func runFirst(_ fetch: @escaping ArchiveFetch<Element>) async throws -> Element? {
    try await archive.executor.runCancellable { goesOn in
      try self.runResults(wanted: 1, fetch, goesOn).first
    }
  }

  /// The last result: the first one back to front, if nothing behind the filters counts.
  @inlinable
  func runLast(
    _ fetch: @escaping ArchiveFetch<Element>, goesOn: @escaping @Sendable () -> Bool
  ) throws -> Element? {
    if transaction == nil, let last = try runReversed(goesOn) { return last }
    return try runResults(wanted: nil, fetch, goesOn).last
  }

  /// The first result back to front, if there is one; nil if it need not be the last one.
  @usableFromInline
  func runReversed(_ goesOn: @escaping @Sendable () -> Bool) throws -> Element?? {
    try archive.withCurrentIndexes { try runReversedOnce(goesOn, usesIndexes: $0) }
  }

  private func runReversedOnce(
    _ goesOn: @escaping @Sendable () -> Bool, usesIndexes: Bool
  ) throws -> Element?? {
    var plan = try ArchivePlan(stages, of: archive, wanted: 1, usesIndexes: usesIndexes)
    while plan.stages.isEmpty, plan.route.paths.count == 1 || plan.ordersByKey {
      let walk = ArchiveWalk(archive: archive, plan: plan)
      walk.goesOn = goesOn
      walk.isLimited = true
      walk.isReversed = true
      var last: Element?
      try walk.run { row in
        last = row.element
        return false
      }
      if !walk.gaveUp { return .some(last) }
      plan = plan.next
    }
    return nil
  }

  /// Counts the results.
  func runCount(goesOn: @escaping @Sendable () -> Bool = { true }) throws -> Int {
    if transaction != nil { return try run(isCounting: true, goesOn: goesOn).count }
    return try archive.withCurrentIndexes { try runCountOnce(goesOn, usesIndexes: $0) }
  }

  private func runCountOnce(
    _ goesOn: @escaping @Sendable () -> Bool, usesIndexes: Bool
  ) throws -> Int {
    var query = self
    // How a sort turns out matters if a filter gets to see a part of it only.
    let lastFilter = stages.lastIndex { if case .filter = $0 { true } else { false } } ?? 0
    query.stages = stages.enumerated().compactMap { number, stage in
      if case .sort = stage, number > lastFilter { nil } else { stage }
    }
    // Which elements get through a limit matters only if a filter comes behind it.
    let isAllInNumbers = query.stages.drop { $0.isFilter }.allSatisfy(\.isInNumbers)
    let plan = try ArchivePlan(
      query.stages, of: archive, wanted: nil, usesIndexes: usesIndexes, inOrder: !isAllInNumbers)
    guard isAllInNumbers, archive.needsNoElements(for: plan.route) else {
      return try query.run(plan, nil, true, nil, goesOn).count
    }
    let format = archive.store.indexFormat.load(ordering: .acquiring)
    if plan.route.paths[0].index != nil { _ = try archive.unindexedCount() }
    let found = try archive.catalog.count(plan.route.paths[0], upTo: plan.limit ?? .max)
    if format != archive.store.indexFormat.load(ordering: .acquiring) {
      return try runCountOnce(goesOn, usesIndexes: archive.indexesAreCurrent)
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

extension Archive {
  /// Whether all that a route finds are results, and what it finds needs no look: of elements that
  /// are left out, only decoding tells.
  func needsNoElements(for route: ArchiveRoute) -> Bool {
    route.isComplete && route.paths.count == 1 && undecodable == .fail
  }
}

extension ArchiveStage {
  fileprivate var isFilter: Bool { if case .filter = self { true } else { false } }

  fileprivate var isInNumbers: Bool {
    switch self {
    case .limit, .skip: true
    case .filter, .sort: false
    }
  }
}
