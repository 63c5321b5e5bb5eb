// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What these tests ask for.
struct Volume: Codable, Identifiable, Equatable, Sendable {
  enum Kind: Int, Codable, CaseIterable, ArchiveIndexable { case novel = 3, poem = 1, play = 2 }
  struct Place: Codable, Equatable, Sendable { var city: String }

  var id: Int
  var author = "Ada"
  var year = 1850
  var rating: Int?
  var kind = Kind.novel
  var place: Place?
  var isOut = false
  var score = 0.0
  /// Unique, where it is indexed.
  var mark: Int?

  /// Of the next version of the schema.
  var later: Volume {
    var later = self
    later.year = (year + 3) % 8
    later.rating = rating.map { $0 - 1 } ?? 2
    return later
  }

  static let single: [ArchiveIndex<Volume>] = [
    ArchiveIndex("author", \.author), ArchiveIndex("year", \.year),
    ArchiveIndex("rating", \.rating), ArchiveIndex("kind", \.kind),
    ArchiveIndex("city", \.place?.city), ArchiveIndex("out", \.isOut),
    ArchiveIndex("score", \.score), ArchiveIndex("mark", \.mark, isUnique: true),
  ]
  static let compound: [ArchiveIndex<Volume>] = [
    ArchiveIndex("authorYear", \.author, \.year),
    ArchiveIndex("ratingAuthorYear", \.rating, \.author, \.year),
    ArchiveIndex("kindYearRatingScore", \.kind, \.year, \.rating, \.score),
    ArchiveIndex("authorMark", \.author, \.mark, isUnique: true),
  ]
}

/// Random queries, of all that an index can help with, over archives with various indexes, beside
/// arrays: what they find, change and delete, in transactions, too, and behind migrations.
struct ArchivePlannerModelTests {
  private typealias Expression = any StandardPredicateExpression<Bool>
  private typealias Variable = PredicateExpressions.Variable<Volume>

  /// A condition, for an archive and for an array.
  private struct Condition {
    var name: String
    var expression: (Variable) -> Expression
    var isMet: (Volume) -> Bool
  }

  private struct Sort {
    var name: String
    var order: SortOrder
    var add: (ArchiveQuery<Volume>) -> ArchiveQuery<Volume>
    var isBefore: (Volume, Volume) -> Bool
  }

  private static let indexes: [[ArchiveIndex<Volume>]] = [
    [], [Volume.single[1]], Volume.single, Volume.compound, Volume.single + Volume.compound,
  ]

  private static let authors = [
    "", "A", "Ada", "Ada\u{0}", "Ad\u{0}a", "B", "é", "e\u{301}", "\u{E9}a", "z",
  ]
  private var random = SeededGenerator(seed: 4_711)

