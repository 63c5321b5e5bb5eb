// SPDX-License-Identifier: MIT

import Foundation
@testable import Larder
import LarderTestSupport
import Testing

/// What elements are found by is kept with them, and made anew when it is declared otherwise.
struct ArchiveReindexingTests {
  private let place: ArchivePlace
  private let age = ArchiveIndex<ArchivePerson>("age", \.age)
  private let name = ArchiveIndex<ArchivePerson>("name", \.name)

  init() throws { place = try ArchivePlace() }

  private func open(
    _ indexes: [ArchiveIndex<ArchivePerson>],
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<ArchivePerson> {
    try place.open(ArchivePerson.self, indexes: indexes, change)
  }

  /// The keys in the order of an index, as the store has them.
  private func ids(
    _ archive: Archive<ArchivePerson>, by index: ArchiveIndex<ArchivePerson>
  ) throws -> [Int] {
    var selection = StoreSelection()
    selection.index = index.number
    var ids: [Int] = []
    var cursor = try StoreCursor(archive.store, selection)
    while try cursor.next({ ids.append(try archive.keyCoder.decode($0.key)) }) {}
    return ids
  }

  private func fill(_ archive: Archive<ArchivePerson>) throws {
    try archive.upsert(
      all: (1...9).map { ArchivePerson($0, name: "\(($0 * 5) % 10)", age: 100 - $0) })
  }

  @Test func indexesFollowEveryWrite() throws {
    let archive = try open([age, name])
    try fill(archive)
    #expect(try ids(archive, by: age) == Array((1...9).reversed()))
    try archive.upsert(ArchivePerson(5, age: 0))
    try archive.update(id: 6) { $0.age = 1 }
    try archive.delete(id: 9)
    try archive.checkpoint()
    #expect(try ids(archive, by: age) == [5, 6, 8, 7, 4, 3, 2, 1])
    #expect(try archive.verify().isIntact)
  }

  @Test func otherIndexesAreMadeOnce() throws {
    try fill(try open([]))
    var archive: Archive? = try open([age])
    #expect(try archive.map { try ids($0, by: age) } == Array((1...9).reversed()))
    #expect(try archive?.statistics.written == 9)
    #expect(try archive?.verify().isIntact == true)
    archive = nil
    archive = try open([age])
    #expect(try archive?.statistics.written == 0)
    archive = nil
    archive = try open([name])
    #expect(try archive.map { try ids($0, by: name) } == [2, 4, 6, 8, 1, 3, 5, 7, 9])
    #expect(try archive.map { try ids($0, by: age) } == [])
    #expect(try archive?.elements().count == 9)
    archive = nil
    archive = try open([])
    #expect(try archive.map { try ids($0, by: name) } == [])
    #expect(try archive?.verify().isIntact == true)
  }

  @Test func queriesUseTheIndexesThatThereAreNow() throws {
    try fill(try open([]))
    let archive = try open([age])
    try archive.upsert(ArchivePerson(10, age: 99))
    let found = try archive.where { $0.age > 98 }
      .sorted(by: \.age, .reverse).results()
    #expect(found.map(\.id) == [1, 10])
  }

  @Test func theOrderOfDeclarationsDoesNotMatterButTheirTypesDo() throws {
    try fill(try open([age, name]))
    #expect(try open([name, age]).statistics.written == 0)
    let text = ArchiveIndex<ArchivePerson>("age", \.name)
    let archive = try open([text, name])
    #expect(try archive.statistics.written == 9)
    #expect(try ids(archive, by: text) == [2, 4, 6, 8, 1, 3, 5, 7, 9])
  }

  @Test func manyAndLargeElementsAreIndexedInBatches() throws {
    var archive: Archive? = try open([]) {
      $0.journalCapacity = 64 << 10
    }
    for id in 1...2500 {
      // Some are larger than all that may wait for a checkpoint.
      let length = id % 1000 == 0 ? 100_000 : id % 100 == 0 ? 5000 : id % 50
      let name = String(repeating: "n", count: length)
      try archive?.upsert(ArchivePerson(id, name: name, age: -id))
    }
    archive = nil
    let again = try open([age]) { $0.journalCapacity = 64 << 10 }
    #expect(try ids(again, by: age) == Array((1...2500).reversed()))
    #expect(try again.element(forID: 2500)?.name.count == 5000)
    #expect(try again.verify().isIntact)
  }

  @Test func accessTimesAndTheirOrderStay() throws {
    var archive: Archive? = try open([])
    for id in 1...4 { try archive?.upsert(ArchivePerson(id)) }
    let start = place.clock.date
    place.clock.advance(10)
    for id in [3, 1] { _ = try archive?.element(forID: id) }
    try archive?.close()
    archive = nil
    place.clock.advance(10)
    let again = try open([age])
    #expect(try again.latestAccessTime(of: 1) == start + 10)
    #expect(try again.latestAccessTime(of: 2) == start)
    try again.setSizeLimit(try again.size - 1)
    #expect(try again.elements().map(\.id) == [1, 3, 4])
    #expect(try again.deleteAll(olderThan: .seconds(15)) == 1)
    #expect(try again.elements().map(\.id) == [1, 3])
  }

  @Test func anElementThatCannotBeDecodedStays() throws {
    let cbor = Coder<ArchivePerson>.cbor
    let picky = Coder<ArchivePerson>(
      format: "cbor", encode: { try cbor.encode($0) },
      decode: { bytes in
        let person: ArchivePerson = try cbor.decode(bytes)
        guard person.id != 5 else { throw CocoaError(.coderReadCorrupt) }
        return person
      })
    try fill(try open([]))
    let archive = try Archive(
      at: .path(place.path), coder: picky, indexes: [age], configuration: place.configuration())
    #expect(try ids(archive, by: age) == [9, 8, 7, 6, 4, 3, 2, 1])
    #expect(errorCode { try archive.element(forID: 5) } == .decoding)
    try archive.close()
    #expect(try open([age]).element(forID: 5)?.age == 95)
  }

  @Test func aCrashWhileIndexingIsMadeUpFor() throws {
    try fill(try open([]))
    // As a crash leaves it: elements that are written again, and a store that does not say so.
    var options = place.configuration().options
    options.contentFormatNumber = ArchiveFormat(coder: "cbor", indexes: [name, age]).number
    var found: UInt64 = 0
    #expect(throws: LarderError.self) {
      _ = try StoreHandle(path: place.path, options: options, foundFormat: &found)
    }
    #expect(ArchiveFormat(number: found)?.indexes == 0)
    do {
      options.contentFormatNumber = found
      let store = try StoreHandle(path: place.path, options: options)
      try store.setContentFormat(found)
    }
    let archive = try open([name, age])
    #expect(try ids(archive, by: name) == [2, 4, 6, 8, 1, 3, 5, 7, 9])
    #expect(try ids(archive, by: age) == Array((1...9).reversed()))
  }

