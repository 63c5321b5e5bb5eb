// SPDX-License-Identifier: MIT

// Queries of a transaction: what the store has, with what the transaction wrote laid over it.

extension ArchiveTransaction {
  /// Runs a query that was begun by this transaction.
  func run(
    _ query: ArchiveQuery<Element>, wanted: Int?, isCounting: Bool,
    fetch: ArchiveFetch<Element>?, goesOn: @escaping @Sendable () -> Bool
  ) throws -> ArchiveOutcome<Element> {
    let written = try written()
    var stored = query
    stored.transaction = nil
    if written.isEmpty {
      return try stored.run(wanted: wanted, isCounting: isCounting, fetch: fetch, goesOn: goesOn)
    }
    let (filters, rest) = query.leadingFilters
    // Of what comes first, the store's elements that were written here are to be left away.
    let limit = ArchivePlan<Element>.limit(of: rest.drop(while: \.isSort), wanted)
    let (most, overflows) = (limit ?? .max).addingReportingOverflow(written.count)
    let sorts = rest.prefix(while: \.isSort)
    stored.stages = Array(query.stages.prefix(query.stages.count - rest.count) + sorts)
    var outcome = try stored.run(
      wanted: limit == nil || overflows ? nil : most, fetch: fetch, goesOn: goesOn)
    var rows = outcome.rows.filter { written[$0.element.id] == nil }
    for index in rows.indices {
      let key = try archive.keyCoder.own(rows[index].element.id)
      rows[index].place = ArchivePlace(value: [], key: key.bytes)
    }
    let isIncluded = ArchiveTerm.all(filters)
    for known in written.values {
      guard let element = known.element, try isIncluded(element) else { continue }
      let place = ArchivePlace(value: [], key: known.key.bytes)
      rows.append(ArchiveRow(element: element, version: 0, place: place))
    }
    // As everywhere, alike elements are in the order of their primary keys.
    rows = rows.sorted(by: ArchiveRow.order(by: []))
    var pipeline = ArchivePipeline(Array(rest), wanted: wanted)
    pipeline.isCounting = isCounting
    if !pipeline.isOver {
      for row in rows where try !pipeline.add(row) { break }
      try pipeline.finish()
    }
    outcome.count = pipeline.count
    outcome.rows = pipeline.take()
    return outcome
  }

  func update(
    _ query: ArchiveQuery<Element>, _ body: (inout Element) throws -> Void
  ) throws -> Int {
    let rows = try query.run().rows
    for row in rows { try update(id: row.element.id, body) }
    return rows.count
  }

  func delete(_ query: ArchiveQuery<Element>) throws -> Int {
    let rows = try query.run().rows
    for row in rows { try delete(id: row.element.id) }
    return rows.count
  }
}

extension ArchiveQuery {
  @usableFromInline
  func runInTransaction(
    _ wanted: Int?, _ fetch: @escaping ArchiveFetch<Element>,
    _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element] {
    try run(wanted: wanted, fetch: fetch, goesOn: goesOn).rows.map { $0.element }
  }

  /// The filters that come before all else, and the stages behind them.
  fileprivate var leadingFilters: ([ArchiveTerm<Element>], ArraySlice<ArchiveStage<Element>>) {
    var filters: [ArchiveTerm<Element>] = []
    var rest = stages[...]
    while case .filter(let terms)? = rest.first {
      filters += terms
      rest.removeFirst()
    }
    return (filters, rest)
  }
}

extension ArchiveStage {
  fileprivate var isSort: Bool { if case .sort = self { true } else { false } }
}
