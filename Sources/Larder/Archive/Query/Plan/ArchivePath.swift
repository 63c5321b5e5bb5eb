// SPDX-License-Identifier: MIT

/// A way to elements: by an index or by primary key, and to which part of it.
struct ArchivePath: Sendable {
  /// nil: by primary key.
  var index: ArchiveIndexShape?
  /// In order, and apart from each other; none: there is nothing to be found.
  var ranges = everything
  /// What the ranges are made of, of each of the index's first properties, to be shown.
  var shown: [ArchiveRanges] = []
  /// How many of the index's first properties have one value each.
  var fixedCount = 0
  /// The properties of which it takes into account all that is known.
  var used: [Int] = []
  /// How much it leaves out, as far as one can tell.
  var strength = 0
  /// Whether what it finds is what the facts allow that it takes into account.
  var isExact = true

  private static let everything = [ArchiveRange()]

  /// Whether elements are found in the order of their primary keys.
  var isInOrderOfKeys: Bool { index.map { fixedCount == $0.parts.count } ?? true }

  /// As in `age >= 18 and age < 65`; nil if it is everything.
  var description: String? {
    let parts = shown.enumerated().compactMap { number, ranges in
      ranges.description(of: label(number)).map {
        ranges.parts.count > 1 && shown.count > 1 ? "(\($0))" : $0
      }
    }
    return parts.isEmpty ? nil : parts.joined(separator: " and ")
  }

  private func label(_ number: Int) -> String {
    guard let index else { return "id" }
    if index.parts.count == 1 { return index.name }
    let name = index.parts[number].name.drop { $0 != "." }.dropFirst()
    return name.isEmpty || name.contains("<") ? "\(index.name)[\(number)]" : "\(name)"
  }
}

/// How the elements of a query are found.
@usableFromInline
struct ArchiveRoute: Sendable {
  /// One after the other. Of several, what one found already the others leave out.
  var paths = [ArchivePath()]
  var isDescending = false
  /// Whether elements are found in the order that the query's first sort asks for…
  @usableFromInline var isSorted = false
  /// …but for those that share so many of the index's first properties, which are still to be
  /// sorted; nil if there are none.
  var sharedCount: Int?
  /// Whether elements are found in another order than that of their primary keys.
  var needsKeys = false
  /// Whether what is found is what the filters let through.
  var isComplete = false
  /// How many rows were counted for it.
  var counted = 0
  /// After so many elements without enough results it is given up for the next one.
  var budget = Int.max
  /// What is tried after it.
  var others: [ArchiveRoute] = []

  /// - Parameter other: What is tried if the budget is not enough.
  static func byKey(budget: Int, else other: ArchiveRoute) -> ArchiveRoute {
    var route = ArchiveRoute()
    route.budget = budget
    route.others = [other]
    route.counted = other.counted
    return route
  }

  /// What finds the same in another way: in the end in any order, to be sorted.
  var next: ArchiveRoute {
    let other = others.first ?? self
    return ArchiveRoute(
      paths: other.paths, needsKeys: true, isComplete: other.isComplete, counted: counted)
  }
}
