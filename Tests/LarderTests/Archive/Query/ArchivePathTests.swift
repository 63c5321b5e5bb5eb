// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Which index, or the primary key, each form of a condition uses, and how little is looked at.
struct ArchivePathTests {
  private let place: CitizenPlace
  private let archive: Archive<Volume>
  private static let all = (0..<1_000).map { number in
    Volume(
      id: number, author: "a\(number % 50)", year: number,
      rating: number % 10 == 0 ? number / 10 : nil, kind: number < 10 ? .poem : .novel,
      place: number % 100 == 0 ? nil : Volume.Place(city: "c\(number % 40)"),
      isOut: number % 2 == 0, score: Double(number))
  }

  init() throws {
    place = try CitizenPlace()
    archive = try Self.open(place, Volume.single)
  }

  /// Half of it flushed.
  private static func open(
    _ place: CitizenPlace, _ indexes: [ArchiveIndex<Volume>]
  ) throws -> Archive<Volume> {
    let archive = try Archive<Volume>(
      at: .path(place.directory.file("\(indexes.count)").path), indexes: indexes)
    try archive.upsert(all: all.prefix(500))
    try archive.checkpoint()
    try archive.upsert(all: all.dropFirst(500))
    return archive
  }

  /// Runs the query, which has to look at so many elements and find what an array does.
  private func expect(
    _ query: ArchiveQuery<Volume>, _ explained: String, _ isIncluded: (Volume) -> Bool,
    examined: Int? = nil, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let explanation = try query.explain()
    let expected = Self.all.filter(isIncluded)
    #expect("\(explanation)".hasPrefix(explained), sourceLocation: location)
    #expect(explanation.examined == examined ?? expected.count, sourceLocation: location)
    let found = try query.results().sorted { $0.id < $1.id }
    #expect(found == expected, sourceLocation: location)
    #expect(try query.count() == expected.count, sourceLocation: location)
    #expect(!expected.isEmpty, sourceLocation: location)
  }

  private func expect(
    _ predicate: Predicate<Volume>, _ explained: String, examined: Int? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let matching = Set(try Self.all.filter(predicate).map(\.id))
    try expect(
      archive.where(predicate), explained, { matching.contains($0.id) }, examined: examined,
      location)
  }

  // MARK: - The primary key

