// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What these tests ask for: a property of each type that an index can have.
private struct Extreme: Identifiable, Sendable {
  enum Grade: UInt8, CaseIterable, ArchiveIndexable {
    case most = 255, least = 0, some = 9
  }
  enum Label: String, CaseIterable, Comparable, ArchiveIndexable {
    case none = "", zero = "\u{0}", last = "\u{10FFFF}"
    static var archiveIndexKeepsOrder: Bool { true }
    static func < (a: Label, b: Label) -> Bool { a.rawValue < b.rawValue }
  }
  /// A type that gives its bytes by itself.
  struct Mark: Comparable, ArchiveIndexable {
    var number: UInt16
    var archiveIndexBytes: [UInt8] { number.archiveIndexBytes }
    static func < (a: Mark, b: Mark) -> Bool { a.number < b.number }
  }

  let number: UInt8
  var id: Int
  var group: Int
  var word: String
  var hits: UInt8 = 0
  var int8: Int8, int16: Int16, int32: Int32, int64: Int64, int: Int
  var uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64, uint: UInt
  var double: Double, float: Float
  var flag: Bool, text: String, date: Date, uuid: UUID, data: Data
  var grade: Grade, label: Label, mark: Mark
  var anInt: Int?, aByte: UInt8?, aDouble: Double?, aText: String?, aDate: Date?
  var aFlag: Bool?, aData: Data?, aGrade: Grade?
}

extension Extreme {
  /// Those of each property come again and again, in step with nothing else.
  init(_ number: Int) {
    func one<Value>(_ values: [Value], _ step: Int) -> Value {
      values[number / step % values.count]
    }
    self.number = UInt8(number)
    id = one([.min, -1, 0, 1, .max], 1)
    if number >= 5 { id = number * 1_000 }
    group = one(Values.groups, 3)
    word = one(Values.words, 2)
    int8 = one(Values.whole(), 1)
    int16 = one(Values.whole(), 2)
    int32 = one(Values.whole(), 1)
    int64 = one(Values.whole(), 2)
    int = one(Values.whole(), 1)
    uint8 = one(Values.whole(), 2)
    uint16 = one(Values.whole(), 1)
    uint32 = one(Values.whole(), 2)
    uint64 = one(Values.whole(), 1)
    uint = one(Values.whole(), 2)
    double = one(Values.fractions(), 1)
    float = one(Values.fractions(), 1)
    flag = one([false, true], 1)
    text = one(Values.texts, 1)
    date = one(Values.dates, 1)
    uuid = one(Values.uuids, 1)
    data = one(Values.data, 1)
    grade = one(Grade.allCases, 1)
    label = one(Label.allCases, 1)
    mark = Mark(number: one(Values.whole(), 1))
    anInt = one([nil] + Values.whole(), 1)
    aByte = one([nil] + Values.whole(), 1)
    aDouble = one([nil] + Values.fractions(), 1)
    aText = one([nil] + Values.texts, 1)
    aDate = one([nil] + Values.dates, 1)
    aFlag = one([nil, false, true], 1)
    aData = one([nil] + Values.data, 1)
    aGrade = one([nil] + Grade.allCases, 1)
  }

  // What a global has in a `Data`, Address Sanitizer does not find, and takes for a leak: so
  // these are made each time.
  static var all: [Extreme] { (0..<24).map { Extreme($0) } }

  /// All of it follows from its number, which saves a lot of decoding.
  static var coder: Coder<Extreme> {
    let all = all
    return Coder(
      format: "number", encode: { Data([$0.number, $0.hits]) },
      decode: { bytes in
        var extreme = all[Int(bytes[0])]
        extreme.hits = bytes[1]
        return extreme
      })
  }
}

