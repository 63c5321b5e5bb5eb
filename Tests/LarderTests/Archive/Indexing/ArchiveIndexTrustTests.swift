// SPDX-License-Identifier: MIT

import Foundation
@testable import Larder
import LarderTestSupport
import Testing

/// An index is only used while it is certainly what the archive would build from the elements.
struct ArchiveIndexTrustTests {
  private struct Pair: Codable, Identifiable, Sendable, Equatable {
    var id: Int, a: Int, b: Int
    var sum: Int { a + b }
  }
  /// The same elements in another release: what is computed has changed.
  private struct Difference: Codable, Identifiable, Sendable {
    var id: Int, a: Int, b: Int
    var sum: Int { a - b }
  }
  /// A release with a field that others lack.
  private struct Strict: Codable, Identifiable, Sendable {
    var id: Int, a: Int, b: Int, z: Int
  }
  private struct Other: Codable, Identifiable, Sendable {
    var id: Int, title: String
  }

  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  private func pairs(
    _ indexes: [ArchiveIndex<Pair>] = [ArchiveIndex("a", \.a)],
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<Pair> {
    try place.open(Pair.self, indexes: indexes, change)
  }

  private func fill(_ count: Int = 20, _ indexes: [ArchiveIndex<Pair>]? = nil) throws {
    let archive = try pairs(indexes ?? [ArchiveIndex("a", \.a)])
    try archive.upsert(all: (0..<count).map { Pair(id: $0, a: $0 % 10, b: 2) })
    try archive.close()
  }

  /// Elements of which those of release `Strict` are every third.
  private func fillStrict() throws {
    try fill()
    let archive = try place.open(Strict.self, indexes: [ArchiveIndex("a", \.a)]) {
      $0.undecodable = .skip
    }
    try archive.upsert(
      all: stride(from: 0, to: 20, by: 3).map { Strict(id: $0, a: $0 % 10, b: 2, z: 1) })
    try archive.close()
  }

  // MARK: - Declarations

  @Test func aDeclarationIsTheSameInEachProcessAndAnotherOneForAnotherProperty() {
    let first = ArchiveIndex<Pair>("k", \.a)
    #expect(first.declaration == "\"k\" 0 .a:Int")
    #expect(ArchiveIndex<Pair>("k", \.sum).declaration == "\"k\" 0 .<computed  (Int)>:Int")
    let inner = ArchiveIndex<ArchiveStructure>("k", \.innerStructure?.someText)
    #expect(inner.declaration.contains(".innerStructure?.someText"))
    let others = [
      ArchiveIndex<Pair>("l", \.a), ArchiveIndex("k", \.b), ArchiveIndex("k", \.sum),
      ArchiveIndex("k", \.a, version: 1),
    ]
    #expect(Set((others + [first]).map(\.declaration)).count == 5)
    #expect(ArchiveIndex<Difference>("k", \.a).declaration == first.declaration)
  }

  @Test func anotherPropertyUnderTheSameNameIsIndexedAnew() throws {
    try fill(20, [ArchiveIndex("k", \.a)])
    let archive = try pairs([ArchiveIndex("k", \.b)])
    let query = archive.where { $0.b == 2 }
    #expect(try query.explain().index == "k")
    #expect(try query.count() == 20)
  }

  @Test func anotherVersionIsIndexedAnew() throws {
    try fill()
    #expect(try pairs([ArchiveIndex("a", \.a, version: 1)]).statistics.written == 20)
    #expect(try pairs([ArchiveIndex("a", \.a, version: 1)]).statistics.written == 0)
  }

  @Test func anIndexThatGivesSomethingElseIsBuiltAnewAlthoughItIsDeclaredAsBefore() throws {
    try fill(20, [ArchiveIndex("sum", \.sum)])
    let told = Locked<[UInt64]>([])
    let archive = try place.open(Difference.self, indexes: [ArchiveIndex("sum", \.sum)]) {
      $0.openingProgress = { done, _ in
        told.withLock { $0.append(done) }
        return true
      }
    }
    #expect(told.withLock { $0 } == [20])
    #expect(try archive.where { $0.sum == -2 }.count() == 2)
    #expect(try archive.verify().isIntact)
  }

  @Test func ofManyElementsSomeAllOverTheFolderAreLookedAt() throws {
    let archive = try place.open(ArchivePerson.self)
    try archive.upsert(all: (0..<3000).map { ArchivePerson($0) })
    let looked = Locked<Set<Int>>([])
    try archive.close()
    let coder = Coder<ArchivePerson>(
      format: "cbor", encode: { try Coder.cbor.encode($0) },
      decode: { bytes in
        let person: ArchivePerson = try Coder.cbor.decode(bytes)
        looked.withLock { _ = $0.insert(person.id / 300) }
        return person
      })
    let again = try Archive(
      at: .path(place.path), coder: coder, configuration: place.configuration())
    #expect(looked.withLock { $0.count } == 10)
    #expect(try again.takeSample().count <= 66)
    // Texts, whose bytes leave most of the room between them empty.
    let texts = try Archive<ArchiveBlock>(
      at: .path(place.directory.file("texts").path), coder: ArchiveBlock.coder)
    try texts.upsert(all: (0..<3000).map { ArchiveBlock(id: "element \($0)", size: 30) })
    #expect(try (50...66).contains(texts.takeSample().count))
  }

  @Test func anArchiveThatIsOpenedAsItWasIsNotWrittenTo() throws {
    try fill(2000)
    let archive = try pairs()
    #expect(try archive.statistics.written == 0)
    #expect(archive.indexes.count == 1)
  }

  @Test func aFolderThatDoesNotSayWhatItHasIsIndexedAnew() throws {
    try fill()
    do {
      var options = place.configuration().options
      options.contentFormatNumber = 0
      let store = try StoreHandle(path: place.path, options: options)
      try store.setContentFormat(0)
    }
    let archive = try pairs()
    #expect(try archive.statistics.written == 20)
    #expect(try archive.where { $0.a == 3 }.explain().index == "a")
  }

  // MARK: - Building

  @Test func aKillWhileIndexesAreBuiltLeavesNobodyTheirs() throws {
    try fill(40)
    let copies = Locked(0)
    let place = place
    #expect(throws: CancellationError.self) {
      try pairs([ArchiveIndex("b", \.b)]) {
        $0.journalCapacity = 64 << 10
        $0.openingProgress = { _, _ in
          copies.withLock { number in
            // As a kill leaves it: some batches are written, others are not.
            let copy = place.path + "-\(number)"
            try? FileManager.default.copyItem(atPath: place.path, toPath: copy)
            number += 1
            return number < 3
          }
        }
      }
    }
    for number in 0..<3 {
      let copy = place.path + "-\(number)"
      let reader = try Archive<Pair>(
        at: .path(copy), coder: .cbor, indexes: [ArchiveIndex("a", \.a)],
        configuration: place.configuration { $0.isReadOnly = true })
      #expect(reader.indexes.isEmpty)
      #expect(try reader.where { $0.a == 3 }.count() == 4)
      try reader.close()
      // The release of before.
      let archive = try Archive<Pair>(
        at: .path(copy), coder: .cbor, indexes: [ArchiveIndex("a", \.a)],
        configuration: place.configuration())
      #expect(try archive.where { $0.a == 3 }.count() == 4)
      #expect(try archive.verify().isIntact)
    }
  }

