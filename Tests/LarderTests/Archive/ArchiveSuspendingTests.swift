// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// An archive that is suspended, written by somebody else meanwhile, and resumed.
struct ArchiveSuspendingTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  private func visit<R>(_ body: (Archive<ArchivePerson>) throws -> R) throws -> R {
    let visitor = try place.openPersons()
    let result = try body(visitor)
    try visitor.close()
    return result
  }

  @Test func whileItIsSuspendedOthersWriteAndNothingIsHeld() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1, name: "Ada"))
    #expect(errorCode { try visit { _ in } } == .busy)
    try archive.suspend()
    #expect(archive.isSuspended && filesHeld(under: place.url) == [])
    #expect(errorCode { try archive.element(forID: 1) } == .suspended)
    #expect(errorCode { try archive.upsert(ArchivePerson(2)) } == .suspended)
    #expect(errorCode { try archive.count } == .suspended)
    #expect(errorCode { try archive.deleteAll() } == .suspended)
    try visit { try $0.update(ArchivePerson(1, name: "Grace")) }
    try archive.resume()
    // Not what was in memory.
    #expect(try archive.element(forID: 1)?.name == "Grace")
    #expect(try archive.verify().isIntact)
  }

  @Test func whatIsInMemoryIsNeverOfTheTimeBefore() throws {
    let archive = try place.openPersons()
    // Read twice, an element is in memory with what the store knows of it: so many writes. The
    // store counts anew after each resumption, and comes to the same numbers.
    for round in 0..<20 {
      try archive.upsert(ArchivePerson(1, age: round))
      #expect(try archive.element(forID: 1)?.age == round)
      #expect(try archive.element(forID: 1)?.age == round)
      try archive.suspend()
      try visit { try $0.update(ArchivePerson(1, age: 1000 + round)) }
      try archive.resume()
      #expect(try archive.element(forID: 1)?.age == 1000 + round)
    }
  }

  @Test func aTraceOfTheTimeBeforeIsNotBelieved() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    let key = try archive.keyCoder.encode(1)
    var trace = StoreTrace()
    func isSame() throws -> Bool {
      try key.withUnsafeBytes { try archive.store.readAgain(StoreKey($0), .use, &trace) }
    }
    #expect(try !isSame())
    #expect(try isSame())
    try archive.suspend()
    try archive.resume()
    #expect(try !isSame())
    #expect(try isSame())
  }

  @Test func anArchiveOfALimitedSizeStaysWithinIt() throws {
    let archive = try place.openBlocks { $0.sizeLimit = DataSize(bytes: 2000) }
    for id in 0..<10 { try archive.upsert(ArchiveBlock(id: "\(id)", size: 100)) }
    try archive.suspend()
    let visitor = try place.openBlocks()
    for id in 100..<117 { try visitor.upsert(ArchiveBlock(id: "\(id)", size: 100)) }
    try visitor.close()
    try archive.resume()
    for id in 200..<205 { try archive.upsert(ArchiveBlock(id: "\(id)", size: 100)) }
    #expect(try archive.size.bytes <= 2000)
  }

  @Test func anObserverWaitsAndGoesOn() async throws {
    let place = place
    let archive = try await Archive<ArchivePerson>.opening { try place.openPersons() }
    var updates = archive.query.updates().makeAsyncIterator()
    #expect(try await updates.next() == [])
    try await archive.suspend()
    let next = Task { [updates] in
      var updates = updates
      return try await updates.next()?.map(\.id)
    }
    let visitor = try await Archive<ArchivePerson>.opening { try place.openPersons() }
    try await visitor.upsert(ArchivePerson(7))
    try await visitor.close()
    try await archive.resume()
    #expect(try await next.value == [7])
  }

  @Test func anObserverOfASuspendedArchiveThatIsGoneEnds() async throws {
    let place = place
    var archive: Archive<ArchivePerson>? = try await Archive<ArchivePerson>.opening {
      try place.openPersons()
    }
    let updates = try #require(archive?.query.updates())
    try await archive?.suspend()
    let end = Task {
      var iterator = updates.makeAsyncIterator()
      return try await iterator.next() == nil
    }
    archive = nil
    #expect(try await end.value)
  }

  @Test func aQueryThatIsInterruptedSaysSo() throws {
    let archive = try place.openPersons()
    for id in 0..<10 { try archive.upsert(ArchivePerson(id)) }
    let code = errorCode {
      try archive.where {
        $0.age.satisfies { _ in
          try? archive.suspend()
          try? archive.resume()
          return true
        }
      }.results()
    }
    #expect(code == .suspended)
    #expect(try archive.count == 10)
  }

  @Test func aSuspendedArchiveIsClosedForGood() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    try archive.suspend()
    try archive.close()
    #expect(archive.isClosed)
    #expect(errorCode { try archive.element(forID: 1) } == .closed)
    #expect(errorCode { try archive.resume() } == .closed)
    #expect(try visit { try $0.count } == 1)
  }

  @Test func aSuspendedArchiveIsDeleted() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    try archive.suspend()
    try archive.destroy()
    #expect(!FileManager.default.fileExists(atPath: place.path))
  }
}
