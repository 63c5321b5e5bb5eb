// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What lies at or behind a bound is neither found nor counted nor deleted unless it is asked for.
struct ArchiveBoundsTests {
  private struct Job: Codable, Identifiable, Sendable {
    var id: Int
    var priority: UInt8
    var due = 0
    var order = 0
  }

  private struct Page: Codable, Identifiable, Sendable {
    var id: Int
    var url: String
    var hits = 0
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func archive<Element: Identifiable & Codable & Sendable>(
    _ elements: [Element], _ indexes: [ArchiveIndex<Element>]
  ) throws -> Archive<Element> where Element.ID: Codable & Sendable & SendableMetatype {
    let archive = try Archive<Element>(
      at: .path(directory.file("\(UUID())").path), indexes: indexes)
    try archive.insert(all: elements)
    return archive
  }

  @Test func aboveTheGreatestValueOfACompoundIndexIsNothing() throws {
    let jobs = (0..<20).map { Job(id: $0, priority: $0 < 10 ? 255 : 150, due: $0) }
    for indexes in [[], [ArchiveIndex("byPriority", \Job.priority, \.due)]] {
      let jobs = try archive(jobs, indexes)
      let above = jobs.where { $0.priority > 255 }
      #expect(try above.count() == 0)
      #expect(try above.results().isEmpty)
      #expect(try above.delete() == 0)
      let old = jobs.where { $0.priority > 100 && $0.priority != 255 }
      #expect(try old.count() == 10)
      #expect(try jobs.delete(where: { $0.priority > 100 && $0.priority != 255 }) == 10)
      #expect(try jobs.ids() == Array(0..<10))
    }
  }

  @Test func longTextsThatBeginAlikeAreFoundOnce() throws {
    let long = "https://example.org/?q=" + String(repeating: "x", count: 1_000)
    let urls = [long + "&page=1", long + "&page=2", long + "&page=3"]
    for indexes in [
      [], [ArchiveIndex("url", \Page.url)], [ArchiveIndex("both", \Page.url, \.hits)],
    ] {
      let pages = try archive(urls.enumerated().map { Page(id: $0, url: $1) }, indexes)
      let others = pages.where { $0.url.hasPrefix("https://") && $0.url != urls[0] }
      #expect(try others.results().map(\.id) == [1, 2])
      #expect(try others.count() == 2)
      let some = pages.where { $0.url.isOne(of: Array(urls.prefix(2))) }
      #expect(try some.results().map(\.id) == [0, 1])
      #expect(try some.sorted(by: \.url, .reverse).results().map(\.id) == [1, 0])
      #expect(try some.pages(of: 1).all().map { $0.map(\.id) } == [[0], [1]])
      #expect(try some.count() == 2)
      #expect(try some.update { $0.hits += 1 } == 2)
      #expect(try pages.elements().map(\.hits) == [1, 1, 0])
      #expect(try some.delete() == 2)
      #expect(try pages.ids() == [2])
    }
  }

  @Test func aPropertyThatAnIndexHasTwiceIsOneFact() throws {
    // The index finds fewer than that of the other property, and knows nothing of that.
    let jobs = try archive(
      (0..<3).map { Job(id: $0, priority: $0 == 0 ? 1 : 2, due: $0 == 0 ? 0 : 3) },
      [ArchiveIndex("twice", \Job.priority, \.priority), ArchiveIndex("due", \.due)])
    #expect(try jobs.where { $0.priority == 1 && $0.due == 3 }.count() == 0)
    #expect(try jobs.delete(where: { $0.priority == 1 && $0.due == 3 }) == 0)
    #expect(try jobs.ids() == [0, 1, 2])
  }

  @Test func whatQueriesLeaveOutIsNeitherCountedNorDeleted() throws {
    struct Old: Codable, Identifiable, Sendable { var id: Int, priority: String }
    let path = directory.file("a").path
    let old = try Archive<Old>(at: .path(path))
    try old.insert(all: (0..<10).map { Old(id: $0, priority: "\($0)") })
    try old.close()
    var configuration = ArchiveConfiguration()
    configuration.undecodable = .skip
    let jobs = try Archive<Job>(
      at: .path(path), indexes: [ArchiveIndex("priority", \.priority)], configuration: configuration
    )
    try jobs.insert(all: (20..<23).map { Job(id: $0, priority: 1) })
    #expect(try jobs.query.count() == 3)
    #expect(try jobs.limit(5).count() == 3)
    #expect(try jobs.query.skip(1).count() == 2)
    #expect(try jobs.where { $0.id < 100 }.count() == 3)
    #expect(try jobs.where { $0.priority > 0 }.count() == 3)
    #expect(try jobs.where { $0.id < 22 }.delete() == 2)
    #expect(try jobs.where { $0.priority > 0 }.delete() == 1)
    #expect(try jobs.query.delete() == 0)
    #expect(try jobs.ids() == Array(0..<10))
  }