  @Test func indexesAreBuiltByHandWhileOthersWrite() throws {
    try fill(3000)
    let archive = try pairs()
    var calls = 0
    try archive.reindex { done, total in
      calls += 1
      // None of that is there in the snapshot that is being written again.
      try? archive.upsert(Pair(id: 2500, a: 77, b: calls))
      try? archive.delete(id: 2400)
      try? archive.upsert(Pair(id: 5000 + calls, a: 77, b: 0))
      let seventy = archive.where { $0.a == 77 }
      #expect((try? seventy.explain().index) == .some(nil))
      #expect((try? seventy.count()) == calls + 1)
      return done <= total
    }
    #expect(calls > 2)
    #expect(try archive.element(forID: 2500)?.b == calls)
    #expect(try archive.element(forID: 2400) == nil)
    let query = archive.where { $0.a == 77 }
    #expect(try query.explain().index == "a")
    #expect(try query.count() == calls + 1)
    #expect(try archive.verify().isIntact)
  }

  @Test func aBuildThatWasStoppedLeavesTheArchiveWithoutIndexes() async throws {
    try fill(20)
    let archive = try pairs()
    #expect(throws: CancellationError.self) { try archive.reindex { _, _ in false } }
    #expect(archive.indexes.isEmpty)
    #expect(try await archive.where { $0.a == 3 }.count() == 2)
    try await archive.reindex()
    #expect(archive.indexes.count == 1)
    let reader = try pairs { $0.isReadOnly = true }
    #expect(errorCode { try reader.reindex() } == .readOnly)
  }

