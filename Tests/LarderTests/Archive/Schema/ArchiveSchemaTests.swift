// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

private struct RecordV1: Codable, Identifiable, Equatable, Sendable {
  var id: Int
  var name: String
}

private struct RecordV2: Codable, Identifiable, Equatable, Sendable {
  var id: Int
  var title: String
  var year: Int
}

private struct RecordV3: Codable, Identifiable, Equatable, Sendable {
  struct Refusal: Error {}

  var id: Int
  var title: String
  var year: Int
  var code: String

  init(_ old: RecordV2) {
    (id, title, year) = (old.id, old.title, old.year)
    code = "c\(old.id)"
  }

  init(id: Int) { self.init(RecordV2(RecordV1(id: id))) }
}

extension RecordV1 {
  fileprivate init(id: Int) { self.init(id: id, name: "n\(id)") }
}

extension RecordV2 {
  fileprivate init(_ old: RecordV1) { self.init(id: old.id, title: old.name, year: 1800 + old.id) }
}

/// Elements of earlier versions become ones of this.
struct ArchiveSchemaTests {
  private let directory: TemporaryDirectory
  private let clock = DiskClock()
  private var path: String { directory.file("records").path }

  init() throws { directory = try TemporaryDirectory() }

  private static let first = ArchiveMigration(from: 1, RecordV1.self) { RecordV2($0) }
  private static let second = ArchiveMigration(from: 2, RecordV2.self) { RecordV3($0) }
  private static let third = ArchiveSchema<RecordV3>(version: 3, migrations: [first, second])

  private static let indexes = [
    ArchiveIndex<RecordV3>("year", \.year), ArchiveIndex<RecordV3>("code", \.code, isUnique: true),
  ]

