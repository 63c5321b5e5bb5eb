// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// No answer lacks an element that is damaged without saying so.
struct ArchiveDamageTests {
  private let place: CitizenPlace

  init() throws { place = try CitizenPlace() }

  /// Three of them, of which the second one is damaged.
  private func makeDamaged() throws {
    let text = "to be damaged"
    let archive = try place.open([
      Citizen(id: 1, age: 10), Citizen(id: 2, age: 20, tags: [text]), Citizen(id: 3, age: 30),
    ])
    try archive.close()
    let folder = place.directory.file("citizens")
    #expect(try StoreLog(folder).flip(Data(text.utf8)) == 1)
    // A short one lies in the index too.
    try StoreLog.flip(Data(text.utf8), in: folder.appendingPathComponent("data.mdb"))
  }

  /// Everything that has to look at the damaged element.
  private static let questions: [(String, @Sendable (Archive<Citizen>) throws -> [Citizen])] = [
    ("elements", { try $0.elements() }),
    ("as many as there are", { try $0.elements(limit: 2) }),
    ("all", { try $0.query.results() }),
    ("of an index", { try $0.where { $0.age > 10 }.results() }),
    ("of an index alone", { try $0.where { $0.age == 20 }.results() }),
    ("by key", { try $0.where { $0.id >= 2 }.results() }),
    ("filtered", { try $0.filter { $0.age != 10 }.results() }),
    ("sorted by an index", { try $0.sorted(by: \.age, .reverse).limit(2).results() }),
    ("sorted", { try $0.sorted(by: \.home.city).results() }),
    ("the first of some", { [try $0.where { $0.age >= 20 }.first()].compactMap(\.self) }),
    ("the last of some", { [try $0.where { $0.age <= 20 }.last()].compactMap(\.self) }),
    ("in a transaction", { try $0.transaction { try $0.query.results() } }),
    ("pages", { try $0.sorted(by: \.age).page(0, size: 3) }),
  ]

  @Test func whoeverWouldHaveToLeaveItOutSaysSo() throws {
    try makeDamaged()
    let archive = try place.open()
    for (name, ask) in Self.questions {
      let failure = #expect(throws: LarderError.self, "\(name)") { try ask(archive) }
      #expect(failure?.code == .damaged, "\(name)")
      #expect(failure?.message.contains("with the key 2 is damaged") == true, "\(name)")
    }
    #expect(errorCode { try archive.filter { $0.age > 0 }.count() } == .damaged)
    #expect(errorCode { try archive.ids() } == .damaged)
    #expect(errorCode { try archive.where { $0.age > 0 }.delete() } == .damaged)
    #expect(errorCode { try archive.where { $0.age > 0 }.update { $0.age += 1 } } == .damaged)
    // What is beside it is found, and what is not read counts.
    #expect(try archive.where { $0.age > 20 }.results().map(\.id) == [3])
    #expect(try archive.elements(limit: 1).map(\.id) == [1])
    #expect(try archive.first()?.id == 1)
    #expect(try archive.query.count() == 3 && archive.count == 3)
    #expect(try archive.where { $0.age > 10 }.count() == 2)
  }

  @Test func whatIsOldGoesAllTheSame() throws {
    try makeDamaged()
    let archive = try place.open()
    #expect(errorCode { try archive.deleteAll(olderThan: .seconds(-1)) } == .damaged)
    #expect(try archive.count == 1)
  }

  @Test func itIsLeftOutWhereThatIsAskedFor() throws {
    try makeDamaged()
    let archive = try place.open { $0.undecodable = .skip }
    for (name, ask) in Self.questions {
      let found = try ask(archive).map(\.id)
      #expect(!found.contains(2), "\(name): \(found)")
    }
    #expect(try archive.elements().map(\.id) == [1, 3])
    #expect(try archive.where { $0.age > 0 }.delete() == 2)
    #expect(try archive.count == 1)
  }

  /// It is in none of the new indexes, which are not used therefore.
  @Test func otherIndexesDoNotHideIt() throws {
    try makeDamaged()
    let other = [ArchiveIndex<Citizen>("points", \.points, isUnique: true)]
    for _ in 0..<2 {
      let archive = try place.open(indexes: other)
      #expect(errorCode { try archive.where { $0.points == nil }.results() } == .damaged)
      #expect(errorCode { try archive.reindex() } == .damaged)
      #expect(errorCode { try archive.where { $0.points == nil }.count() } == .damaged)
      try archive.upsert(Citizen(id: 4, points: 5))
      #expect(errorCode { try archive.upsert(Citizen(id: 5, points: 5)) } == .duplicate)
      try archive.close()
    }
    let archive = try place.open(indexes: other)
    try archive.delete(id: 2)
    try archive.reindex()
    #expect(try archive.where { $0.points == nil }.results().map(\.id) == [1, 3])
    #expect(try archive.where { $0.points == 5 }.explain().description.contains("points"))
    #expect(try archive.verify().isIntact)
  }

