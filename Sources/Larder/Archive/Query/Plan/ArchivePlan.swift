// SPDX-License-Identifier: MIT

/// How a query is going to be answered.
struct ArchivePlan<Element: Sendable>: Sendable {
  /// Whose order elements are found in; nil: that of the primary keys.
  var index: ArchiveIndex<Element>?
  /// Of the index.
  var range = ArchiveRange()
  /// By value. Elements of one value come in the order of their primary keys all the same.
  var isDescending = false
  /// The sort that the index's order stands for; elements of one value are still sorted by
  /// these if there are several, or if the value is too long for the index.
  var sorting: [ArchiveSortKey<Element>]?
  /// Filters at the beginning.
  var filters: [ArchiveTerm<Element>] = []
  /// What comes after them.
  var stages: [ArchiveStage<Element>] = []
  /// Whether a sort that follows has to know the primary keys, because elements are not found
  /// in their order.
  var needsKeys = false

  /// Whether what is found is what the filters let through, so that no element has to be
  /// looked at to count them.
  var isCovered: Bool {
    if filters.isEmpty { return true }
    guard let index, range.isExact else { return false }
    return filters.allSatisfy { index.isOf($0.property?.keyPath) }
  }

  /// How many results there can be at most.
  var limit: Int? { Self.limit(of: stages[...]) }

  /// How many elements have to get through the stages until no more can; nil if that depends
  /// on the elements, or there is no limit.
  static func limit(of stages: ArraySlice<ArchiveStage<Element>>, _ wanted: Int? = nil) -> Int? {
    var skipped = 0
    for stage in stages {
      switch stage {
      case .skip(let count): skipped = saturatingSum(skipped, count)
      case .limit(let count): return saturatingSum(skipped, count)
      case .filter, .sort: return nil
      }
    }
    return wanted.map { saturatingSum(skipped, $0) }
  }

  private static func saturatingSum(_ a: Int, _ b: Int) -> Int {
    let (sum, overflows) = a.addingReportingOverflow(b)
    return overflows ? .max : sum
  }

  func selection(descends: Bool) -> StoreSelection {
    var selection = StoreSelection()
    selection.isDescending = descends
    if let index {
      selection.index = index.number
      range.apply(to: &selection)
    }
    return selection
  }
}

extension ArchiveIndex {
  /// Whether the index is one of that property.
  func isOf(_ property: PartialKeyPath<Element>?) -> Bool {
    guard let property else { return false }
    return keyPath as PartialKeyPath<Element> == property
  }
}