  @Test func aSecondSortKeepsTheOrderOfTheFirst() throws {
    let all = (0..<12).map {
      Job(id: $0, priority: UInt8((12 - $0) / 3), due: $0 % 2, order: $0 % 2)
    }
    let orders: [[ArchiveIndex<Job>]] = [
      [], [ArchiveIndex("p", \.priority)], [ArchiveIndex("pd", \.priority, \.due)],
      [ArchiveIndex("pod", \.priority, \.order, \.due)],
    ]
    func sorted(_ jobs: some Sequence<Job>, _ areInOrder: (Job, Job) -> Bool) -> [Job] {
      jobs.enumerated().sorted { a, b in
        if areInOrder(a.element, b.element) { return true }
        return !areInOrder(b.element, a.element) && a.offset < b.offset
      }.map(\.element)
    }
    let up = sorted(all) { $0.priority < $1.priority }
    let down = sorted(all) { $0.priority > $1.priority }
    let both = sorted(sorted(all) { $0.due > $1.due }) { $0.priority < $1.priority }
    for indexes in orders {
      let jobs = try archive(all, indexes)
      let name = "\(indexes.map(\.name))"
      func expect(
        _ query: ArchiveQuery<Job>, _ jobs: some Sequence<Job>,
        _ location: SourceLocation = #_sourceLocation
      ) throws {
        let expected = sorted(jobs) { $0.order > $1.order }.map(\.id)
        let found = try query.sorted(by: \.order, .reverse).results().map(\.id)
        #expect(found == expected, "\(name)", sourceLocation: location)
      }
      try expect(jobs.sorted(by: \.priority).limit(10), up.prefix(10))
      try expect(jobs.sorted(by: \.priority, .reverse).skip(2), down.dropFirst(2))
      try expect(jobs.sorted(by: \.due, .reverse).sorted(by: \.priority).limit(10), both.prefix(10))
      try expect(
        jobs.sorted(by: \.due, .reverse).sorted(by: \.priority).skip(2), both.dropFirst(2))
      try expect(jobs.sorted(by: \.priority).where { $0.order >= 0 }, up)
    }
  }

  @Test func longKeysComeInTheirOrder() throws {
    struct Note: Codable, Identifiable, Sendable { var id: String, number = 1, other = 0 }
    let long = String(repeating: "x", count: 520)
    let names = ["a", "x", long + "1", long + "2", long + "3", long + "4", long + "5", "z"]
    for indexes in [[], [ArchiveIndex("number", \Note.number)]] {
      let notes = try archive(
        names.enumerated().map { Note(id: $1, other: $0 % 2) }.reversed(), indexes)
      func ids(_ query: ArchiveQuery<Note>) throws -> [Int?] {
        try query.results().map { names.firstIndex(of: $0.id) }
      }
      let queries = [
        notes.query, notes.where { $0.number == 1 }, notes.where { $0.number > 0 },
        notes.sorted(by: \.number), notes.sorted(by: \.number, .reverse), notes.sorted(by: \.id),
      ]
      for query in queries {
        #expect(try ids(query) == Array(0..<8))
        #expect(try ids(query.limit(3)) == [0, 1, 2])
        #expect(try ids(query.skip(3).limit(2)) == [3, 4])
        #expect(try query.last()?.id == "z")
        #expect(try query.limit(5).last()?.id == names[4])
        #expect(try query.pages(of: 3).all().flatMap { $0 }.map(\.id) == names)
        #expect(
          try query.where { $0.other == 0 }.results().map(\.id) == [0, 2, 4, 6].map { names[$0] })
        #expect(try ids(query.sorted(by: \.other)) == [0, 2, 4, 6, 1, 3, 5, 7])
      }
      #expect(try ids(notes.sorted(by: \.id, .reverse)) == (0..<8).reversed())
      #expect(try notes.where { $0.number.isOne(of: [1, 2]) }.count() == 8)
    }
  }
}
