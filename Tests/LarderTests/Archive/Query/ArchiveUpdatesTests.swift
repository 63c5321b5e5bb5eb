// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Results that are observed.
struct ArchiveUpdatesTests {
  private let place: CitizenPlace

  init() throws { place = try CitizenPlace() }

  private func open(_ citizens: [Citizen] = []) async throws -> Archive<Citizen> {
    let place = place
    return try await Archive<Citizen>.opening { try place.open(citizens) }
  }

  @Test func resultsComeAtOnceAndAgainWhenTheyAreOthers() async throws {
    let archive = try await open([Citizen(id: 1, age: 10), Citizen(id: 2, age: 20)])
    var updates = archive.where { $0.age > 15 }.sorted(by: \.age)
      .updates().makeAsyncIterator()
    #expect(try await updates.next()?.map(\.id) == [2])
    try await archive.upsert(Citizen(id: 3, age: 30))
    #expect(try await updates.next()?.map(\.id) == [2, 3])
    // Not among them; what comes next is the deletion.
    try await archive.upsert(Citizen(id: 4, age: 1))
    try await archive.delete(id: 2)
    #expect(try await updates.next()?.map(\.id) == [3])
    // Another value of the same element.
    try await archive.upsert(Citizen(id: 3, name: "Other", age: 30))
    #expect(try await updates.next()?.map(\.name) == ["Other"])
    try await archive.deleteAll()
    #expect(try await updates.next() == [])
  }

  @Test func whoWaitsIsWoken() async throws {
    let archive = try await open()
    let updates = archive.query.updates()
    let observer = Task {
      var sizes: [Int] = []
      for try await citizens in updates {
        sizes.append(citizens.count)
        if citizens.count == 20 { break }
      }
      return sizes
    }
    for id in 0..<20 { try await archive.upsert(Citizen(id: id)) }
    let sizes = try await observer.value
    // Several changes may have come as one.
    #expect(sizes == sizes.sorted())
    #expect(Set(sizes).count == sizes.count)
    #expect(sizes.last == 20)
  }

  @Test func closingTheArchiveEndsIt() async throws {
    let archive = try await open([Citizen(id: 1)])
    let started = AsyncStream<Void>.makeStream()
    let observer = Task {
      var count = 0
      for try await _ in archive.query.updates() {
        count += 1
        started.continuation.yield()
      }
      return count
    }
    for await _ in started.stream { break }
    try await archive.close()
    #expect(try await observer.value == 1)
  }

  @Test func theEndOfTheArchiveEndsIt() async throws {
    var archive: Archive<Citizen>? = try await open([Citizen(id: 1)])
    let updates = try #require(archive?.query.updates())
    var iterator = updates.makeAsyncIterator()
    #expect(try await iterator.next()?.count == 1)
    archive = nil
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
    var late = updates.makeAsyncIterator()
    #expect(try await late.next() == nil)
  }

  @Test func cancellingTheTaskEndsIt() async throws {
    let archive = try await open([Citizen(id: 1)])
    let started = AsyncStream<Void>.makeStream()
    let observer = Task {
      var count = 0
      for try await _ in archive.query.updates() {
        count += 1
        started.continuation.yield()
      }
      return count
    }
    for await _ in started.stream { break }
    observer.cancel()
    #expect(try await observer.value == 1)
  }

  @Test func whatAFilterThrowsComesOutAndEndsIt() async throws {
    struct Failure: Error {}
    let archive = try await open([Citizen(id: 1)])
    var updates = archive.filter { _ in throw Failure() }.updates().makeAsyncIterator()
    await #expect(throws: Failure.self) { try await updates.next() }
    #expect(try await updates.next() == nil)
  }

  @Test func manyObserversOfManyWriters() async throws {
    let archive = try await open()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for try await found in archive.where({ $0.age == 7 }).updates()
          where found.count == 100 { return found.count }
          return 0
        }
      }
      for writer in 0..<4 {
        group.addTask {
          for number in 0..<25 {
            try await archive.upsert(Citizen(id: writer * 25 + number, age: 7))
          }
          return 100
        }
      }
      for try await count in group { #expect(count == 100) }
    }
  }
}
