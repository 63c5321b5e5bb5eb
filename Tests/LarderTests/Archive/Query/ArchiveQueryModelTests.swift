// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Random queries over random archives, with indexes and without, beside arrays.
struct ArchiveQueryModelTests {
  /// One stage, for an archive and for an array.
  private struct Stage {
    var name: String
    var query: (ArchiveQuery<Citizen>) -> ArchiveQuery<Citizen>
    var array: ([Citizen]) -> [Citizen]
  }

  private var random = SeededGenerator(seed: 20_260)

  @Test mutating func queriesFindWhatArraysDo() throws {
    let seed = random.seed
    for round in 0..<effort(2, long: 6) {
      let place = try CitizenPlace()
      let indexed = try place.open("indexed")
      let plain = try place.open("plain", indexes: [])
      var model: [Int: Citizen] = [:]
      for step in 0..<50 {
        for _ in 0..<Int.random(in: 0...20, using: &random) {
          try change(&model, indexed, plain)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { try indexed.checkpoint() }
        let all = model.values.sorted { $0.id < $1.id }
        let stages = makeStages()
        let name = "\(stages.map(\.name)), round \(round), step \(step), seed \(seed)"
        let expected = stages.reduce(all) { $1.array($0) }
        for archive in [indexed, plain] {
          try compare(stages.reduce(archive.query) { $1.query($0) }, expected, name)
        }
      }
      #expect(try indexed.verify().isIntact, "seed \(seed)")
    }
  }

  private func compare(
    _ query: ArchiveQuery<Citizen>, _ expected: [Citizen], _ name: String
  ) throws {
    let found = try query.results()
    #expect(found == expected, "\(name)")
    #expect(try query.count() == expected.count, "\(name)")
    #expect(try query.first() == expected.first, "\(name)")
    #expect(try query.last() == expected.last, "\(name)")
    #expect(try query.pages(of: 7).all().flatMap { $0 } == expected, "\(name)")
  }

  // MARK: - Elements

  private mutating func change(
    _ model: inout [Int: Citizen], _ indexed: Archive<Citizen>, _ plain: Archive<Citizen>
  ) throws {
    let id = Int.random(in: -60..<60, using: &random)
    if Int.random(in: 0..<4, using: &random) == 0 {
      model[id] = nil
      try indexed.delete(id: id)
      try plain.delete(id: id)
      return
    }
    let names = ["", "a", "ab", "b", "é", "e\u{301}", "\u{E9}a", "e\u{301}b", "zz"]
    let citizen = Citizen(
      id: id, name: pick(names), age: Int.random(in: 0..<6, using: &random),
      nickname: Bool.random(using: &random) ? nil : pick(names),
      points: Bool.random(using: &random) ? nil : Int.random(in: -2..<3, using: &random),
      score: pick([-1, -0.0, 0, 0.5, 2, .infinity]), isActive: Bool.random(using: &random),
      level: pick(Citizen.Level.allCases))
    model[id] = citizen
    try indexed.upsert(citizen)
    try plain.upsert(citizen)
  }

  private mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: values.indices, using: &random)]
  }

  // MARK: - Stages

  /// Filters, and perhaps a sort and what comes behind.
  private mutating func makeStages() -> [Stage] {
    var stages: [Stage] = []
    let isLimitedFirst = Int.random(in: 0..<6, using: &random) == 0
    if isLimitedFirst { stages.append(makeLimit()) }
    for _ in 0..<Int.random(in: 0...3, using: &random) { stages.append(makeFilter()) }
    if Int.random(in: 0..<3, using: &random) > 0 { stages.append(makeSort()) }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: stages.append(makeFilter())
      case 1: stages.append(makeSort())
      default: stages.append(makeLimit())
      }
    }
    return stages
  }

  private mutating func makeLimit() -> Stage {
    let number = Int.random(in: 0...12, using: &random)
    if Bool.random(using: &random) {
      return Stage(
        name: "skip \(number)", query: { $0.skip(number) }, array: { Array($0.dropFirst(number)) })
    }
    return Stage(
      name: "limit \(number)", query: { $0.limit(number) },
      array: { Array($0.prefix(number)) })
  }

  private mutating func makeFilter() -> Stage {
    let number = Int.random(in: -1..<6, using: &random)
    let fraction = Double(number) / 2
    let text = pick(["", "a", "é", "b", "e\u{301}", "\u{E9}a"])
    func stage(
      _ name: String,
      _ query: @escaping (ArchiveProperties<Citizen>) -> ArchiveCondition<Citizen>,
      _ isIncluded: @escaping (Citizen) -> Bool
    ) -> Stage {
      Stage(
        name: "\(name) \(number) \(text)", query: { $0.where(query) },
        array: { $0.filter(isIncluded) })
    }
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return stage("age =", { $0.age == number }, { $0.age == number })
    case 1: return stage("age >", { $0.age > number }, { $0.age > number })
    case 2: return stage("age <=", { $0.age <= number }, { $0.age <= number })
    case 3:
      return stage("points <", { $0.points < number }, { ($0.points ?? 99) < number })
    case 4: return stage("points nil", { $0.points == nil }, { $0.points == nil })
    case 5: return stage("name >=", { $0.name >= text }, { !$0.name.precedes(text) })
    case 6: return stage("nickname", { $0.nickname != nil }, { $0.nickname != nil })
    case 7:
      return stage(
        "prefix", { $0.nickname.hasPrefix(text) }, { $0.nickname?.hasPrefix(text) ?? false })
    case 8: return stage("score >", { $0.score > fraction }, { $0.score > fraction })
    case 9: return stage("active", { $0.isActive == true }, { $0.isActive })
    case 10:
      let predicate = #Predicate<Citizen> { $0.age >= number && $0.name != text && $0.score < 2 }
      return Stage(
        name: "predicate \(number) \(text)", query: { $0.where(predicate) },
        array: { $0.filter { $0.age >= number && $0.name != text && $0.score < 2 } })
    default: return stage("level", { $0.level > .low }, { $0.level > .low })
    }
  }

  private mutating func makeSort() -> Stage {
    let order = Bool.random(using: &random) ? SortOrder.forward : .reverse
    func stage(
      _ name: String, _ query: @escaping (ArchiveQuery<Citizen>) -> ArchiveQuery<Citizen>,
      _ isBefore: @escaping (Citizen, Citizen) -> Bool
    ) -> Stage {
      Stage(
        name: "\(name) \(order)", query: query,
        array: { array in
          array.enumerated().sorted { a, b in
            if isBefore(a.element, b.element) { return order == .forward }
            if isBefore(b.element, a.element) { return order == .reverse }
            return a.offset < b.offset
          }.map(\.element)
        })
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return stage("age", { $0.sorted(by: \.age, order) }, { $0.age < $1.age })
    case 1: return stage("name", { $0.sorted(by: \.name, order) }, { $0.name.precedes($1.name) })
    case 2:
      return stage(
        "points", { $0.sorted(by: \.points, order) }, { ($0.points ?? -99) < ($1.points ?? -99) })
    case 3: return stage("score", { $0.sorted(by: \.score, order) }, { $0.score < $1.score })
    case 4:
      return stage("active", { $0.sorted(by: \.isActive, order) }, { !$0.isActive && $1.isActive })
    case 5: return stage("level", { $0.sorted(by: \.level, order) }, { $0.level < $1.level })
    case 6:
      return stage(
        "age, name", { $0.sorted(by: \.name, order).sorted(by: \.age, order) },
        { $0.age == $1.age ? $0.name.precedes($1.name) : $0.age < $1.age })
    default: return stage("id", { $0.sorted(by: \.id, order) }, { $0.id < $1.id })
    }
  }
}