  @Test func conditionsOnThePrimaryKeyReadThatRangeOfIt() throws {
    try expect(
      archive.where { $0.id.within(100..<110) }, "primary key, id >= 100 and id < 110: 10",
      { (100..<110).contains($0.id) })
    try expect(
      archive.where { $0.id.isOne(of: [7, 3, 900, -5]) },
      "primary key, id == -5 or id == 3 or id == 7 or id == 900: 3",
      { [7, 3, 900].contains($0.id) })
    try expect(#Predicate { $0.id == 5 }, "primary key, id == 5: 1")
    try expect(#Predicate { $0.id > 990 && $0.id <= 995 }, "primary key, id > 990 and id <= 995: 5")
    try expect(#Predicate { [1, 600].contains($0.id) }, "primary key, id == 1 or id == 600: 2")
    try expect(
      #Predicate { $0.id < 10 && $0.score > 3 && $0.author == "a7" }, "primary key", examined: 10)
    let explanation = try archive.where { $0.id == 3 }.explain()
    #expect(explanation.isByPrimaryKey)
    #expect(explanation.index == nil)
    #expect(explanation.range == "id == 3")
  }

  @Test func theOrderOfPrimaryKeysNeedsNoSort() throws {
    for (order, expected) in [
      (SortOrder.forward, [501, 502, 503]), (.reverse, [999, 998, 997]),
    ] {
      let query = archive.where { $0.id > 500 }.sorted(by: \.id, order).limit(3)
      #expect(try query.results().map(\.id) == expected)
      #expect(try query.explain().isSortedByIndex)
      #expect(try query.explain().decoded == 3)
      #expect(
        try archive.sorted(by: \.id, order).skip(2).limit(1).explain().examined == 3)
    }
  }

  @Test func keysWithoutAnOrderAreFoundByEquality() throws {
    struct Reading: Codable, Identifiable, Equatable, Sendable {
      var id: Date
      var value = 1
    }
    func date(_ seconds: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(seconds)) }
    let archive = try Archive<Reading>(at: .path(place.directory.file("readings").path))
    for number in 0..<100 { try archive.upsert(Reading(id: date(number - 50))) }
    let zero = archive.where { $0.id.isOne(of: [date(0), date(3), date(100)]) }
    #expect(try zero.results().map(\.id).sorted() == [date(0), date(3)])
    #expect(try zero.explain().examined == 2)
    let three = date(3)
    let above = archive.where { $0.id > three }
    #expect(try above.explain().examined == 100)
    #expect(try above.count() == 46)
    #expect(try archive.sorted(by: \.id).first()?.id == date(-50))
  }

  @Test func keysOfAnyTypeAreFoundByEquality() throws {
    struct Page: Codable, Identifiable, Equatable, Sendable {
      struct ID: Codable, Hashable, Sendable { var book: Int, number: Int }
      var id: ID
    }
    let archive = try Archive<Page>(at: .path(place.directory.file("pages").path))
    for number in 0..<100 { try archive.upsert(Page(id: .init(book: 1, number: number))) }
    let wanted = Page.ID(book: 1, number: 7)
    let query = archive.where(#Predicate { $0.id == wanted })
    #expect(try query.results().map(\.id) == [wanted])
    #expect(try query.explain().examined == 1)
    #expect(try archive.where { $0.id != wanted }.count() == 99)
  }

  @Test func textsAreKeysInTheirOrder() throws {
    struct Word: Codable, Identifiable, Equatable, Sendable { var id: String }
    let archive = try Archive<Word>(at: .path(place.directory.file("words").path))
    let long = String(repeating: "x", count: 600)
    let words = ["", "a", "ab", "b", "e\u{301}a", "éb", "z", long + "b", long + "a", long]
    for word in words { try archive.upsert(Word(id: word)) }
    func ids(_ query: ArchiveQuery<Word>) throws -> [String] { try query.results().map(\.id) }
    #expect(try ids(archive.where { $0.id.hasPrefix("é") }) == ["éa", "éb"])
    #expect(try archive.where { $0.id.hasPrefix("a") }.explain().examined == 2)
    #expect(try ids(archive.sorted(by: \.id)) == words.sorted())
    #expect(try ids(archive.sorted(by: \.id, .reverse)) == words.sorted().reversed())
    let above = archive.where { $0.id > long }.sorted(by: \.id)
    #expect(try ids(above) == words.sorted().filter { $0 > long })
    #expect(try above.pages(of: 1).all().flatMap { $0 }.map(\.id) == ids(above))
  }

  @Test func aPropertyThatIsOnlyCalledSoIsNoPrimaryKey() throws {
    struct Entry: Codable, Identifiable, Equatable, Sendable {
      struct Owner: Codable, Equatable, Sendable { var id: Int }
      var owner: Owner
      var number: Int
      var id: Int { number }
    }
    let archive = try Archive<Entry>(at: .path(place.directory.file("entries").path))
    for number in 0..<20 {
      try archive.upsert(Entry(owner: .init(id: 20 - number), number: number))
    }
    let query = archive.where(#Predicate { $0.owner.id == 3 })
    #expect(try query.results().map(\.id) == [17])
    #expect(try query.explain().examined == 20)
    // The computed one is known by the call, not by its key path.
    #expect(try archive.where { $0.id == 5 }.explain().examined == 1)
    #expect(try archive.where(#Predicate { $0.id == 5 }).results().map(\.number) == [5])
  }

  // MARK: - Forms

  @Test func alternativesAreFoundByAnIndexEach() throws {
    try expect(
      #Predicate { $0.author == "a3" || $0.year == 7 },
      "union of index author, author == \"a3\"; index year, year == 7, filtered")
    // What both find counts once; it is looked at twice.
    try expect(#Predicate { $0.author == "a7" || $0.year == 7 }, "union of", examined: 21)
    try expect(#Predicate { $0.id < 5 || $0.id > 997 }, "primary key, id < 5 or id > 997: 7")
    try expect(
      #Predicate { ($0.id == 5 || $0.year == 900) && $0.isOut }, "union of primary key, id == 5",
      examined: 2)
    try expect(#Predicate { !($0.year != 5 && $0.author != "a3") }, "union of")
    try expect(#Predicate { $0.year == 5 || $0.id + 1 == 5 }, "scan", examined: 1_000)
    let sorted = archive.where(#Predicate { $0.author == "a3" || $0.year == 7 })
      .sorted(by: \.author, .reverse)
    #expect(try sorted.first()?.id == 7)
    #expect(
      try sorted.results().dropFirst().map(\.id) == Array(stride(from: 3, to: 999, by: 50)))
  }

  @Test func formsOfPredicatesUseTheirIndex() throws {
    try expect(#Predicate { [3, 900, 4].contains($0.year) }, "index year, year == 3 or year == 4")
    try expect(#Predicate { (10..<12).contains($0.year) }, "index year, year >= 10 and year < 12")
    try expect(#Predicate { $0.author.starts(with: "a49") }, "index author", examined: 20)
    try expect(#Predicate { ($0.rating ?? 0) > 97 }, "index rating, rating > 97: 2")
    try expect(#Predicate { $0.kind.rawValue == 1 }, "index kind, kind == poem", examined: 10)
    let kind = Volume.Kind.poem
    try expect(#Predicate { $0.kind == kind }, "index kind, kind == poem", examined: 10)
    try expect(#Predicate { $0.place?.city == "c7" }, "index city, city == \"c7\"")
    try expect(#Predicate { $0.place?.city == nil }, "index city, city == nil")
    try expect(#Predicate { !($0.year > 3) }, "index year, year <= 3")
    try expect(#Predicate { $0.year < 5 && $0.year != 3 }, "index year, year < 3 or year > 3")
    let query = archive.where { $0.kind.rawValue == 1 }
    try expect(query, "index kind", { $0.kind == .poem })
    // With nil: all the others.
    #expect(try archive.where(#Predicate { ($0.rating ?? 5) < 8 }).count() == 908)
  }

  @Test func theIndexWithTheFewestRowsIsUsed() throws {
    try expect(
      #Predicate { $0.author == "a3" && $0.year < 5 }, "index year, year < 5, filtered, chosen by",
      examined: 5)
    try expect(#Predicate { $0.author == "a3" && $0.year < 500 }, "index author", examined: 20)
    #expect(try archive.where(#Predicate { $0.year == 3 && $0.isOut }).explain().counted <= 65)
  }

  // MARK: - Several properties

  @Test func anIndexOfSeveralPropertiesAnswersItsPrefixes() throws {
    let archive = try Self.open(
      place, [ArchiveIndex("authorYear", \.author, \.year)])
    try expect(
      archive.where { $0.author == "a3" && $0.year > 800 },
      "index authorYear, author == \"a3\" and year > 800: 4", { $0.author == "a3" && $0.year > 800 }
    )
    try expect(
      archive.where { $0.author == "a3" }, "index authorYear, author == \"a3\": 20",
      { $0.author == "a3" })
    try expect(
      archive.where { $0.author.isOne(of: ["a3", "a4"]) && $0.year.within(0..<60) },
      "index authorYear, (author == \"a3\" or author == \"a4\") and year >= 0 and year < 60: 4",
      { ["a3", "a4"].contains($0.author) && $0.year < 60 })
    try expect(
      archive.where { $0.year == 3 }, "scan", { $0.year == 3 }, examined: 1_000)
    let last = archive.where { $0.author == "a3" }.sorted(by: \.year, .reverse)
      .limit(2)
    #expect(try last.results().map(\.year) == [953, 903])
    #expect(try last.explain().isSortedByIndex)
    #expect(try last.explain().decoded <= 3)
    let both = archive.sorted(by: \.year).sorted(by: \.author).limit(3)
    #expect(try both.results().map(\.id) == [0, 50, 100])
    #expect(try both.explain().decoded == 3)
    // Of one author the primary keys decide, not the years.
    try archive.upsert(Volume(id: 2_000, author: "a0", year: -1))
    let alone = archive.sorted(by: \.author).limit(3)
    #expect(try alone.results().map(\.id) == [0, 50, 100])
    #expect(try alone.explain().decoded < 30)
  }

  @Test func valuesThatLookLikeTheEndOfAPartAreKeptApart() throws {
    struct Pair: Codable, Identifiable, Equatable, Sendable {
      var id: Int
      var data: Data
      var text: String
    }
    let archive = try Archive<Pair>(
      at: .path(place.directory.file("pairs").path),
      indexes: [ArchiveIndex("pair", \.data, \.text)])
    let bytes: [[UInt8]] = [
      [], [0], [0, 0], [0, 1], [0, 0xFF], [1], [1, 0], [0xFF], [0xFF, 0xFF], [0, 1, 0],
      [UInt8](repeating: 0, count: 998), [UInt8](repeating: 0xFF, count: 1_100),
    ]
    var pairs: [Pair] = []
    for data in bytes {
      for text in ["", "\u{0}", "\u{1}", "z"] {
        pairs.append(Pair(id: pairs.count * 37 % 101, data: Data(data), text: text))
      }
    }
    try archive.upsert(all: pairs)
    let byID = pairs.sorted { $0.id < $1.id }
    for pair in pairs {
      for text in [nil, pair.text] {
        let query = archive.where { element in
          let data = element.data == pair.data
          return text.map { data && element.text == $0 } ?? data
        }.sorted(by: \.id)
        let expected = byID.filter { $0.data == pair.data && (text == nil || $0.text == text) }
        #expect(try query.results() == expected)
        #expect(try query.explain().index == "pair")
      }
    }
    let inOrder = pairs.sorted {
      if $0.data != $1.data { return $0.data.lexicographicallyPrecedes($1.data) }
      return ($0.text, $0.id) < ($1.text, $1.id)
    }
    let last = try archive.sorted(by: \.text).results()
    #expect(last == byID.sorted { $0.text < $1.text })
    #expect(try archive.where { $0.data != Data([0xFE]) }.count() == inOrder.count)
  }

  // MARK: - Deleting

  @Test func whatAQueryFindsIsDeleted() throws {
    #expect(try archive.where { $0.year < 10 }.delete() == 10)
    #expect(try archive.where(#Predicate { $0.author == "a3" || $0.id == 11 }).delete() == 20)
    #expect(try archive.sorted(by: \.year).limit(2).delete() == 2)
    let rest = Self.all.filter { $0.year >= 10 && $0.author != "a3" && $0.id > 12 }
    #expect(try archive.query.results() == rest)
    #expect(try archive.where { $0.year.within(0..<20) }.count() == 7)
    #expect(try archive.query.delete() == rest.count)
    #expect(try archive.count == 0)
  }
}