  // MARK: - Elements that cannot be decoded

  @Test func anElementThatCannotBeDecodedIsNamedByQueriesThatWouldNeedIt() throws {
    try fillStrict()
    let archive = try place.open(Strict.self, indexes: [ArchiveIndex("a", \.a)])
    for query in [archive.where { $0.a == 9 }, archive.sorted(by: \.a)] {
      let failure = error { try query.results() }
      #expect(failure?.code == .decoding)
      #expect(failure?.message.contains("with the primary key 1 ") == true)
    }
    #expect(errorCode { try archive.where { $0.a == 9 }.count() } == .decoding)
    #expect(errorCode { try archive.elements() } == .decoding)
    let failure = error { try archive.element(forID: 4) }
    #expect(failure?.code == .decoding)
    #expect(failure?.message.contains("with the primary key 4 ") == true)
    // It is usable all the same.
    #expect(try archive.element(forID: 3)?.z == 1)
    #expect(try archive.count == 20)
    #expect(try archive.ids() == Array(0..<20))
    #expect(try archive.unindexedIDs() == (0..<20).filter { $0 % 3 != 0 })
    #expect(try archive.unindexedIDs(limit: 2) == [1, 2])
    try archive.delete(ids: archive.unindexedIDs())
    #expect(try archive.where { $0.a == 9 }.results().map(\.id) == [9])
    #expect(try archive.verify().undecodable == 0)
  }

  @Test func elementsThatCannotBeDecodedAreLeftOutAndCountedIfThatIsAskedFor() async throws {
    try fillStrict()
    let archive = try place.open(Strict.self, indexes: [ArchiveIndex("a", \.a)]) {
      $0.undecodable = .skip
    }
    let query = archive.where { $0.a == 9 }
    #expect(try await query.results().map(\.id) == [9])
    let explanation = try await query.explain()
    #expect(explanation.index == "a" && explanation.undecodable == 13)
    #expect(explanation.description.hasSuffix(", 13 that cannot be decoded left out"))
    let scan = archive.filter { $0.a == 9 }
    #expect(try await scan.results().map(\.id) == [9])
    #expect(try await scan.explain().undecodable == 13)
    #expect(try await archive.elements().count == 7)
    #expect(try await archive.ids(limit: 3) == [0, 1, 2])
    #expect(try await archive.unindexedIDs().count == 13)
    let report = try await archive.verify()
    #expect(report.isIntact && report.undecodable == 13 && report.comparedIndexes)
  }

  @Test func anElementIsIndexedAsSoonAsItCanBeDecoded() throws {
    try fillStrict()
    let archive = try pairs()
    #expect(try archive.statistics.written == 13)
    let query = archive.where { $0.a == 4 }
    #expect(try query.explain().index == "a")
    #expect(try query.results().map(\.id) == [4, 14])
    #expect(try archive.unindexedIDs() == [])
    #expect(try archive.verify().isIntact)
  }

  @Test func aReaderThatDecodesMoreThanTheIndexKnowsDoesWithoutIt() throws {
    try fillStrict()
    let reader = try pairs { $0.isReadOnly = true }
    #expect(reader.indexes.isEmpty)
    #expect(try reader.where { $0.a == 4 }.results().map(\.id) == [4, 14])
    #expect(try !reader.verify().comparedIndexes)
  }

