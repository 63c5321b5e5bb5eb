// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

// Example: archive
struct Book: Codable, Identifiable, Sendable {
  var id: Int
  var title: String
  var year: Int
  var author: String?
}
// End of example

private struct Member: Codable, Identifiable, Sendable {
  var id: Int
  var name: String
  var email: String?
}

private struct NovelV1: Codable, Identifiable, Sendable {
  var id: Int
  var name: String
}

private struct NovelV2: Codable, Identifiable, Sendable {
  var id: Int
  var title: String
}

private struct Novel: Codable, Identifiable, Sendable {
  var id: Int
  var title: String
  var pages: Int
}

/// The Swift examples of the article on archives.
@Suite("The examples on archives") struct ArchiveExamples {
  private let directory: TemporaryDirectory
  private let folder: URL
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("books")
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  private func open() throws -> Archive<Book> {
    let books = try Archive<Book>(at: .url(folder), indexes: [ArchiveIndex("year", \.year)])
    try books.insert(all: [
      Book(id: 1, title: "Notes", year: 1843, author: "Ada"),
      Book(id: 2, title: "Beowulf", year: 975),
      Book(id: 3, title: "Sketches", year: 1850, author: "Ada"),
    ])
    return books
  }

  @Test func insertAndFind() throws {
    // Example: archive
    let books = try Archive<Book>(
      at: .url(folder), indexes: [ArchiveIndex("year", \.year), ArchiveIndex("title", \.title)])
    try books.insert(Book(id: 1, title: "Notes", year: 1843, author: "Ada"))
    try books.insert(all: [
      Book(id: 2, title: "Beowulf", year: 975),
      Book(id: 3, title: "Sketches", year: 1850, author: "Ada"),
    ])

    let found = try books.where { $0.year > 1800 && $0.author != nil }
      .sorted(by: \.year, .reverse).limit(10).results()
    print(found.map(\.title))  // ["Sketches", "Notes"]
    // End of example
    #expect(transcript.lines == [#"["Sketches", "Notes"]"#])
    #expect(try books.count == 3)
  }

  @Test func insertUpdateDelete() throws {
    let books = try open()
    // Example: insert, update, delete
    try books.upsert(Book(id: 4, title: "Poems", year: 1650, author: "Anne"))
    try books.update(id: 4) { $0.year = 1651 }
    let poems = try books.element(forID: 4)
    print(poems?.year ?? 0, try books.elements(limit: 2).count)  // 1651 2

    let count = try books.update(where: { $0.author == nil }) { $0.author = "unknown" }
    print(count, try books.delete(where: { $0.year > 1600 && $0.year < 1700 }))  // 1 1
    try books.deleteAll(olderThan: .seconds(30 * 24 * 3600))
    // End of example
    #expect(transcript.lines == ["1651 2", "1 1"])
    #expect(try books.count == 3)
  }

  @Test func limits() throws {
    // Example: archive limits
    var configuration = ArchiveConfiguration()
    configuration.sizeLimit = 10.megabytes
    configuration.memorySizeLimit = 512.kilobytes
    let small = try Archive<Book>(at: .url(folder), configuration: configuration)
    // End of example
    #expect(small.sizeLimit?.bytes == 10 << 20)
  }