private enum Values {
  static let long = String(repeating: "x", count: 1_000)
  static let groups = [Int.min, 7, .max]
  static let words = ["", "\u{0}", "w", "\u{0}\u{0}", long, long + "a"]
  static let texts = [
    "", "\u{0}", "a", "a\u{0}", "e\u{301}x", String(long.dropLast()), long.dropLast() + "\u{0}",
    long, long + "a", long + "b", "\u{10FFFF}",
  ]
  static var data: [Data] {
    [
      Data(), Data([0]), Data([255]), Data(repeating: 255, count: 999),
      Data(repeating: 255, count: 1_000), Data(repeating: 255, count: 1_000) + [0],
      Data(repeating: 255, count: 1_001),
    ]
  }
  static let dates: [Date] = [-.infinity, -1, -0.0, 0, .greatestFiniteMagnitude, .infinity].map {
    Date(timeIntervalSinceReferenceDate: $0)
  }
  static let uuids = [UInt8(0), 1, 255].map { byte in
    UUID(
      uuid: (
        byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte,
        byte
      ))
  }

  static func whole<Number: FixedWidthInteger>() -> [Number] {
    var numbers: [Number] = [.min, 0, 1, .max - 1, .max]
    if let minusOne = Number(exactly: -1) { numbers.append(minusOne) }
    return numbers
  }

  static func fractions<Number: BinaryFloatingPoint>() -> [Number] {
    [
      -.infinity, -.greatestFiniteMagnitude, -1, -0.0, 0, .leastNonzeroMagnitude,
      .greatestFiniteMagnitude, .infinity, .nan,
    ]
  }
}

/// Conditions at the ends of what each type has, by indexes of one property and of several, beside
/// a look at every element: what they find, count, change, and delete.
struct ArchiveExtremesTests {
  private struct Condition {
    var name: String
    var condition: ArchiveCondition<Extreme>
    var isMet: (Extreme) -> Bool
  }

  /// A property, with conditions on it, and its order, if it has one.
  private struct Subject {
    /// An index of it, by itself or with others behind or before it.
    var index: (_ kind: Int) -> ArchiveIndex<Extreme>
    var conditions: (inout SeededGenerator) -> [Condition]
    var sort: ((ArchiveQuery<Extreme>, SortOrder) -> ArchiveQuery<Extreme>)?
    var isBefore: (Extreme, Extreme) -> Bool = { _, _ in false }
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test(arguments: 0..<4) func queriesFindWhatALookAtEveryElementFinds(kind: Int) throws {
    var random = SeededGenerator(seed: 902 + UInt64(kind))
    let subjects = Self.subjects
    for start in stride(from: 0, to: subjects.count, by: 6) {
      try expect(Array(subjects[start..<min(start + 6, subjects.count)]), kind, &random)
    }
  }

  private func expect(
    _ subjects: [Subject], _ kind: Int, _ random: inout SeededGenerator
  ) throws {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    let archive = try Archive<Extreme>(
      at: .path(directory.file("\(UUID())").path), coder: Extreme.coder,
      indexes: subjects.map { $0.index(kind) }, configuration: configuration)
    var all = Extreme.all
    // Half of them flushed.
    try archive.insert(all: all.prefix(12))
    try archive.checkpoint()
    try archive.insert(all: all.dropFirst(12))
    all.sort { $0.id < $1.id }
    var number = kind
    for subject in subjects {
      for a in subject.conditions(&random) {
        let others = subject.conditions(&random).shuffled(using: &random)
        for b in others.prefix(effort(1, long: 3)) {
          let both = Self.combine(a, b, &random)
          let condition = Self.behindOthers(both, kind, &random)
          try expect(archive, all, condition, number)
          if number % 16 == 0 { try expectOrder(archive, all, condition, subject, number / 16) }
          if number % 32 == 0 { try expectChanges(archive, &all, condition) }
          number += 1
        }
      }
    }
    #expect(try archive.verify().isIntact)
  }

  // MARK: - Expectations