  @Test func aReaderWithOtherIndexesDoesWithout() throws {
    let writer = try open([age])
    try fill(writer)
    let reader = try open([name]) { $0.isReadOnly = true }
    #expect(reader.indexes.isEmpty)
    #expect(try reader.element(forID: 1) != nil)
    #expect(try open([age]) { $0.isReadOnly = true }.indexes.count == 1)
  }

  @Test func indexesThatCannotBeToldApartAreRefused() throws {
    #expect(errorCode { try open([age, age]) } == .invalidArgument)
    let many = (0...64).map { ArchiveIndex<ArchivePerson>("index \($0)", \.age) }
    #expect(errorCode { try open(many) } == .invalidArgument)
    #expect(try place.directory.names == [])
    #expect(try open(Array(many.dropLast())).indexes.count == 64)
  }

  @Test func theFormatIsWhatTheDocumentationSays() {
    let none = ArchiveFormat(coder: "", indexes: [ArchiveIndex<ArchivePerson>]())
    #expect(none.number == 0x414C_0000_0000_0000)
    let format = ArchiveFormat(coder: "cbor", indexes: [age])
    #expect(format.coder == ArchiveFormat.number(ofCoder: "cbor"))
    #expect(ArchiveFormat(number: format.number) == format)
    #expect(ArchiveFormat(number: 0x454C_0001_0000_0001) == nil)
    #expect(Set(["cbor", "json", "plist", "cbor+z"].map(ArchiveFormat.number)).count == 4)
  }

  @Test func openingTellsHowFarItIsAndCanBeStopped() throws {
    let count = 2500
    do {
      let archive = try open([age])
      try archive.upsert(all: (1...count).map { ArchivePerson($0, name: "n", age: $0) })
      try archive.close()
    }
    let told = Locked<[(done: UInt64, total: UInt64)]>([])
    for stopsAfter in [0, 1] {
      told.withLock { $0 = [] }
      #expect(throws: CancellationError.self) {
        try open([name]) {
          $0.openingProgress = { done, total in
            told.withLock { told in
              told.append((done, total))
              return told.count <= stopsAfter
            }
          }
        }
      }
      #expect(told.withLock { $0.count } == stopsAfter + 1)
      // The indexes of before are what they were, for whoever declares those.
      let archive = try open([age])
      #expect(try ids(archive, by: age) == Array(1...count))
      try archive.close()
    }
    told.withLock { $0 = [] }
    let archive = try open([name]) {
      $0.openingProgress = { done, total in
        told.withLock { $0.append((done, total)) }
        return true
      }
    }
    let calls = told.withLock { $0 }
    #expect(calls.count > 2 && calls.last?.done == 2500)
    #expect(zip(calls, calls.dropFirst()).allSatisfy { $0.done < $1.done })
    #expect(calls.allSatisfy { $0.total == 2500 })
    #expect(try ids(archive, by: name).count == count)
    try archive.suspend()
    try archive.resume()
    #expect(told.withLock { $0.count } == calls.count, "only opening tells")
  }

  @Test func openingTellsOfALongLogAndCanBeStopped() throws {
    let archive = try open([]) { $0.journalCapacity = 64 << 20 }
    let text = String(repeating: "x", count: 100_000)
    for number in 1...40 { try archive.upsert(ArchivePerson(number, name: text)) }
    // As a kill leaves it.
    let copy = place.path + "-copy"
    // A segment that was made in advance may be given back meanwhile.
    while (try? FileManager.default.copyItem(atPath: place.path, toPath: copy)) == nil {
      try? FileManager.default.removeItem(atPath: copy)
    }
    let calls = Locked(0)
    let open = { (goesOn: Bool) in
      var configuration = ArchiveConfiguration()
      configuration.openingProgress = { done, total in
        calls.withLock { $0 += 1 }
        return goesOn && done <= total
      }
      return try Archive<ArchivePerson>(at: .path(copy), coder: .cbor, configuration: configuration)
    }
    #expect(throws: CancellationError.self) { try open(false) }
    #expect(calls.withLock { $0 } == 1)
    #expect(try open(true).elements().count == 40)
    #expect(calls.withLock { $0 } > 2)
  }
}