  @Test func aTypeThatDecodesNothingIsRefused() throws {
    try fill()
    for isReadOnly in [false, true] {
      let failure = error {
        try place.open(Other.self, indexes: [ArchiveIndex("title", \.title)]) {
          $0.isReadOnly = isReadOnly
        }
      }
      #expect(failure?.code == .configurationMismatch)
      #expect(failure?.message.contains("with the primary key 0 ") == true)
      #expect(failure?.cause is DecodingError)
    }
    #expect(try pairs().statistics.written == 0)
    let others = try place.open(Other.self, indexes: [ArchiveIndex("title", \.title)]) {
      $0.undecodable = .skip
    }
    #expect(try others.sorted(by: \.title).results().isEmpty)
    #expect(try others.unindexedIDs().count == 20)
    try others.close()
    #expect(try pairs().where { $0.a == 4 }.count() == 2)
  }

  // MARK: - Readers elsewhere

  @Test func aReaderNoticesThatAWriterCameWithOtherIndexes() throws {
    try fill()
    let reader = try pairs { $0.isReadOnly = true }
    let query = reader.where { $0.a == 4 }
    #expect(try query.explain().index == "a")
    do {
      let writer = try pairs([ArchiveIndex("b", \.b)])
      try writer.upsert(Pair(id: 100, a: 4, b: 0))
      #expect(try query.results().map(\.id) == [4, 14, 100])
      #expect(try query.count() == 3)
      #expect(try query.last()?.id == 100)
      #expect(try reader.sorted(by: \.a).results().count == 21)
      #expect(reader.indexes.isEmpty)
      try writer.close()
    }
    // The release of before is back.
    let writer = try pairs()
    #expect(try query.explain().index == "a")
    #expect(try query.count() == 3)
    try writer.close()
  }

  @Test func aReaderNoticesThatTheSameIndexWasBuiltByAnotherRelease() throws {
    try fill(20, [ArchiveIndex("sum", \.sum)])
    let reader = try pairs([ArchiveIndex("sum", \.sum)]) { $0.isReadOnly = true }
    let query = reader.where { $0.sum == 5 }
    #expect(try query.explain().index == "sum")
    try place.open(Difference.self, indexes: [ArchiveIndex("sum", \.sum)]).close()
    #expect(try query.explain().index == nil)
    #expect(try query.count() == 2)
    #expect(try pairs([ArchiveIndex("sum", \.sum)]).verify().isIntact)
    #expect(try query.explain().index == "sum")
  }

  @Test func aReaderThatWasSuspendedMeanwhileNoticesToo() throws {
    try fill()
    let reader = try pairs { $0.isReadOnly = true }
    try reader.suspend()
    try pairs([ArchiveIndex("b", \.b)]).close()
    try reader.resume()
    #expect(try reader.where { $0.a == 4 }.count() == 2)
    #expect(reader.indexes.isEmpty)
  }

  @Test func pagesGoOnWhenTheirIndexIsGone() throws {
    try fill()
    let reader = try pairs { $0.isReadOnly = true }
    let query = reader.sorted(by: \.a, .reverse)
    let expected = try query.results()
    var pages = query.pages(of: 6)
    var found = try #require(try pages.next())
    try pairs([ArchiveIndex("b", \.b)]).close()
    while let page = try pages.next() { found += page }
    #expect(found == expected)
  }

  // MARK: - Verifying

  @Test func verifyingComparesIndexesWithElements() throws {
    try fill(300)
    let archive = try pairs()
    func put(_ pair: Pair, _ indexes: [StoreIndexValue]) throws {
      let bytes = try archive.coder.encode(pair)
      try archive.keyCoder.borrow(pair.id) { key in
        try bytes.withUnsafeBytes { bytes in
          _ = try archive.store.put(
            key, bytes, extended: UnsafeRawBufferPointer(start: nil, count: 0),
            terms: archive.terms(.process), indexes: indexes)
        }
      }
    }
    #expect(try archive.verify().isIntact)
    try put(Pair(id: 150, a: 1, b: 0), archive.indexValues(of: Pair(id: 150, a: 2, b: 0)))
    try put(Pair(id: 151, a: 1, b: 0), [])
    try put(Pair(id: 152, a: 1, b: 0), [ArchiveIndex<Pair>.unindexed])
    let report = try archive.verify()
    #expect(!report.isIntact && report.files.isIntact && report.intact == 300)
    #expect(report.differing == 2 && report.unindexed == 1 && report.undecodable == 0)
    try archive.reindex()
    #expect(try archive.verify().isIntact)
    #expect(throws: CancellationError.self) {
      try archive.verify { done, total in done <= total / 2 }
    }
  }
}