  /// What was read before a salvage, and what is read behind it, have places of their own in the
  /// order of use.
  @Test func aSalvagedArchiveIsNotDamagedByReads() throws {
    let target = directory("salvaged")
    do {
      let archive = try place.open((1...5).map { Citizen(id: $0, age: $0) })
      for id in 1...5 { _ = try archive.element(forID: id) }
      try archive.close()
    }
    let source = place.directory.file("citizens").path
    _ = try DiskCache<Data, Data>.salvage(from: .path(source), to: .path(target))
    for _ in 0..<2 {
      let archive = try Archive<Citizen>(at: .path(target), indexes: Citizen.indexes)
      for id in 1...5 { _ = try archive.element(forID: id) }
      #expect(try archive.verify().isIntact)
      try archive.checkpoint()
      #expect(try archive.verify().isIntact)
      try archive.close()
    }
  }

  private func directory(_ name: String) -> String { place.directory.file(name).path }

  @Test(arguments: [true, false])
  func whoRemovesOrReplacesItHasAllAnswersAgain(removes: Bool) throws {
    try makeDamaged()
    let archive = try place.open()
    if removes { try archive.delete(id: 2) } else { try archive.upsert(Citizen(id: 2, age: 25)) }
    for isFlushed in [false, true] {
      if isFlushed { try archive.checkpoint() }
      for (name, ask) in Self.questions {
        #expect(throws: Never.self, "\(name)") { try ask(archive) }
      }
      let rest = removes ? [1, 3] : [1, 2, 3]
      #expect(try archive.elements().map(\.id) == rest)
      #expect(try archive.where { $0.age > 0 }.results().map(\.id) == rest)
      #expect(try archive.ids() == rest)
    }
  }

  /// A new index would lack what is damaged in the log: nobody makes one unasked, whether the index
  /// is damaged, too, or not.
  @Test func whatIsDamagedInTheLogStaysSo() throws {
    let text = String(repeating: "long", count: 500)
    let archive = try place.open { $0.inlineThreshold = 64 }
    for id in 1...300 { try archive.upsert(Citizen(id: id, age: id, tags: ["<\(id)>" + text])) }
    try archive.close()
    let folder = place.directory.file("citizens")
    for id in 20...22 { try StoreLog(folder).flip(Data("<\(id)>".utf8)) }
    let whole = try Data(contentsOf: folder.appendingPathComponent("data.mdb"))
    var mendedCount = 0
    for page in 1..<whole.count / 4096 {
      let copy = place.directory.file("copy")
      try? FileManager.default.removeItem(at: copy)
      try FileManager.default.copyItem(at: folder, to: copy)
      var hurt = whole
      // Of a leaf, how many entries it has; of the second page nothing.
      if page > 1, hurt[page * 4096 + 10] == 2 { hurt[page * 4096 + 12] ^= 0x10 }
      try hurt.write(to: copy.appendingPathComponent("data.mdb"))
      for round in 0..<3 {
        guard let damaged = try? place.open("copy", { $0.inlineThreshold = 64 }) else { break }
        #expect(errorCode { try damaged.element(forID: 20) } == .damaged, "\(page), \(round)")
        #expect(errorCode { try damaged.elements() } == .damaged, "\(page), \(round)")
        let code = errorCode {
          try damaged.upsert(Citizen(id: 22, age: 22))
          try damaged.delete(id: round + 100)
          try damaged.checkpoint()
        }
        if round == 2, code == nil { mendedCount += 1 }
        try? damaged.close()
      }
    }
    #expect(mendedCount > 0)
  }

  /// Of an element that was replaced while it was damaged rows may be left in the indexes: they
  /// are not counted.
  @Test(arguments: [true, false])
  func whatIsLeftOfItIsNotCounted(removes: Bool) throws {
    // So long a one lies in the log alone.
    let text = String(repeating: "long", count: 500)
    let archive = try place.open { $0.inlineThreshold = 64 }
    for id in 1...3 { try archive.upsert(Citizen(id: id, age: id * 10, tags: [text + "\(id)"])) }
    try archive.close()
    let folder = place.directory.file("citizens")
    let segment = try #require(try StoreLog(folder).segments(with: Data(text.utf8)).first)
    let whole = try Data(contentsOf: segment)
    let found = try #require(whole.range(of: Data((text + "2").utf8)))
    var (hurtful, miscounted) = (0, 0)
    let step = effort(8, long: 1, sanitized: 16)
    for offset in stride(from: found.lowerBound - 400, to: found.lowerBound, by: step) {
      var hurt = whole
      hurt[offset] ^= 4
      try hurt.write(to: segment)
      let copy = place.directory.file("copy")
      try? FileManager.default.removeItem(at: copy)
      try FileManager.default.copyItem(at: folder, to: copy)
      let damaged = try place.open("copy") { $0.inlineThreshold = 64 }
      // Beside the others, nothing is hurt but the second.
      let code = errorCode { try damaged.element(forID: 2) }
      if code != .damaged { continue }
      hurtful += 1
      if removes {
        try damaged.delete(id: 2)
      } else {
        try damaged.upsert(Citizen(id: 2, age: 70))
      }
      try damaged.checkpoint()
      for query in [
        damaged.where { $0.age > 0 }, damaged.where { $0.age == 20 },
        damaged.where { $0.age >= 20 && $0.age < 30 },
      ] {
        if try query.count() != query.results().count { miscounted += 1 }
      }
      #expect(try damaged.where { $0.age > 0 }.count() == (removes ? 2 : 3))
      try damaged.close()
    }
    #expect(hurtful > 100 / step && miscounted == 0)
  }
}