  private func expect(
    _ archive: Archive<Extreme>, _ all: [Extreme], _ condition: Condition, _ number: Int
  ) throws {
    let expected = all.filter(condition.isMet).map(\.id)
    let query = archive.where(condition.condition)
    #expect(try query.count() == expected.count, "\(condition.name)")
    if number % 2 == 0 {
      #expect(try query.results().map(\.id) == expected, "\(condition.name)")
    }
    if number % 8 == 1 {
      let pages = try query.pages(of: 3).all().flatMap { $0 }
      #expect(pages.map(\.id) == expected, "\(condition.name)")
      #expect(try query.limit(2).results().map(\.id) == Array(expected.prefix(2)))
      #expect(try query.limit(2).count() == min(2, expected.count), "\(condition.name)")
      #expect(try query.last()?.id == expected.last, "\(condition.name)")
    }
  }

  private func expectOrder(
    _ archive: Archive<Extreme>, _ all: [Extreme], _ condition: Condition, _ subject: Subject,
    _ number: Int
  ) throws {
    guard let sort = subject.sort else { return }
    let order = number % 2 == 0 ? SortOrder.forward : .reverse
    let sorted = all.filter(condition.isMet).enumerated().sorted { a, b in
      let (first, second) = order == .forward ? (a, b) : (b, a)
      if subject.isBefore(first.element, second.element) { return true }
      if subject.isBefore(second.element, first.element) { return false }
      return a.offset < b.offset
    }.map(\.element.id)
    let name = "\(condition.name), \(order)"
    let query = sort(archive.where(condition.condition), order)
    #expect(try query.results().map(\.id) == sorted, "\(name)")
    #expect(try query.skip(1).limit(3).results().map(\.id) == Array(sorted.dropFirst().prefix(3)))
    #expect(try query.pages(of: 4).all().flatMap { $0 }.map(\.id) == sorted, "\(name)")
  }

  private func expectChanges(
    _ archive: Archive<Extreme>, _ all: inout [Extreme], _ condition: Condition
  ) throws {
    let query = archive.where(condition.condition)
    let (matching, others) = (all.filter(condition.isMet), all.filter { !condition.isMet($0) })
    #expect(try query.update { $0.hits &+= 1 } == matching.count, "\(condition.name)")
    for index in all.indices where condition.isMet(all[index]) { all[index].hits &+= 1 }
    #expect(try archive.elements().map(\.hits) == all.map(\.hits), "\(condition.name)")
    #expect(try query.delete() == matching.count, "\(condition.name)")
    #expect(try archive.ids() == others.map(\.id), "\(condition.name)")
    try archive.insert(all: all.filter(condition.isMet))
  }

  // MARK: - Conditions

  private static func combine(
    _ a: Condition, _ b: Condition, _ random: inout SeededGenerator
  ) -> Condition {
    let (x, y) = (a.isMet, b.isMet)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return a
    case 1:
      return Condition(name: "!(\(a.name))", condition: !a.condition) { !x($0) }
    case 2:
      return Condition(name: "\(a.name) || \(b.name)", condition: a.condition || b.condition) {
        x($0) || y($0)
      }
    case 3:
      return Condition(name: "\(a.name) && !(\(b.name))", condition: a.condition && !b.condition) {
        x($0) && !y($0)
      }
    case 4:
      return Condition(name: "!(\(a.name) || \(b.name))", condition: !(a.condition || b.condition))
      { !(x($0) || y($0)) }
    default:
      return Condition(name: "\(a.name) && \(b.name)", condition: a.condition && b.condition) {
        x($0) && y($0)
      }
    }
  }

  /// With one or some values of what an index of several properties has before.
  private static func behindOthers(
    _ a: Condition, _ kind: Int, _ random: inout SeededGenerator
  ) -> Condition {
    let group = one(Values.groups, &random)
    let words = [one(Values.words, &random), one(Values.words, &random)]
    let isMet = a.isMet
    switch kind {
    case 1 where Bool.random(using: &random), 2:
      return Condition(
        name: "group == \(group) && \(a.name)", condition: \Extreme.group == group && a.condition
      ) { $0.group == group && isMet($0) }
    case 3:
      return Condition(
        name: "word is one of \(words.map(show)) && \(a.name)",
        condition: ArchiveProperty(\Extreme.word).isOne(of: words) && a.condition
      ) { words.contains($0.word) && isMet($0) }
    default: return a
    }
  }

