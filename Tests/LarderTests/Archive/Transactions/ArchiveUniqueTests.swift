// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Indexes that no two elements share a value of.
struct ArchiveUniqueTests {
  private let place: AccountPlace

  init() throws { place = try AccountPlace() }

  @Test(arguments: [false, true]) func everyWriteIsRefusedThatWouldCollide(isFlushed: Bool) throws {
    let archive = try place.open()
    let stored = [Account(id: 1, code: "secret", balance: 5), Account(id: 2, code: "b")]
    try archive.put(all: stored)
    if isFlushed { try archive.checkpoint() }
    let other = Account(id: 3, code: "secret")
    let writes: [(String, () throws -> Void)] = [
      ("one", { try archive.put(other) }),
      ("many", { try archive.put(all: [Account(id: 4), other, Account(id: 5)]) }),
      ("many of one value", { try archive.put(all: [4, 5].map { Account(id: $0, code: "c") }) }),
      ("if absent", { _ = try archive.insertIfAbsent(other) }),
      ("update", { _ = try archive.update(id: 2) { $0.code = "secret" } }),
      ("transaction", { try archive.transaction { try $0.upsert(other) } }),
    ]
    for (name, write) in writes {
      let failure = try #require(error(of: write), "\(name)")
      #expect(failure.code == .duplicate, "\(name)")
      #expect(failure.message.contains("\"code\""), "\(failure.message)")
      #expect(failure.message.contains("Account.code"), "\(failure.message)")
      #expect(!failure.message.contains("secret"), "\(failure.message)")
      let duplicate = try #require(failure.cause as? ArchiveDuplicate, "\(name)")
      #expect(duplicate.index == "code", "\(name)")
      #expect(duplicate.id as? Int == (name == "many of one value" ? 4 : 1), "\(name)")
      #expect(try archive.everything == stored, "\(name)")
    }
    #expect(try archive.verify().isIntact)
  }

  @Test func anElementKeepsItsValueAndTwoExchangeTheirs() throws {
    let archive = try place.open()
    try archive.put(all: [Account(id: 1, code: "a"), Account(id: 2, code: "b")])
    try archive.put(Account(id: 1, code: "a", balance: 7))
    try archive.put(all: [Account(id: 1, code: "b"), Account(id: 2, code: "a")])
    #expect(try archive.get(1)?.code == "b")
    // What it has in between does not count.
    try archive.put(all: [
      Account(id: 3, code: "a"), Account(id: 3, code: "c"), Account(id: 4, code: "d"),
    ])
    // What is deleted is free, in the same transaction and behind it.
    try archive.transaction {
      try $0.delete(id: 1)
      try $0.upsert(Account(id: 5, code: "b"))
    }
    try archive.delete(id: 2)
    try archive.put(Account(id: 6, code: "a"))
    #expect(try archive.everything.map(\.code) == ["c", "d", "b", "a"])
  }

  @Test func nilCollidesWithNothing() throws {
    let archive = try place.open()
    try archive.put(all: (0..<5).map { Account(id: $0, city: "Oslo") })
    try archive.put(Account(id: 5, city: "Oslo"))
    try archive.put(Account(id: 6, city: "Oslo", number: 1))
    try archive.put(Account(id: 7, city: "Rome", number: 1))
    let failure = error { try archive.put(Account(id: 8, city: "Oslo", number: 1)) }
    #expect(failure?.code == .duplicate)
    #expect(failure?.message.contains("\"place\"") == true)
    #expect(failure?.message.contains("Account.city") == true)
    #expect(failure?.message.contains("Account.number") == true)
    #expect(try archive.count == 8)
  }

  @Test func equalTextsOfTwoFormsCollide() throws {
    let archive = try place.open()
    try archive.put(Account(id: 1, code: "é"))
    #expect(errorCode { try archive.put(Account(id: 2, code: "e\u{301}")) } == .duplicate)
  }

