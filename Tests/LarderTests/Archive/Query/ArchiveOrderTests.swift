// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// An index changes how long a query takes, and never what it returns.
struct ArchiveOrderTests {
  private struct Item: Codable, Identifiable, Equatable, Sendable {
    var id: Int
    var name: String
    var other: String?
    var number = 0
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// The same elements with indexes and without.
  private func archives(_ items: [Item]) throws -> [Archive<Item>] {
    let indexes = [
      ArchiveIndex("name", \Item.name), ArchiveIndex("other", \Item.other),
      ArchiveIndex("number", \Item.number),
    ]
    return try [[], indexes].enumerated().map { number, indexes in
      let archive = try Archive<Item>(
        at: .path(directory.file("\(UUID())\(number)").path), indexes: indexes)
      try archive.insert(all: items)
      return archive
    }
  }

  @Test func unsortedResultsAreInTheOrderOfKeys() throws {
    let numbers = [9, 7, 8]
    for archive in try archives((0..<3).map { Item(id: $0, name: "", number: numbers[$0]) }) {
      let query = archive.where { $0.number > 6 }
      func ids(_ query: ArchiveQuery<Item>) throws -> [Int] { try query.results().map(\.id) }
      #expect(try ids(query) == [0, 1, 2])
      #expect(try ids(query.limit(1)) == [0])
      #expect(try ids(query.skip(1)) == [1, 2])
      #expect(try ids(query.skip(1).limit(1)) == [1])
      #expect(try query.first()?.id == 0)
      #expect(try query.last()?.id == 2)
      #expect(try query.pages(of: 2).all().map { $0.map(\.id) } == [[0, 1], [2]])
      #expect(try ids(archive.where { $0.number == 8 || $0.number < 8 }) == [1, 2])
      #expect(try ids(archive.where { $0.number.isOne(of: [7, 9]) }.limit(1)) == [0])
      #expect(try archive.transaction { try ids($0.where { $0.number > 6 }.limit(1)) } == [0])
    }
  }

  @Test func onlyWhatIsReturnedIsDecoded() throws {
    let archive = try archives((0..<300).map { Item(id: $0, name: "", number: 300 - $0) })[1]
    let range = try archive.where { $0.number > 100 }.limit(3).explain()
    #expect((range.examined, range.decoded) == (200, 3))
    let equal = try archive.where { $0.number == 100 }.limit(3).explain()
    #expect((equal.examined, equal.decoded) == (1, 1))
  }

  @Test func aLimitOverManyIsTriedInTheOrderOfKeysFirst() throws {
    let archive = try archives((0..<12_000).map { Item(id: $0, name: "", number: $0) })[1]
    let near = archive.where { $0.number >= 0 }.limit(3)
    #expect(try near.explain().examined == 3)
    let far = archive.where { $0.number >= 1_500 }.limit(3)
    #expect(try far.explain().decoded == 1_003)
    for (query, ids) in [(near, [0, 1, 2]), (far, [1_500, 1_501, 1_502])] {
      #expect(try query.results().map(\.id) == ids)
      #expect(try query.last()?.id == ids[2])
      #expect(try query.count() == 3)
    }
    #expect(try archive.where { $0.number < 10_500 }.last()?.id == 10_499)
  }

  @Test func longKeysAreInTheOrderOfAScan() throws {
    struct Long: Codable, Identifiable, Equatable, Sendable {
      var id: String
      var number: Int
    }
    let start = String(repeating: "k", count: 600)
    let archive = try Archive<Long>(
      at: .path(directory.file("long").path), indexes: [ArchiveIndex("number", \.number)])
    var longs = (0..<20).map { Long(id: "\(start)\($0)", number: 20 - $0) }
    longs.append(Long(id: "a", number: 0))
    try archive.insert(all: longs)
    let inOrder = longs.sorted { $0.id < $1.id }
    for limit in [1, 5, 21] {
      #expect(try archive.elements(limit: limit) == Array(inOrder.prefix(limit)))
      #expect(try archive.ids(limit: limit) == inOrder.prefix(limit).map(\.id))
    }
    let scanned = try archive.filter { $0.number > 5 }.results()
    let query = archive.where { $0.number > 5 }
    #expect(try query.results() == scanned)
    #expect(try query.limit(4).results() == Array(scanned.prefix(4)))
    #expect(try query.last() == scanned.last)
    #expect(try query.pages(of: 4).all().flatMap { $0 } == scanned)
  }

