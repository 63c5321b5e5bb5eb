// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The asynchronous forms, which work on threads of the archive's own.
struct ArchiveAsyncTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func everyCallHasAnAsynchronousForm() async throws {
    let archive = try place.openPersons()
    try await archive.upsert(ArchivePerson(1), durability: .power)
    try await archive.update(ArchivePerson(1, age: 2))
    #expect(try await archive.update(id: 1) { $0.age += 1 }?.age == 3)
    try await archive.upsert(all: [ArchivePerson(2), ArchivePerson(3)])
    try await archive.upsert(all: (4...20).map { ArchivePerson($0) })
    #expect(try await !archive.insertIfAbsent(ArchivePerson(4)))
    #expect(try await archive.element(forID: 1)?.age == 3)
    #expect(try await archive.contains(id: 20))
    #expect(try await archive.elements(limit: 3).map(\.id) == [1, 2, 3])
    #expect(try await archive.latestAccessTime(of: 1) == place.clock.date)
    try await archive.delete(id: 1)
    try await archive.delete(ArchivePerson(2))
    try await archive.delete(all: [ArchivePerson(3), ArchivePerson(4)])
    try await archive.delete(all: [ArchivePerson(5)])
    try await archive.delete(ids: [6, 7])
    try await archive.delete(ids: [8, 9])
    #expect(try await archive.elements().map(\.id) == Array(10...20))
    #expect(try await archive.deleteAll(olderThan: .seconds(1)) == 0)
    #expect(try await archive.deleteExpired() == 0)
    try await archive.setSizeLimit(1.megabytes)
    try await archive.checkpoint()
    try await archive.sync()
    #expect(try await archive.verify().isIntact)
    try await archive.deleteAll()
    #expect(try archive.isEmpty)
    try await archive.close()
    await #expect(throws: LarderError.self) { try await archive.element(forID: 1) }
    try await archive.destroy()
    #expect(try place.directory.names == [])
  }

  @Test @MainActor func theWorkIsDoneOnAnotherThread() async throws {
    let onMain = Locked<[Bool]>([])
    let cbor = Coder<ArchivePerson>.cbor
    let coder = Coder<ArchivePerson>(
      encode: { person in
        onMain.withLock { $0.append(Thread.isMainThread) }
        return try cbor.encode(person)
      },
      decode: { bytes in
        onMain.withLock { $0.append(Thread.isMainThread) }
        return try cbor.decode(bytes)
      })
    var configuration = place.configuration()
    configuration.memorySizeLimit = .zero
    let archive = try Archive(at: .path(place.path), coder: coder, configuration: configuration)
    try await archive.upsert(ArchivePerson(1))
    #expect(try await archive.element(forID: 1) != nil)
    #expect(onMain.withLock { $0 } == [false, false])
  }

  @Test func tasksOfManyKindsAtOnceAgreeInTheEnd() async throws {
    let archive = try place.openPersons {
      $0.checkpointInterval = .milliseconds(1)
      $0.memorySizeLimit = 500
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<20 {
        group.addTask {
          for number in 0..<20 {
            let id = task * 100 + number
            try await archive.upsert(ArchivePerson(id, age: task))
            #expect(try await archive.element(forID: id)?.age == task)
            if number % 2 == 1 { try await archive.delete(id: id) }
            try await archive.update(id: task * 100) { $0.age = task }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try archive.count == 200)
    #expect(try await archive.verify().isIntact)
  }

  /// What is short is stored where the caller is, if what was stored before was short, and removed
  /// there; what is long, synced, limited in size or unique, elsewhere.
  @Test(arguments: [false, true]) @MainActor
  func whatIsShortIsStoredInPlace(isUnique: Bool) async throws {
    let wasHere = Locked(false)
    let main = Locked(pthread_self())
    let coder = Coder<ArchivePerson>(
      encode: { person in
        wasHere.withLock { $0 = pthread_equal(pthread_self(), main.withLock { $0 }) != 0 }
        return try JSONEncoder().encode(person)
      },
      decode: { try JSONDecoder().decode(ArchivePerson.self, from: Data($0)) })
    let archive = try Archive<ArchivePerson>(
      at: .url(place.url), coder: coder,
      indexes: [ArchiveIndex("name", \.name, isUnique: isUnique)])
    func isStoredHere(
      _ name: String, mail: String? = nil, _ durability: Durability? = nil
    ) async throws -> Bool {
      main.withLock { $0 = pthread_self() }
      try await archive.upsert(ArchivePerson(1, name: name, mail: mail), durability: durability)
      let isThere = try await archive.where { $0.name == name }.count() == 1
      #expect(isThere)
      return wasHere.withLock { $0 }
    }
    #expect(try await !isStoredHere("first"))
    var countHere = 0
    // What another thread has just locked is not waited for.
    for number in 0..<100 where try await isStoredHere("short \(number)") { countHere += 1 }
    #expect(isUnique ? countHere == 0 : countHere > 0)
    #expect(try await !isStoredHere("long", mail: String(repeating: "x", count: 40_000)))
    #expect(try await !isStoredHere("behind a long one"))
    #expect(try await !isStoredHere("synced", .power))
    try await archive.setSizeLimit(1.megabytes)
    #expect(try await !isStoredHere("limited"))
    try await archive.delete(id: 1)
    #expect(try await !archive.contains(id: 1))
    try await archive.close()
  }
}