  private static func one<Value>(_ values: [Value], _ random: inout SeededGenerator) -> Value {
    values[Int.random(in: values.indices, using: &random)]
  }

  private static func show(_ value: Any) -> String {
    let text = "\(value)"
    return text.utf8.count < 60 ? text : "\(text.prefix(9))…(\(text.utf8.count))"
  }

  private static func precedes<Value: Comparable>(_ a: Value, _ b: Value) -> Bool {
    if let a = a as? String, let b = b as? String { return a.precedes(b) }
    return a < b
  }

  private static func index<Value: ArchiveIndexable>(
    _ path: any KeyPath<Extreme, Value> & Sendable
  ) -> (_ kind: Int) -> ArchiveIndex<Extreme> {
    let name = "\(path)"
    return { kind in
      switch kind {
      case 0: ArchiveIndex(name, path)
      case 1: ArchiveIndex(name, path, \.group)
      case 2: ArchiveIndex(name, \.group, path)
      default: ArchiveIndex(name, \.word, path, \.group)
      }
    }
  }

  private static func equalities<Value: Equatable & Sendable>(
    _ property: ArchiveProperty<Extreme, Value>, _ name: String,
    _ path: any KeyPath<Extreme, Value> & Sendable,
    _ values: [Value], _ random: inout SeededGenerator
  ) -> [Condition] {
    let (a, b) = (one(values, &random), one(values, &random))
    return [
      Condition(name: "\(name) == \(show(a))", condition: property == a) { $0[keyPath: path] == a },
      Condition(name: "\(name) != \(show(a))", condition: property != a) { $0[keyPath: path] != a },
      Condition(
        name: "\(name) is one of \(show(a)), \(show(b))", condition: property.isOne(of: [a, b])
      ) { [a, b].contains($0[keyPath: path]) },
    ]
  }

  private static func subject<Value: Equatable & ArchiveIndexable>(
    only path: any KeyPath<Extreme, Value> & Sendable, _ values: [Value]
  ) -> Subject {
    let name = "\(path)"
    return Subject(
      index: index(path),
      conditions: { equalities(ArchiveProperty(path), name, path, values, &$0) })
  }

  private static func subject<Value: Comparable & ArchiveIndexable>(
    _ path: any KeyPath<Extreme, Value> & Sendable, _ values: [Value]
  ) -> Subject {
    let name = "\(path)"
    return Subject(
      index: index(path),
      conditions: { random in
        let property = ArchiveProperty(path)
        let a = one(values, &random)
        var conditions =
          equalities(property, name, path, values, &random) + [
            Condition(name: "\(name) < \(show(a))", condition: property < a) {
              precedes($0[keyPath: path], a)
            },
            Condition(name: "\(name) > \(show(a))", condition: property > a) {
              precedes(a, $0[keyPath: path])
            },
            Condition(name: "\(name) <= \(show(a))", condition: property <= a) {
              precedes($0[keyPath: path], a) || $0[keyPath: path] == a
            },
            Condition(name: "\(name) >= \(show(a))", condition: property >= a) {
              precedes(a, $0[keyPath: path]) || $0[keyPath: path] == a
            },
          ]
        let ends = [one(values, &random), one(values, &random)].sorted(by: precedes)
        // Not-a-number is the end of no range.
        if ends[0] <= ends[1] {
          conditions += [
            Condition(
              name: "\(name) in \(ends.map(show))", condition: property.within(ends[0]...ends[1])
            ) {
              !precedes($0[keyPath: path], ends[0]) && !precedes(ends[1], $0[keyPath: path])
                && $0[keyPath: path] == $0[keyPath: path]
            },
            Condition(
              name: "\(name) below the end of \(ends.map(show))",
              condition: property.within(ends[0]..<ends[1])
            ) { !precedes($0[keyPath: path], ends[0]) && precedes($0[keyPath: path], ends[1]) },
          ]
        }
        return conditions
      },
      sort: { $0.sorted(by: path, $1) },
      isBefore: { isOrdered($0[keyPath: path], $1[keyPath: path]) })
  }