  @Test(arguments: 0..<5) mutating func queriesFindWhatArraysDo(indexes: Int) throws {
    random = SeededGenerator(seed: 4_711 + UInt64(indexes))
    for round in 0..<effort(3, long: 3, sanitized: 1) {
      let place = try CitizenPlace()
      var version = 1
      func open() throws -> Archive<Volume> {
        let step = ArchiveMigration(from: version - 1, Volume.self) { $0.later }
        return try Archive<Volume>(
          at: .path(place.directory.file("\(indexes)").path), indexes: Self.indexes[indexes],
          schema: .init(version: version, migrations: version == 1 ? [] : [step]),
          configuration: configuration)
      }
      var archive = try open()
      var model: [Int: Volume] = [:]
      for step in 0..<effort(20, long: 60) {
        for _ in 0..<Int.random(in: 0...30, using: &random) {
          try change(&model, archive, indexes)
        }
        let change = "change \(step) of round \(round), indexes \(indexes), seed \(random.seed)"
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: try changeAll(&model, archive, change)
        case 2, 3: try changeAtOnce(&model, archive, indexes, change)
        case 4:
          try archive.close()
          version += 1
          archive = try open()
          model = model.mapValues(\.later)
        default: break
        }
        // Nothing is pending, all is, or some of it.
        if round == 0 || (round == 1 && step % 3 == 0) { try archive.checkpoint() }
        let name = "indexes \(indexes), round \(round), step \(step), seed \(random.seed)"
        let all = model.values.sorted { $0.id < $1.id }
        for _ in 0..<4 { try query(archive, all, name) }
      }
      #expect(try archive.verify().isIntact, "\(indexes)")
    }
  }

  private var configuration: ArchiveConfiguration {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 4 << 20
    return configuration
  }

  private mutating func query(
    _ archive: Archive<Volume>, _ all: [Volume], _ name: String
  ) throws {
    let condition = makeCondition(depth: 3)
    let predicate = Predicate<Volume> { condition.expression($0) }
    let sorts = makeSorts()
    let name = "\(condition.name), by \(sorts.map { "\($0.name) \($0.order)" }): \(name)"
    let matching = all.filter(condition.isMet)
    let query = archive.where(predicate)
    let found = try query.results()
    #expect(found == matching, "\(name)")
    #expect(try query.count() == matching.count, "\(name)")
    #expect(try query.pages(of: 5).all().flatMap { $0 } == matching, "\(name)")
    #expect(try query.first() == matching.first, "\(name)")
    #expect(try query.last() == matching.last, "\(name)")
    let sorted = Self.sort(matching, sorts)
    let (skipped, limit) = (
      Int.random(in: 0..<3, using: &random), Int.random(in: 1..<20, using: &random)
    )
    let some = Array(matching.dropFirst(skipped).prefix(limit))
    let unsorted = query.skip(skipped).limit(limit)
    #expect(try unsorted.results() == some, "\(name)")
    #expect(try unsorted.count() == some.count, "\(name)")
    #expect(try unsorted.last() == some.last, "\(name)")
    #expect(
      try unsorted.filter { $0.isOut }.results() == some.filter(\.isOut), "\(name)")
    #expect(try unsorted.filter { $0.isOut }.count() == some.filter(\.isOut).count, "\(name)")

    let inOrder = sorts.reversed().reduce(query) { $1.add($0) }
    #expect(try inOrder.results() == sorted, "\(name)")
    #expect(try inOrder.first() == sorted.first, "\(name)")
    #expect(try inOrder.last() == sorted.last, "\(name)")
    #expect(
      try inOrder.skip(skipped).limit(limit).results()
        == Array(sorted.dropFirst(skipped).prefix(limit)), "\(name)")
    #expect(try inOrder.pages(of: limit).all().flatMap { $0 } == sorted, "\(name)")
    let (best, again) = (Array(sorted.prefix(limit)), makeSort())
    #expect(
      try again.add(inOrder.limit(limit)).results() == Self.sort(best, [again]),
      "then by \(again.name) \(again.order): \(name)")
    let explanation = try inOrder.explain()
    #expect(explanation.count == sorted.count, "\(name)")
  }

  /// What is alike stays as it is.
  private static func sort(_ volumes: [Volume], _ sorts: [Sort]) -> [Volume] {
    volumes.enumerated().sorted { a, b in
      for sort in sorts {
        if sort.isBefore(a.element, b.element) { return sort.order == .forward }
        if sort.isBefore(b.element, a.element) { return sort.order == .reverse }
      }
      return a.offset < b.offset
    }.map(\.element)
  }

  /// Whether an index is unique, and another volume has what this one has in it.
  private static func collides(_ volume: Volume, _ model: [Int: Volume], _ indexes: Int) -> Bool {
    guard indexes >= 2, let mark = volume.mark else { return false }
    return model.values.contains { other in
      other.id != volume.id && other.mark == mark
        && (indexes != 3 || other.author == volume.author)
    }
  }

  private mutating func change(
    _ model: inout [Int: Volume], _ archive: Archive<Volume>, _ indexes: Int
  ) throws {
    let id = Int.random(in: -40..<40, using: &random)
    if Int.random(in: 0..<5, using: &random) == 0 {
      model[id] = nil
      try archive.delete(id: id)
      return
    }
    let volume = makeVolume(id)
    let collides = Self.collides(volume, model, indexes)
    #expect(errorCode { try archive.upsert(volume) } == (collides ? .duplicate : nil))
    if !collides { model[id] = volume }
  }

  private mutating func makeVolume(_ id: Int) -> Volume {
    Volume(
      id: id, author: pick(Self.authors), year: Int.random(in: 0..<8, using: &random),
      rating: Bool.random(using: &random) ? nil : Int.random(in: -1..<4, using: &random),
      kind: pick(Volume.Kind.allCases),
      place: Bool.random(using: &random) ? nil : Volume.Place(city: pick(Self.authors)),
      isOut: Bool.random(using: &random), score: pick([-1, -0.0, 0, 0.5, 2]),
      mark: Bool.random(using: &random) ? nil : Int.random(in: 0..<60, using: &random))
  }

  /// Changes or deletes what a query finds.
  private mutating func changeAll(
    _ model: inout [Int: Volume], _ archive: Archive<Volume>, _ name: String
  ) throws {
    let condition = makeCondition(depth: 2)
    let found = model.values.filter(condition.isMet)
    let query = archive.where(Predicate<Volume> { condition.expression($0) })
    if Bool.random(using: &random) {
      for volume in found { model[volume.id] = nil }
      #expect(try query.delete() == found.count, "\(condition.name): \(name)")
    } else {
      for volume in found { model[volume.id] = volume.later }
      #expect(try query.update { $0 = $0.later } == found.count, "\(condition.name): \(name)")
    }
  }

  /// Changes several in a transaction, which sees its writes, and of which the outcome counts.
  private mutating func changeAtOnce(
    _ model: inout [Int: Volume], _ archive: Archive<Volume>, _ indexes: Int, _ name: String
  ) throws {
    let written = (0..<4).map { _ in makeVolume(Int.random(in: -40..<40, using: &random)) }
    let deleted = written[0].id
    var changed = model
    for volume in written { changed[volume.id] = volume }
    changed[deleted] = nil
    let (condition, sort) = (makeCondition(depth: 2), makeSort())
    let expected = Self.sort(
      changed.values.filter(condition.isMet).sorted { $0.id < $1.id }, [sort])
    let collides = changed.values.contains { Self.collides($0, changed, indexes) }
    var found: [Volume]?
    let code = errorCode {
      found = try archive.transaction { archive in
        for volume in written { try archive.upsert(volume) }
        try archive.delete(id: deleted)
        return try sort.add(archive.where(Predicate<Volume> { condition.expression($0) }))
          .results()
      }
    }
    #expect(code == (collides ? .duplicate : nil), "\(name)")
    if collides { return }
    model = changed
    #expect(found == expected, "\(condition.name), by \(sort.name): \(name)")
  }

  private mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: values.indices, using: &random)]
  }

  // MARK: - Sorts

  private mutating func makeSorts() -> [Sort] {
    (0..<Int.random(in: 1...3, using: &random)).map { _ in makeSort() }
  }

  private mutating func makeSort() -> Sort {
    let order = Int.random(in: 0..<3, using: &random) == 0 ? SortOrder.reverse : .forward
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      return Sort(name: "id", order: order, add: { $0.sorted(by: \.id, order) }) { $0.id < $1.id }
    case 1, 2:
      return Sort(name: "author", order: order, add: { $0.sorted(by: \.author, order) }) {
        $0.author.precedes($1.author)
      }
    case 3:
      return Sort(name: "rating", order: order, add: { $0.sorted(by: \.rating, order) }) {
        ($0.rating ?? -9) < ($1.rating ?? -9)
      }
    default:
      return Sort(name: "year", order: order, add: { $0.sorted(by: \.year, order) }) {
        $0.year < $1.year
      }
    }
  }

  // MARK: - Conditions

  private mutating func makeCondition(depth: Int) -> Condition {
    let kind = depth == 0 ? 9 : Int.random(in: 0..<10, using: &random)
    if kind > 5 { return makeLeaf() }
    let a = makeCondition(depth: depth - 1)
    if kind == 5 {
      return Condition(
        name: "!(\(a.name))", expression: { Self.not(a.expression($0)) }, isMet: { !a.isMet($0) })
    }
    let b = makeCondition(depth: depth - 1)
    let isBoth = kind < 3
    return Condition(
      name: "(\(a.name) \(isBoth ? "&&" : "||") \(b.name))",
      expression: { variable in
        let (a, b) = (a.expression(variable), b.expression(variable))
        return isBoth ? Self.and(a, b) : Self.or(a, b)
      },
      isMet: { isBoth ? a.isMet($0) && b.isMet($0) : a.isMet($0) || b.isMet($0) })
  }

  private static func not(_ a: Expression) -> Expression {
    func open(_ a: some StandardPredicateExpression<Bool>) -> Expression {
      PredicateExpressions.build_Negation(a)
    }
    return open(a)
  }

  private static func and(_ a: Expression, _ b: Expression) -> Expression {
    func open(
      _ a: some StandardPredicateExpression<Bool>, _ b: some StandardPredicateExpression<Bool>
    ) -> Expression { PredicateExpressions.build_Conjunction(lhs: a, rhs: b) }
    return open(a, b)
  }

  private static func or(_ a: Expression, _ b: Expression) -> Expression {
    func open(
      _ a: some StandardPredicateExpression<Bool>, _ b: some StandardPredicateExpression<Bool>
    ) -> Expression { PredicateExpressions.build_Disjunction(lhs: a, rhs: b) }
    return open(a, b)
  }

  private mutating func makeLeaf() -> Condition {
    let number = Int.random(in: -1..<9, using: &random)
    let end = max(number, Int.random(in: -1..<9, using: &random))
    let key = Int.random(in: -45..<45, using: &random)
    let text = pick(Self.authors)
    let numbers = [number, end, number / 2]
    let fraction = Double(number) / 2
    let kind = pick(Volume.Kind.allCases)
    let names = "\(number) \(end) \(key) \(text.debugDescription) \(kind)"
    func leaf(
      _ name: String, _ isMet: @escaping (Volume) -> Bool,
      _ expression: @escaping (Variable) -> Expression
    ) -> Condition {
      Condition(name: "\(name) \(names)", expression: expression, isMet: isMet)
    }
    // As the macro makes them.
    typealias Make = PredicateExpressions
    func path<Value>(
      _ variable: Variable, _ path: any KeyPath<Volume, Value> & Sendable
    ) -> PredicateExpressions.KeyPath<Variable, Value> {
      PredicateExpressions.build_KeyPath(root: variable, keyPath: path)
    }
    func compare<Value: Comparable & Codable & Sendable>(
      _ name: String, _ keyPath: any KeyPath<Volume, Value> & Sendable, _ value: Value
    ) -> Condition {
      func isLess(_ a: Value, _ b: Value) -> Bool {
        if let a = a as? String, let b = b as? String { return a.precedes(b) }
        return a < b
      }
      switch number & 3 {
      case 0:
        return leaf("\(name) <", { isLess($0[keyPath: keyPath], value) }) {
          Make.build_Comparison(
            lhs: path($0, keyPath), rhs: Make.build_Arg(value), op: .lessThan)
        }
      case 1:
        return leaf("\(name) <=", { !isLess(value, $0[keyPath: keyPath]) }) {
          Make.build_Comparison(
            lhs: path($0, keyPath), rhs: Make.build_Arg(value), op: .lessThanOrEqual)
        }
      case 2:
        return leaf("\(name) >", { isLess(value, $0[keyPath: keyPath]) }) {
          Make.build_Comparison(
            lhs: Make.build_Arg(value), rhs: path($0, keyPath), op: .lessThan)
        }
      default:
        return leaf("\(name) >=", { !isLess($0[keyPath: keyPath], value) }) {
          Make.build_Comparison(
            lhs: path($0, keyPath), rhs: Make.build_Arg(value), op: .greaterThanOrEqual)
        }
      }
    }
    func equal<Value: Equatable & Codable & Sendable>(
      _ name: String, _ keyPath: any KeyPath<Volume, Value> & Sendable, _ value: Value
    ) -> Condition {
      leaf("\(name) ==", { $0[keyPath: keyPath] == value }) {
        Make.build_Equal(lhs: path($0, keyPath), rhs: Make.build_Arg(value))
      }
    }
    switch Int.random(in: 0..<24, using: &random) {
    case 0: return equal("id", \.id, key)
    case 1, 2: return compare("id", \.id, key)
    case 3:
      return leaf("id in", { numbers.contains($0.id) }) {
        Make.build_contains(Make.build_Arg(numbers), path($0, \.id))
      }
    case 4: return equal("year", \.year, number)
    case 5:
      return leaf("year !=", { $0.year != number }) {
        Make.build_NotEqual(lhs: path($0, \.year), rhs: Make.build_Arg(number))
      }
    case 6: return compare("year", \.year, number)
    case 7:
      return leaf("year in", { numbers.contains($0.year) }) {
        Make.build_contains(Make.build_Arg(numbers), path($0, \.year))
      }
    case 8:
      return leaf("year range", { (number..<end).contains($0.year) }) {
        Make.build_contains(
          Make.build_Range(lower: Make.build_Arg(number), upper: Make.build_Arg(end)),
          path($0, \.year))
      }
    case 9:
      return leaf("year closed", { (number...end).contains($0.year) }) {
        Make.build_contains(
          Make.build_ClosedRange(lower: Make.build_Arg(number), upper: Make.build_Arg(end)),
          path($0, \.year))
      }
    case 10, 11: return equal("author", \.author, text)
    case 12: return compare("author", \.author, text)
    case 13:
      return leaf("starts", { $0.author.starts(with: text) }) {
        Make.build_starts(path($0, \.author), with: Make.build_Arg(text))
      }
    case 14:
      return leaf("?? >", { ($0.rating ?? 1) > number }) {
        Make.build_Comparison(
          lhs: Make.build_NilCoalesce(lhs: path($0, \.rating), rhs: Make.build_Arg(1)),
          rhs: Make.build_Arg(number), op: .greaterThan)
      }
    case 15: return equal("rating", \.rating, number)
    case 16: return equal("rating", \.rating, nil)
    case 17: return equal("kind", \.kind, kind)
    case 18:
      return leaf("raw >=", { $0.kind.rawValue >= number }) {
        Make.build_Comparison(
          lhs: Make.build_KeyPath(root: path($0, \.kind), keyPath: \.rawValue),
          rhs: Make.build_Arg(number), op: .greaterThanOrEqual)
      }
    case 19:
      return leaf("city ==", { $0.place?.city == text }) {
        Make.build_Equal(
          lhs: Make.build_flatMap(path($0, \.place)) {
            Make.build_KeyPath(root: $0, keyPath: \.city)
          }, rhs: Make.build_Arg(text as String?))
      }
    case 20: return leaf("out", { $0.isOut }) { path($0, \.isOut) }
    case 21: return equal("mark", \.mark, abs(key))
    case 22: return equal("mark", \.mark, nil)
    default: return compare("score", \.score, fraction)
    }
  }
}