  @Test func predicates() throws {
    let books = try open()
    // Example: predicate
    let year = 1800
    let byAda = try books.where(\.year > year && \.author == "Ada")
      .sorted(by: \.title, .reverse).results()
    print(byAda.map(\.id))  // [3, 1]

    let same = books.where(#Predicate<Book> { $0.year > year && $0.author == "Ada" })
    print(try same.count(), try same.first()?.id ?? 0, try same.max(\.year) ?? 0)  // 2 1 1850
    // End of example
    #expect(transcript.lines == ["[3, 1]", "2 1 1850"])
  }

  @Test func uniqueIndexes() throws {
    // Example: archive unique
    let members = try Archive<Member>(
      at: .url(folder), indexes: [ArchiveIndex("email", \.email, isUnique: true)])
    try members.insert(all: [
      Member(id: 1, name: "Ada", email: "ada@example.org"),
      Member(id: 2, name: "Bea"), Member(id: 3, name: "Cleo"),
    ])
    do {
      try members.insert(Member(id: 4, name: "Dora", email: "ada@example.org"))
    } catch let error as LarderError where error.code == .duplicate {
      let other = error.cause as? ArchiveDuplicate
      print(other?.index ?? "", other?.id ?? "")  // email 1
    }
    // End of example
    #expect(try transcript.lines == ["email 1"] && members.count == 3)
  }

  @Test func transactions() throws {
    let books = try open()
    // Example: archive transaction
    let both = try books.transaction { books in
      let ada = books.where { $0.author == "Ada" }
      for book in try ada.results() { try books.update(id: book.id) { $0.year += 1 } }
      try books.insert(Book(id: 4, title: "Letters", year: 1844, author: "Ada"))
      try books.delete(id: 2)
      return try ada.sorted(by: \.year).results().map(\.title)
    }
    print(both)  // ["Notes", "Letters", "Sketches"]
    // End of example
    #expect(transcript.lines == [#"["Notes", "Letters", "Sketches"]"#])
    #expect(try books.count == 3)
  }

  @Test func schemaVersions() throws {
    do {
      let novels = try Archive<NovelV1>(at: .url(folder))
      try novels.insert(NovelV1(id: 1, name: "Emma"))
      try novels.close()
    }
    // Example: archive schema
    let schema = ArchiveSchema<Novel>(
      version: 3,
      migrations: [
        ArchiveMigration(from: 1, NovelV1.self) { NovelV2(id: $0.id, title: $0.name) },
        ArchiveMigration(from: 2, NovelV2.self) { Novel(id: $0.id, title: $0.title, pages: 0) },
      ])
    let novels = try Archive<Novel>(
      at: .url(folder), indexes: [ArchiveIndex("pages", \.pages)], schema: schema)
    print(try novels.element(forID: 1)?.title ?? "")  // Emma
    // End of example
    #expect(transcript.lines == ["Emma"])
  }

  @Test func explain() throws {
    let books = try open()
    // Example: explain
    let query = books.where { $0.year > 1800 }.sorted(by: \.year)
    print(try query.explain())
    // index year, year > 1800, sorted by it: 2 results, 2 elements looked at, 2 decoded
    // End of example
    #expect(
      transcript.lines == [
        "index year, year > 1800, sorted by it: 2 results, 2 elements looked at, 2 decoded"
      ])
  }

  @Test func severalProperties() throws {
    let books = try open()
    // Example: archive compound
    let shelves = try Archive<Book>(
      at: .url(folder.appendingPathComponent("shelves")),
      indexes: [ArchiveIndex("authorYear", \.author, \.year)])
    try shelves.insert(all: books.elements())
    let late = shelves.where { $0.author == "Ada" && $0.year > 1845 }
    print(try late.explain())
    // index authorYear, author == "Ada" and year > 1845: 1 results, 1 elements looked at, 1 decoded
    // End of example
    #expect(
      transcript.lines == [
        #"index authorYear, author == "Ada" and year > 1845: 1 results, 1 elements looked at, "#
          + "1 decoded"
      ])
  }

  @Test func verifying() throws {
    try open().close()
    // Example: verifying
    let decades = try Archive<Book>(
      at: .url(folder), indexes: [ArchiveIndex("year", \.year, version: 2)])
    let report = try decades.verify()
    if report.differing + report.unindexed > 0 { try decades.reindex() }
    // End of example
    #expect(report.isIntact)
  }

  @Test func pages() throws {
    let books = try open()
    // Example: pages
    var pages = books.sorted(by: \.title).pages(of: 2)
    while let page = try pages.next() { print(page.map(\.title)) }
    // ["Beowulf", "Notes"]
    // ["Sketches"]
    // End of example
    #expect(transcript.lines == [#"["Beowulf", "Notes"]"#, #"["Sketches"]"#])
  }

  @Test func watch() async throws {
    let books = try await Archive<Book>.opening { [folder] in try Archive(at: .url(folder)) }
    try await books.upsert(Book(id: 1, title: "Notes", year: 1843))
    try await books.upsert(Book(id: 2, title: "Beowulf", year: 975))
    async let third: Void = books.upsert(Book(id: 3, title: "Sketches", year: 1850))
    // Example: updates
    for try await titles in books.sorted(by: \.year).updates() {
      print(titles.map(\.title))
      if titles.count == 3 { break }
    }
    // End of example
    try await third
    #expect(transcript.lines.last == #"["Beowulf", "Notes", "Sketches"]"#)
  }
}