  private static func isOrdered<Value: Comparable>(_ a: Value, _ b: Value) -> Bool {
    // Not-a-number comes last.
    precedes(a, b) || (a == a && !(b == b))
  }

  private static func subject<Value: Comparable & ArchiveIndexable>(
    optional path: any KeyPath<Extreme, Value?> & Sendable, _ values: [Value]
  ) -> Subject {
    let name = "\(path)"
    return Subject(
      index: index(path),
      conditions: { random in
        let property = ArchiveProperty(path)
        let a = one(values, &random)
        func relation(
          _ sign: String, _ condition: ArchiveCondition<Extreme>, _ isMet: @escaping (Value) -> Bool
        ) -> Condition {
          Condition(name: "\(name) \(sign) \(show(a))", condition: condition) {
            $0[keyPath: path].map(isMet) ?? false
          }
        }
        return equalities(property, name, path, [nil] + values, &random) + [
          Condition(name: "\(name) == nil", condition: property == nil) {
            $0[keyPath: path] == nil
          },
          Condition(name: "\(name) != nil", condition: property != nil) {
            $0[keyPath: path] != nil
          },
          relation("<", property < a) { precedes($0, a) },
          relation(">", property > a) { precedes(a, $0) },
          relation("<=", property <= a) { precedes($0, a) || $0 == a },
          relation(">=", property >= a) { precedes(a, $0) || $0 == a },
        ]
      },
      sort: { $0.sorted(by: path, $1) },
      isBefore: { first, second in
        guard let b = second[keyPath: path] else { return false }
        guard let a = first[keyPath: path] else { return true }
        return isOrdered(a, b)
      })
  }

  /// A text, or an optional one, with what its values begin with besides.
  private static func withPrefixes(
    _ subject: Subject, _ condition: @escaping (String) -> ArchiveCondition<Extreme>,
    _ isMet: @escaping (Extreme, String) -> Bool
  ) -> Subject {
    var subject = subject
    subject.conditions = { [conditions = subject.conditions] random in
      let text = one(Values.texts + ["e"], &random)
      return conditions(&random) + [
        Condition(name: "prefix \(show(text))", condition: condition(text)) { isMet($0, text) }
      ]
    }
    return subject
  }

  private static var subjects: [Subject] {
    [
      subject(\.int8, Values.whole()), subject(\.int16, Values.whole()),
      subject(\.int32, Values.whole()), subject(\.int64, Values.whole()),
      subject(\.int, Values.whole()), subject(\.uint8, Values.whole()),
      subject(\.uint16, Values.whole()), subject(\.uint32, Values.whole()),
      subject(\.uint64, Values.whole()), subject(\.uint, Values.whole()),
      subject(\.double, Values.fractions()), subject(\.float, Values.fractions()),
      subject(only: \.flag, [false, true]),
      withPrefixes(subject(\.text, Values.texts), { ArchiveProperty(\.text).hasPrefix($0) }) {
        $0.text.hasPrefix($1)
      },
      subject(\.date, Values.dates), subject(\.uuid, Values.uuids),
      subject(only: \.data, Values.data),
      subject(only: \.grade, Extreme.Grade.allCases), subject(\.label, Extreme.Label.allCases),
      subject(\.mark, [0, 1, .max - 1, .max].map { Extreme.Mark(number: $0) }),
      subject(optional: \.anInt, Values.whole()), subject(optional: \.aByte, Values.whole()),
      subject(optional: \.aDouble, Values.fractions()),
      withPrefixes(
        subject(optional: \.aText, Values.texts), { ArchiveProperty(\.aText).hasPrefix($0) }
      ) { $0.aText?.hasPrefix($1) ?? false },
      subject(optional: \.aDate, Values.dates), subject(only: \.aFlag, [nil, false, true]),
      subject(only: \.aData, [nil] + Values.data),
      subject(only: \.aGrade, [nil] + Extreme.Grade.allCases),
      subject(\.id, [.min, -1, 0, 1, .max]),
    ]
  }
}