  @Test func textsCompareByTheirCharactersInCanonicalForm() throws {
    let (short, long) = ("e\u{301}", "\u{E9}a")
    // Where Swift's own order contradicts the one of composed texts.
    let items = [Item(id: 1, name: short, other: short), Item(id: 2, name: long, other: long)]
    for archive in try archives(items) {
      func ids(_ query: ArchiveQuery<Item>) throws -> [Int] { try query.results().map(\.id) }
      #expect(try ids(archive.where { $0.name < long }) == [1])
      #expect(try ids(archive.where { $0.name <= short }) == [1])
      #expect(try ids(archive.where { $0.name > short }) == [2])
      #expect(try ids(archive.where { $0.name >= long }) == [2])
      #expect(try ids(archive.where { $0.other < long }) == [1])
      #expect(try ids(archive.where { $0.other > short }) == [2])
      #expect(try ids(archive.where(\.name > short && \.other > short)) == [2])
      #expect(try ids(archive.where { $0.name.within(long...) }) == [2])
      #expect(try ids(archive.where { $0.name.within(..<long) }) == [1])
      #expect(try ids(archive.where { $0.other.within(...short) }) == [1])
      #expect(try ids(archive.where(#Predicate { $0.name < long })) == [1])
      #expect(try ids(archive.where(#Predicate { short < $0.name })) == [2])
      // Of which Foundation tests a part.
      #expect(try ids(archive.where(#Predicate { $0.name < long && $0.id + 1 > 0 })) == [1])
      #expect(try ids(archive.sorted(by: \.name)) == [1, 2])
      #expect(try ids(archive.sorted(by: \.other, .reverse)) == [2, 1])
      #expect(try ids(archive.sorted(using: [SortDescriptor(\Item.other)])) == [1, 2])
      #expect(try archive.query.min(\.name) == short)
      #expect(try archive.query.max(\.other) == long)
    }
  }

  @Test func longTextsCompareLikewise() throws {
    let composed = String(repeating: "\u{E9}", count: 500)
    let parts = String(repeating: "e\u{301}", count: 500)
    let names = [composed + "Z", parts, parts + "a", composed + "b"]
    for archive in try archives(names.enumerated().map { Item(id: $0.offset, name: $0.element) }) {
      #expect(try archive.sorted(by: \.name).results().map(\.id) == [1, 0, 2, 3])
      #expect(try archive.where { $0.name > parts }.results().map(\.id) == [0, 2, 3])
      #expect(try archive.where { $0.name <= names[0] }.results().map(\.id) == [0, 1])
    }
  }

  @Test func prefixesAreShownAsSuch() throws {
    let archive = try archives([Item(id: 1, name: "Ada", other: "Bea")])[1]
    func range(_ query: ArchiveQuery<Item>) throws -> String? { try query.explain().range }
    #expect(try range(archive.where { $0.name.hasPrefix("A") }) == "name has prefix \"A\"")
    #expect(try range(archive.where { $0.other.hasPrefix("B") }) == "other has prefix \"B\"")
    #expect(
      try range(archive.where(#Predicate { $0.name.starts(with: "A") && $0.name < "Ae" }))
        == "name has prefix \"A\" and name < \"Ae\"")
  }

  @Test func alikeElementsOfSeveralRangesAreSortedTogether() throws {
    let archive = try Archive<Item>(
      at: .path(directory.file("ranges").path),
      indexes: [ArchiveIndex("nameNumber", \.name, \.number)])
    try archive.insert(all: (0..<9).map { Item(id: $0, name: "a", number: $0) })
    let query = archive.where { $0.name == "a" || $0.name == "b" }.where { $0.number != 4 }
      .sorted(by: \.number, .reverse).sorted(by: \.name)
    #expect(try query.results().map(\.id) == [8, 7, 6, 5, 3, 2, 1, 0])
    #expect(try query.last()?.id == 0)
  }

  @Test func whatUsesNoElementIsConstant() throws {
    let items = (0..<200).map { Item(id: $0, name: "", number: 200 - $0) }
    let start = items[50]
    let none: Int? = nil
    for (number, archive) in try archives(items).enumerated() {
      for i in [start.id, 100] {
        let keys = archive.where(#Predicate { $0.id >= i - 1 && $0.id < i + 5 * 2 })
        #expect(try keys.results().map(\.id) == Array((i - 1)..<(i + 10)))
        let plan = try keys.explain()
        #expect(plan.examined == 11)
        #expect(plan.range == "id >= \(i - 1) and id < \(i + 10)")
        let values = archive.where(
          #Predicate { start.number - i < $0.number && $0.number <= (none ?? 100) + i / 2 })
        let found = items.filter { start.number - i < $0.number && $0.number <= 100 + i / 2 }
        #expect(try values.results() == found)
        if number == 1 {
          #expect(
            try values.explain().range
              == "number > \(start.number - i) and number <= \(100 + i / 2)")
        }
      }
      // What overflows is left to Foundation, which does not get so far.
      let most = Int.max
      let never = archive.where(#Predicate { $0.id < 0 && $0.id < most + 1 })
      #expect(try never.count() == 0)
    }
  }
}