  @Test func aValueThatAnIndexOnlyKeepsTheBeginningOfIsRefused() throws {
    let archive = try place.open()
    // One byte of an optional value says that it is not nil.
    try archive.put(Account(id: 1, code: String(repeating: "x", count: 998)))
    let failure = error {
      try archive.put(Account(id: 2, code: String(repeating: "x", count: 999)))
    }
    #expect(failure?.code == .tooLarge)
    #expect(failure?.message.contains("\"code\"") == true)
    #expect(try archive.count == 1)
    // Those that share their first 240 bytes are still told apart.
    try archive.put(Account(id: 2, code: String(repeating: "x", count: 997)))
    try archive.checkpoint()
    try archive.put(Account(id: 3, code: String(repeating: "x", count: 996)))
    #expect(
      errorCode { try archive.put(Account(id: 4, code: String(repeating: "x", count: 997))) }
        == .duplicate)
  }

  @Test func whatHasExpiredIsFree() throws {
    let archive = try place.open { $0.expiration = .after(.seconds(10)) }
    try archive.put(Account(id: 1, code: "a"))
    #expect(errorCode { try archive.put(Account(id: 2, code: "a")) } == .duplicate)
    place.clock.advance(11)
    try archive.put(Account(id: 2, code: "a"))
    #expect(try archive.everything.map(\.id) == [2])
  }

  @Test func openingSaysWhichIndexCannotBeUnique() throws {
    let indexes = [ArchiveIndex<Account>("code", \.code)]
    var archive: Archive<Account>? = try place.open(indexes: indexes)
    let stored = [
      Account(id: 1, code: "a"), Account(id: 2, code: "a"), Account(id: 3, code: "a"),
      Account(id: 4), Account(id: 5), Account(id: 6, code: "b"),
    ]
    try archive?.put(all: stored)
    try archive?.close()
    for _ in 0..<2 {
      let failure = error { try place.open() }
      #expect(failure?.code == .duplicate)
      #expect(failure?.message.contains("\"code\"") == true)
      #expect(failure?.message.contains(": 2 elements have") == true, "\(failure?.message ?? "")")
      #expect(failure?.message.contains("keys 1 and 2;") == true, "\(failure?.message ?? "")")
    }
    archive = try place.open(indexes: indexes)
    #expect(try archive?.everything == stored)
    try archive?.delete(ids: [2, 3])
    try archive?.close()
    archive = try place.open()
    #expect(errorCode { try archive?.put(Account(id: 7, code: "a")) } == .duplicate)
    #expect(try archive?.verify().isIntact == true)
  }

  @Test(arguments: UInt64(1)...4) func writesAreRefusedAsAModelSays(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var archive = try place.open()
    var model: [Int: Account] = [:]
    func makeAccount() -> Account {
      Account(
        id: .random(in: 0..<40, using: &random),
        code: Bool.random(using: &random) ? "\(Int.random(in: 0..<60, using: &random))" : nil,
        city: Bool.random(using: &random) ? "Oslo" : "Rome",
        number: Bool.random(using: &random) ? .random(in: 0..<30, using: &random) : nil)
    }
    for step in 0..<effort(500, long: 2000, sanitized: 300) {
      let name = "step \(step), seed \(random.seed)"
      var next = model
      var code: LarderError.Code?
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<8:
        let account = makeAccount()
        next[account.id] = account
        code = errorCode { try archive.put(account) }
      case 8..<13:
        let accounts = (0..<Int.random(in: 1..<6, using: &random)).map { _ in makeAccount() }
        for account in accounts { next[account.id] = account }
        code = errorCode { try archive.put(all: accounts) }
      case 13..<15:
        let id = Int.random(in: 0..<40, using: &random)
        next[id] = nil
        try archive.delete(id: id)
      case 15..<17:
        let account = makeAccount()
        if var changed = next[account.id] {
          changed.code = account.code
          next[account.id] = changed
        }
        code = errorCode { try archive.update(id: account.id) { $0.code = account.code } }
      case 17: try archive.checkpoint()
      case 18 where step % 10 == 0:
        try archive.close()
        archive = try place.open()
      default:
        let (written, gone) = ([makeAccount(), makeAccount()], makeAccount().id)
        next[gone] = nil
        for account in written { next[account.id] = account }
        code = errorCode {
          try archive.transaction { archive in
            try archive.delete(id: gone)
            for account in written { try archive.upsert(account) }
          }
        }
      }
      #expect(code == (Account.collide(next.values) ? .duplicate : nil), "\(name)")
      if code == nil { model = next }
      if step % 50 == 0 {
        #expect(try archive.everything == model.values.sorted { $0.id < $1.id }, "\(name)")
      }
    }
    #expect(try archive.verify().isIntact)
  }

  @Test func ofManyThreadsOneGetsAValue() throws {
    let archive = try place.open { $0.journalCapacity = 256 << 10 }
    let rounds = effort(200, long: 1000, sanitized: 100)
    let won = Locked([Int](repeating: 0, count: rounds))
    let failures = Locked<[String]>([])
    onDiskThreads(4) { thread in
      for round in 0..<rounds {
        let account = Account(id: round * 4 + thread, code: "\(round)")
        do {
          switch (thread + round) % 3 {
          case 0: try archive.put(account)
          case 1: try archive.put(all: [account, Account(id: -1 - thread, balance: round)])
          default: try archive.transaction { try $0.insert(account) }
          }
          won.withLock { $0[round] += 1 }
        } catch let error as LarderError where error.code == .duplicate {
          continue
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(won.withLock { $0.allSatisfy { $0 == 1 } })
    let codes = try archive.everything.compactMap(\.code)
    #expect(codes.count == rounds && Set(codes).count == rounds)
  }

  /// What nobody can read may have the value. It does not, once it is removed or written again.
  @Test(arguments: [true, false]) func aValueWhoseOwnerIsDamagedIsNotGivenAway(removes: Bool) throws
  {
    let archive = try place.open { $0.inlineThreshold = 0 }
    try archive.put(all: [
      Account(id: 1, code: "a"), Account(id: 2, code: "to be damaged"), Account(id: 3, code: "c"),
    ])
    try archive.checkpoint()
    let log = StoreLog(place.directory.file("accounts"))
    #expect(try log.flip(Data("to be damaged".utf8)) > 0)
    let other = Account(id: 4, code: "to be damaged")
    #expect(errorCode { try archive.put(other) } == .damaged)
    #expect(errorCode { try archive.put(all: [Account(id: 5, code: "e"), other]) } == .damaged)
    try archive.put(Account(id: 6, code: "f"))
    #expect(try archive.count == 4)
    if removes { try archive.delete(id: 2) } else { try archive.put(Account(id: 2, code: "b")) }
    for _ in 0..<2 {
      try archive.put(other)
      #expect(errorCode { try archive.put(Account(id: 7, code: "to be damaged")) } == .duplicate)
      try archive.checkpoint()
    }
    #expect(try archive.everything.map(\.id) == (removes ? [1, 3, 4, 6] : [1, 2, 3, 4, 6]))
  }

  /// That one of them is gone says nothing of the other.
  @Test(arguments: [true, false]) func norIfAnotherOneWasDamagedAndIsGone(removes: Bool) throws {
    let archive = try place.open { $0.inlineThreshold = 0 }
    let values = (0..<40).map { "to be damaged \($0 + 10)" }
    try archive.put(all: values.enumerated().map { Account(id: $0, code: $1) })
    try archive.checkpoint()
    let log = StoreLog(place.directory.file("accounts"))
    for number in [3, 9] { #expect(try log.flip(Data(values[number].utf8)) > 0) }
    if removes { try archive.delete(id: 3) } else { try archive.put(Account(id: 3, code: "b")) }
    for _ in 0..<2 {
      #expect(errorCode { try archive.put(Account(id: 50, code: values[9])) } == .damaged)
      try archive.checkpoint()
    }
    try archive.put(Account(id: 51, code: values[3]))
    try archive.put(Account(id: 9, code: "c"))
    try archive.checkpoint()
    try archive.put(Account(id: 50, code: values[9]))
  }
}