  private func open<Element: Codable & Identifiable & Sendable>(
    _ type: Element.Type, _ schema: ArchiveSchema<Element> = .init(),
    indexes: [ArchiveIndex<Element>] = [],
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<Element>
  where Element.ID: Codable & Sendable & SendableMetatype {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 4 << 20
    configuration.clock = clock.clock
    change(&configuration)
    return try Archive(
      at: .path(path), indexes: indexes, schema: schema, configuration: configuration)
  }

  /// A migration that meets damage in the index is gone on with by the next opening; where the
  /// index cannot be opened at all, behind a rebuild.
  @Test func damageToTheIndexDoesNotEndAMigration() throws {
    let all = (0..<300).map { RecordV3(id: $0) }
    try fill(all.count)
    let folder = directory.file("records")
    let template = directory.file("template")
    try FileManager.default.moveItem(at: folder, to: template)
    let whole = try Data(contentsOf: template.appendingPathComponent("data.mdb"))
    var goneOnCount = 0
    let offsets = effort([12, 4000], long: Array(stride(from: 0, to: 4096, by: 40)))
    for (page, offset) in (2..<whole.count / 4096).flatMap({ page in offsets.map { (page, $0) } }) {
      try? FileManager.default.removeItem(at: folder)
      try FileManager.default.copyItem(at: template, to: folder)
      var hurt = whole
      hurt[page * 4096 + offset] ^= 0x10
      try hurt.write(to: folder.appendingPathComponent("data.mdb"))
      let first = errorCode { try migrate().close() }
      var found: [RecordV3]?
      let second = errorCode { found = try migrate().elements() }
      if first == .damaged && second == nil { goneOnCount += 1 }
      if second == .damaged {
        _ = try DiskCache<Data, Data>.rebuild(at: .path(path))
        found = try migrate().elements()
      }
      #expect(found == all, "\(page), \(offset): \(first as Any), \(second as Any)")
    }
    #expect(goneOnCount > 10)
  }

  private func migrate() throws -> Archive<RecordV3> {
    try open(RecordV3.self, Self.third, indexes: Self.indexes)
  }

  private struct Named: Codable, Identifiable, Sendable {
    var id: String
    var year: Int
  }

  private static func named(
    _ name: @escaping @Sendable (RecordV1) -> String
  ) -> ArchiveSchema<Named> {
    let step = ArchiveMigration(from: 1, RecordV1.self) { Named(id: name($0), year: $0.id) }
    return ArchiveSchema(version: 2, migrations: [step])
  }

  private func fill(_ count: Int = 9) throws {
    let archive = try open(RecordV1.self)
    try archive.put(all: (0..<count).map { RecordV1(id: $0) })
    try archive.close()
  }

  @Test func allVersionsBecomeTheLast() throws {
    try fill()
    let schema = ArchiveSchema<RecordV2>(version: 2, migrations: [Self.first])
    let second = try open(RecordV2.self, schema)
    #expect(try second.everything == (0..<9).map { RecordV2(RecordV1(id: $0)) })
    try second.put(RecordV2(id: 9, title: "n9", year: 1809))
    try second.close()
    let archive = try open(RecordV3.self, Self.third, indexes: Self.indexes)
    #expect(try archive.everything == (0..<10).map { RecordV3(id: $0) })
    #expect(try archive.get(4) == RecordV3(id: 4))
    #expect(try archive.where(#Predicate { $0.year > 1806 }).results().map(\.id) == [7, 8, 9])
    #expect(try archive.verify().isIntact)
    try archive.close()
    // From now on there is nothing to do.
    let again = try open(RecordV3.self, Self.third, indexes: Self.indexes)
    #expect(try again.statistics.written == 0)
    #expect(try again.everything.count == 10)
  }

  @Test func aNewArchiveHasTheVersion() throws {
    let archive = try open(RecordV3.self, Self.third)
    try archive.put(RecordV3(id: 1))
    try archive.put(all: [RecordV3(id: 2)])
    try archive.transaction { try $0.insert(RecordV3(id: 3)) }
    try archive.close()
    let failure = error { try open(RecordV1.self) }
    #expect(failure?.code == .incompatibleVersion)
    #expect(failure?.message.contains("version 3") == true, "\(failure?.message ?? "")")
    // Nor does a release that knows no schemas take it for an archive, whose number begins so.
    let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })
    let raw = try DiskCache<Data, Data>(at: .path(path), coder: coder, keyCoder: .data)
    let number = try raw.statistics.contentFormat
    #expect(number >> 48 == 0x534C && number >> 8 & 0xFF == 3)
    #expect(try raw.infos().map(\.extendedData) == [Data([3]), Data([3]), Data([3])])
    try raw.close()
    let again = try open(RecordV3.self, Self.third)
    #expect(try again.everything.map(\.id) == [1, 2, 3])
    #expect(try again.statistics.written == 0)
  }

  @Test func timesAndTheOrderOfUseStay() throws {
    let old = try open(RecordV1.self)
    for id in 1...4 { try old.put(RecordV1(id: id)) }
    let start = clock.date
    clock.advance(10)
    for id in [3, 1] { _ = try old.get(id) }
    try old.close()
    clock.advance(10)
    let archive = try open(RecordV3.self, Self.third)
    #expect(try archive.latestAccessTime(of: 1) == start + 10)
    #expect(try archive.latestAccessTime(of: 2) == start)
    try archive.setSizeLimit(try archive.size - 1)
    #expect(try archive.everything.map(\.id) == [1, 3, 4])
  }

  @Test func whatExpiresExpiresWhenItWouldHave() throws {
    let old = try open(RecordV1.self) { $0.expiration = .after(.seconds(30)) }
    try old.put(RecordV1(id: 1))
    clock.advance(20)
    try old.put(RecordV1(id: 2))
    try old.close()
    let archive = try open(RecordV3.self, Self.third) { $0.expiration = .after(.seconds(30)) }
    #expect(try archive.everything.map(\.id) == [1, 2])
    clock.advance(15)
    #expect(try archive.everything.map(\.id) == [2])
  }

  @Test func aReaderMakesElementsOfItsVersionAsItMeetsThem() throws {
    try fill()
    let reader = try open(RecordV3.self, Self.third, indexes: Self.indexes) { $0.isReadOnly = true }
    func look() throws {
      #expect(try reader.everything == (0..<9).map { RecordV3(id: $0) })
      #expect(try reader.get(4) == RecordV3(id: 4))
      #expect(try reader.where(#Predicate { $0.year > 1806 }).results().map(\.id) == [7, 8])
    }
    try look()
    #expect(reader.indexes.isEmpty)
    // Somebody migrates meanwhile.
    let archive = try open(RecordV3.self, Self.third, indexes: Self.indexes)
    try look()
    #expect(reader.indexes.count == 2)
    try archive.close()
  }

  @Test func aReaderOfAnEarlierVersionNotices() async throws {
    try fill()
    let readers = try [ArchiveConfiguration.Undecodable.fail, .skip].map { undecodable in
      try open(RecordV1.self) {
        $0.isReadOnly = true
        $0.undecodable = undecodable
      }
    }
    for reader in readers { #expect(try reader.get(3) == RecordV1(id: 3)) }
    let archive = try open(RecordV3.self, Self.third)
    for reader in readers {
      #expect(errorCode { try reader.get(3) } == .incompatibleVersion)
      #expect(errorCode { try reader.everything } == .incompatibleVersion)
      #expect(errorCode { try reader.query.results() } == .incompatibleVersion)
      #expect(errorCode { try reader.query.first() } == .incompatibleVersion)
      #expect(errorCode { try reader.where { $0.name > "" }.count() } == .incompatibleVersion)
      // What decodes nothing, or finds nothing since ids are other ones, notices, too.
      #expect(errorCode { try reader.query.count() } == .incompatibleVersion)
      #expect(errorCode { try reader.contains(id: 3) } == .incompatibleVersion)
      #expect(errorCode { try reader.element(forID: 99) } == .incompatibleVersion)
      #expect(errorCode { try reader.where { $0.id == 99 }.results() } == .incompatibleVersion)
      #expect(errorCode { try reader.where { $0.id == 99 }.first() } == .incompatibleVersion)
      #expect(errorCode { try reader.ids() } == .incompatibleVersion)
      #expect(errorCode { try reader.latestAccessTime(of: 99) } == .incompatibleVersion)
      await #expect(throws: LarderError.self) { try await reader.contains(id: 99) }
      await #expect(throws: LarderError.self) { try await reader.element(forID: 99) }
    }
    try await archive.close()
    #expect(errorCode { try open(RecordV1.self) { $0.isReadOnly = true } } == .incompatibleVersion)
  }

  @Test func aReaderMayTakeALaterVersionAsItIs() throws {
    let archive = try open(RecordV3.self, Self.third, indexes: Self.indexes)
    try archive.put(all: (0..<5).map { RecordV3(id: $0) })
    try archive.close()
    var schema = ArchiveSchema<RecordV2>(version: 2, migrations: [Self.first])
    schema.readsLaterVersions = true
    let indexes = [ArchiveIndex<RecordV2>("year", \.year)]
    let reader = try open(RecordV2.self, schema, indexes: indexes) { $0.isReadOnly = true }
    #expect(try reader.everything.map(\.title) == (0..<5).map { "n\($0)" })
    #expect(try reader.where(#Predicate { $0.year > 1803 }).results().map(\.id) == [4])
    #expect(reader.indexes.isEmpty)
    #expect(errorCode { try open(RecordV2.self, schema) } == .incompatibleVersion)
  }

  @Test func stepsThatLeadNowhereAreRefused() throws {
    let schemas = [
      ArchiveSchema<RecordV3>(version: 0), ArchiveSchema<RecordV3>(version: 256),
      ArchiveSchema<RecordV3>(version: 3, migrations: [Self.second, Self.first]),
      ArchiveSchema<RecordV3>(version: 3, migrations: [Self.first]),
      ArchiveSchema<RecordV3>(version: 4, migrations: [Self.first, Self.second]),
      ArchiveSchema<RecordV3>(
        version: 3, migrations: [Self.first, ArchiveMigration(from: 2, RecordV2.self) { $0 }]),
    ]
    for schema in schemas {
      #expect(errorCode { try open(RecordV3.self, schema) } == .invalidArgument)
    }
    // Nor is a folder touched from whose version no step leads on.
    try fill()
    let late = ArchiveSchema<RecordV3>(version: 3, migrations: [Self.second])
    for undecodable in [ArchiveConfiguration.Undecodable.fail, .skip] {
      let failure = error { try open(RecordV3.self, late) { $0.undecodable = undecodable } }
      #expect(failure?.code == .incompatibleVersion)
      #expect(failure?.message.contains("no migration") == true, "\(failure?.message ?? "")")
    }
    #expect(try open(RecordV1.self).everything.count == 9)
  }

  @Test func anElementThatCannotBeMigratedEndsItOrIsLeftOut() throws {
    try fill()
    let refusing = ArchiveMigration(from: 2, RecordV2.self) { old in
      if old.id % 4 == 1 { throw RecordV3.Refusal() }
      return RecordV3(old)
    }
    let schema = ArchiveSchema<RecordV3>(version: 3, migrations: [Self.first, refusing])
    let failure = error { try open(RecordV3.self, schema, indexes: Self.indexes) }
    #expect(failure?.code == .decoding)
    #expect(failure?.cause is RecordV3.Refusal)
    #expect(failure?.message.contains("primary key 1") == true, "\(failure?.message ?? "")")
    let old = try open(RecordV1.self)
    #expect(try old.everything == (0..<9).map { RecordV1(id: $0) })
    try old.close()
    var archive = try open(RecordV3.self, schema, indexes: Self.indexes) { $0.undecodable = .skip }
    #expect(try archive.everything.map(\.id) == [0, 2, 3, 4, 6, 7, 8])
    #expect(try archive.unindexedIDs() == [1, 5])
    #expect(try archive.verify().undecodable == 2)
    #expect(try archive.count == 9)
    try archive.close()
    // As soon as they can be, they are.
    archive = try open(RecordV3.self, Self.third, indexes: Self.indexes)
    #expect(try archive.everything == (0..<9).map { RecordV3(id: $0) })
    #expect(try archive.where(#Predicate { $0.year == 1805 }).results().map(\.id) == [5])
    #expect(try archive.unindexedIDs() == [])
    #expect(try archive.verify().isIntact)
  }

  @Test func withoutIndexesWhatWasLeftOutIsMigratedAsSoonAsItCanBe() throws {
    try fill()
    let refusing = ArchiveMigration(from: 1, RecordV1.self) { old in
      if old.id % 4 == 1 { throw RecordV3.Refusal() }
      return RecordV2(old)
    }
    let schema = ArchiveSchema<RecordV2>(version: 2, migrations: [refusing])
    try open(RecordV2.self, schema) { $0.undecodable = .skip }.close()
    try open(RecordV2.self, ArchiveSchema(version: 2, migrations: [Self.first])).close()
    let archive = try open(RecordV2.self, ArchiveSchema(version: 2))
    #expect(try archive.everything == (0..<9).map { RecordV2(RecordV1(id: $0)) })
    #expect(try archive.verify().isIntact)
  }

  /// What a migration left out gets its new primary key as soon as it can be migrated, or is left
  /// out as long as another element has that.
  @Test(
    arguments: [false, true], [ArchiveConfiguration.Undecodable.fail, .skip])
  func whatWasLeftOutGetsItsNewKey(
    isIndexed: Bool, then undecodable: ArchiveConfiguration.Undecodable
  ) throws {
    try leftOutGetsItsKey({ "n\($0)" }, isIndexed, undecodable)
    try leftOutGetsItsKey({ $0 + 1000 }, isIndexed, undecodable)
    try leftOutGetsItsKey({ Pair(low: $0, high: 7) }, isIndexed, undecodable)
  }

  /// Keys that take as many bytes as before, too.
  @Test func keysOfTheSameLengthMove() throws {
    let all = (0..<9).map { Moved(id: Pair(low: $0, high: 20 - $0), year: $0) }
    let old = try open(Moved<Pair>.self)
    try old.put(all: all)
    try old.close()
    let swap = ArchiveMigration(from: 1, Moved<Pair>.self) {
      Moved(id: Pair(low: $0.id.high, high: $0.id.low), year: $0.year)
    }
    let archive = try open(Moved<Pair>.self, ArchiveSchema(version: 2, migrations: [swap]))
    for element in all {
      let id = Pair(low: element.id.high, high: element.id.low)
      #expect(try archive.element(forID: id)?.year == element.year)
      #expect(try !archive.contains(id: element.id))
    }
    #expect(try archive.verify().isIntact)
  }

  private struct Pair: Codable, Hashable, Sendable {
    var low: Int
    var high: Int
  }

  private struct Moved<ID: Codable & Hashable & Sendable>: Codable, Identifiable, Equatable,
    Sendable
  {
    var id: ID
    var year: Int
  }

  private func leftOutGetsItsKey<ID: Codable & Hashable & Sendable & SendableMetatype>(
    _ key: @escaping @Sendable (Int) -> ID, _ isIndexed: Bool,
    _ undecodable: ArchiveConfiguration.Undecodable
  ) throws {
    func step(
      refusing: Int? = nil, _ key: @escaping @Sendable (Int) -> ID
    ) -> ArchiveMigration {
      ArchiveMigration(from: 1, RecordV1.self) { old in
        if old.id == refusing { throw RecordV3.Refusal() }
        return Moved(id: key(old.id), year: old.id)
      }
    }
    let last = ArchiveMigration(from: 2, Moved<ID>.self) { $0 }
    let refusing = ArchiveSchema<Moved<ID>>(version: 2, migrations: [step(refusing: 3, key)])
    let fixed = ArchiveSchema<Moved<ID>>(version: 2, migrations: [step(key)])
    let next = ArchiveSchema<Moved<ID>>(version: 3, migrations: [step(key), last])
    let other = ArchiveSchema<Moved<ID>>(
      version: 3, migrations: [step { key($0 == 3 ? 99 : $0) }, last])
    func reopen(
      _ schema: ArchiveSchema<Moved<ID>>, _ undecodable: ArchiveConfiguration.Undecodable
    ) throws -> Archive<Moved<ID>> {
      try open(
        Moved<ID>.self, schema, indexes: isIndexed ? [ArchiveIndex("year", \.year)] : []
      ) { $0.undecodable = undecodable }
    }
    try? FileManager.default.removeItem(atPath: path)
    try fill()
    var archive = try reopen(refusing, .skip)
    #expect(try archive.everything.count == 8)
    #expect(try archive.element(forID: key(3)) == nil)
    try archive.close()
    let template = directory.file("template")
    try? FileManager.default.removeItem(at: template)
    try FileManager.default.copyItem(atPath: path, toPath: template.path)
    archive = try reopen(fixed, undecodable)
    #expect(try archive.everything.count == 9 && archive.ids().count == 9)
    #expect(try archive.element(forID: key(3)) == Moved(id: key(3), year: 3))
    #expect(try archive.where { $0.year == 3 }.results().map(\.id) == [key(3)])
    #expect(errorCode { try archive.insert(Moved(id: key(3), year: 4)) } == .duplicate)
    #expect(try archive.verify().isIntact && archive.unindexedIDs().isEmpty)
    try archive.delete(id: key(3))
    #expect(try archive.everything.count == 8)
    try archive.close()
    // Somebody who did not find it stores another one under its key.
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: template.path, toPath: path)
    archive = try reopen(refusing, .skip)
    try archive.upsert(Moved(id: key(3), year: 33))
    try archive.close()
    archive = try reopen(fixed, undecodable)
    #expect(try archive.element(forID: key(3))?.year == 33)
    #expect(try archive.count == 10)
    if undecodable == .skip {
      #expect(try archive.everything.filter { $0.id == key(3) }.map(\.year) == [33])
      #expect(try archive.where { $0.year == 3 }.count() == 0)
    } else {
      #expect(errorCode { try archive.everything } == .decoding)
      #expect(errorCode { try archive.where { $0.year == 3 }.count() } == .decoding)
    }
    let report = try archive.verify()
    #expect(report.isIntact && report.undecodable == 1)
    try archive.close()
    // A later version opens all the same, and one that gives it a key of its own brings it back.
    #expect(errorCode { try reopen(next, .fail) } == .duplicate)
    archive = try reopen(next, .skip)
    #expect(try archive.everything.map(\.year).sorted() == [0, 1, 2, 4, 5, 6, 7, 8, 33])
    try archive.close()
    archive = try reopen(other, undecodable)
    #expect(try archive.element(forID: key(99))?.year == 3)
    #expect(try archive.everything.count == 10 && archive.verify().isIntact)
    try archive.close()
  }

  @Test func aFeedTellsEveryElementAsOneOfTheLastVersion() throws {
    let old = try open(RecordV1.self)
    let token = try old.changeLog.now
    try old.put(RecordV1(id: 1))
    try old.close()
    let archive = try open(RecordV3.self, Self.third)
    let feed = try archive.changes(since: token)
    var told: [ArchiveChange<RecordV3>] = []
    while let event = try feed.next(timeout: .zero) { told += event.changes }
    // Once as it was written, once as it was migrated.
    let change = ArchiveChange.upserted(id: 1, element: RecordV3(id: 1))
    #expect(told == [change, change])
  }

  @Test func aMigrationMayChangeThePrimaryKey() throws {
    try fill()
    let named = Self.named { "n\($0.id)" }
    #expect(error { try open(Named.self) }?.code == .configurationMismatch)
    #expect(
      error { try open(Named.self, named) { $0.isReadOnly = true } }?.code == .configurationMismatch
    )
    let archive = try open(Named.self, named, indexes: [ArchiveIndex("year", \.year)])
    #expect(Set(try archive.everything.map(\.id)) == Set((0..<9).map { "n\($0)" }))
    for id in 0..<9 { #expect(try archive.element(forID: "n\(id)")?.year == id) }
    #expect(try archive.where { $0.year == 3 }.results().map(\.id) == ["n3"])
    #expect(try archive.verify().isIntact)
    try archive.close()
    #expect(try open(Named.self, named).everything.count == 9)
  }

  @Test func aMigrationThatIsCutShortGoesOnWithNewKeys() throws {
    try fill(3000)
    let named = Self.named { "n\($0.id)" }
    for part in [0.1, 0.5, 0.9] {
      #expect(throws: CancellationError.self) {
        try open(Named.self, named) {
          $0.openingProgress = { done, total in Double(done) < part * Double(total) }
        }
      }
    }
    let archive = try open(Named.self, named)
    #expect(try archive.everything.count == 3000 && archive.verify().isIntact)
    #expect(try archive.element(forID: "n2999")?.year == 2999)
  }

  @Test(arguments: [1, 9]) func aMigrationThatGivesTwoElementsOneKeyChangesNothing(_ shift: Int)
    throws
  {
    try fill()
    let shifted = ArchiveMigration(from: 1, RecordV1.self) {
      RecordV2(RecordV1(id: $0.id / (shift == 9 ? 9 : 1) + (shift == 9 ? 0 : shift)))
    }
    let schema = ArchiveSchema<RecordV2>(version: 2, migrations: [shifted])
    let failure = error { try open(RecordV2.self, schema) }
    #expect(failure?.code == .duplicate && failure?.message.contains("the id") == true)
    let old = try open(RecordV1.self)
    #expect(try old.everything == (0..<9).map { RecordV1(id: $0) } && old.verify().isIntact)
  }

  /// Of so many that a look at some of them does not show it.
  @Test(arguments: [5000, 7]) func aMigrationMayMoveOneOfMany(to place: Int) throws {
    try fill(2000)
    let step = ArchiveMigration(from: 1, RecordV1.self) {
      RecordV2(RecordV1(id: $0.id == 1234 ? place : $0.id))
    }
    let schema = ArchiveSchema<RecordV2>(version: 2, migrations: [step])
    if place == 7 {
      #expect(error { try open(RecordV2.self, schema) }?.code == .duplicate)
      let old = try open(RecordV1.self)
      #expect(try old.everything == (0..<2000).map { RecordV1(id: $0) } && old.verify().isIntact)
    } else {
      let archive = try open(RecordV2.self, schema)
      let ids = Set(0..<2000).subtracting([1234]).union([place])
      #expect(try Set(archive.everything.map(\.id)) == ids && archive.verify().isIntact)
    }
  }

  @Test func valuesThatWouldCollideAreRefused() throws {
    try fill()
    let same = ArchiveMigration(from: 2, RecordV2.self) { old in
      var made = RecordV3(old)
      made.code = "\(old.id / 8)"
      return made
    }
    let schema = ArchiveSchema<RecordV3>(version: 3, migrations: [Self.first, same])
    let failure = error { try open(RecordV3.self, schema, indexes: Self.indexes) }
    #expect(failure?.code == .duplicate)
    #expect(failure?.message.contains(": 7 elements have") == true, "\(failure?.message ?? "")")
    #expect(failure?.message.contains("keys 0 and 1;") == true, "\(failure?.message ?? "")")
    // The release before goes on with it.
    let old = try open(RecordV1.self)
    #expect(try old.everything == (0..<9).map { RecordV1(id: $0) } && old.verify().isIntact)
    try old.close()
    let archive = try open(RecordV3.self, schema)
    #expect(try archive.everything.count == 9)
  }

  @Test func elementsMayGetAnotherCoder() throws {
    let json = try Archive<RecordV1>(at: .path(path), coder: .json())
    try json.put(all: (0..<5).map { RecordV1(id: $0) })
    try json.close()
    let first = ArchiveMigration(from: 1, RecordV1.self, coder: .json()) { RecordV2($0) }
    let schema = ArchiveSchema<RecordV3>(version: 3, migrations: [first, Self.second])
    let archive = try open(RecordV3.self, schema, indexes: Self.indexes)
    #expect(try archive.everything == (0..<5).map { RecordV3(id: $0) })
    try archive.close()
    #expect(try open(RecordV3.self, schema, indexes: Self.indexes).statistics.written == 0)
  }

  @Test(arguments: UInt64(1)...6) func whatIsCutShortGoesOn(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let count = effort(3000, long: 12_000)
    try fill(count)
    var done: UInt64 = 0
    // Fewer and fewer are left.
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let end = UInt64.random(in: 0..<UInt64(count), using: &random)
      let hasIndexes = Bool.random(using: &random)
      do {
        let archive = try open(
          RecordV3.self, Self.third, indexes: hasIndexes ? Self.indexes : []
        ) {
          $0.openingProgress = { done, _ in done < end }
        }
        try archive.close()
        break
      } catch is CancellationError { done = max(done, end) }
      // Whoever knows the first version only must not meet what there is now.
      #expect(errorCode { try open(RecordV1.self) } == .incompatibleVersion)
    }
    let archive = try open(RecordV3.self, Self.third, indexes: Self.indexes)
    #expect(try archive.everything == (0..<count).map { RecordV3(id: $0) }, "\(random.seed)")
    #expect(try archive.where(#Predicate { $0.year >= 1810 }).count() == count - 10)
    #expect(try archive.verify().isIntact)
  }
}
