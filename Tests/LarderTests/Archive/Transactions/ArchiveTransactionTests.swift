// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Synchronization
import Testing

/// Reads and writes of several elements in one step.
struct ArchiveTransactionTests {
  private struct Refusal: Error {}

  private let place: AccountPlace

  init() throws { place = try AccountPlace() }

  @Test func whatIsWrittenIsSeenInItAtOnceAndElsewhereAfterIt() throws {
    let archive = try place.open()
    try archive.put(all: [Account(id: 1, balance: 10), Account(id: 2, balance: 20)])
    let sum = try archive.transaction { accounts in
      #expect(try accounts.update(id: 1) { $0.balance += 5 }?.balance == 15)
      #expect(try accounts.update(id: 9) { $0.balance += 5 } == nil)
      try accounts.delete(id: 2)
      try accounts.insert(Account(id: 3, balance: 30))
      #expect(try accounts.element(forID: 1)?.balance == 15)
      #expect(try accounts.contains(id: 2) == false)
      #expect(try accounts.element(forID: 3)?.balance == 30)
      #expect(try archive.everything.map(\.balance) == [10, 20])
      return try accounts.query.all.reduce(0) { $0 + $1.balance }
    }
    #expect(sum == 45)
    #expect(try archive.everything.map(\.balance) == [15, 30])
    #expect(try archive.get(3)?.balance == 30)
  }

  @Test func keysThatAreThereOrNotAreToldApart() throws {
    let archive = try place.open()
    try archive.put(Account(id: 1))
    let stored = try archive.everything
    func code(_ body: (ArchiveTransaction<Account>) throws -> Void) -> LarderError.Code? {
      errorCode { try archive.transaction(body) }
    }
    #expect(code { try $0.insert(Account(id: 1)) } == .duplicate)
    #expect(code { try $0.update(Account(id: 2)) } == .notFound)
    #expect(code { _ = try $0.update(id: 1) { $0.id = 2 } } == .invalidArgument)
    #expect(
      code {
        try $0.insert(Account(id: 2))
        try $0.insert(Account(id: 2))
      } == .duplicate)
    #expect(try archive.everything == stored)
    #expect(
      code {
        try $0.delete(id: 1)
        try $0.insert(Account(id: 1, balance: 1))
        try $0.update(Account(id: 1, balance: 2))
      } == nil)
    #expect(try archive.everything.map(\.balance) == [2])
  }

  @Test func nothingIsStoredIfTheClosureThrows() throws {
    let archive = try place.open()
    try archive.put(Account(id: 1))
    #expect(throws: Refusal.self) {
      try archive.transaction { accounts in
        try accounts.upsert(Account(id: 2))
        try accounts.delete(id: 1)
        throw Refusal()
      }
    }
    #expect(try archive.everything == [Account(id: 1)])
  }

  @Test func itIsRunAgainIfAnybodyWroteWhatItRead() throws {
    let archive = try place.open()
    try archive.put(all: [Account(id: 1), Account(id: 2)])
    var runs = 0
    // Of an element that was there, and of one that was not.
    for id in [1, 3] {
      runs = 0
      let result = try archive.transaction { accounts in
        runs += 1
        let balance = try accounts.element(forID: id)?.balance
        if runs == 1 { try archive.put(Account(id: id, balance: 7)) }
        try accounts.upsert(Account(id: 2, balance: balance ?? -1))
        return balance
      }
      #expect(runs == 2 && result == 7)
    }
    // What it has not read does not count, and what it only writes.
    runs = 0
    try archive.transaction { accounts in
      runs += 1
      _ = try accounts.element(forID: 1)
      try archive.put(Account(id: 2, balance: runs))
      try accounts.upsert(Account(id: 2, balance: 100))
    }
    #expect(runs == 1)
    #expect(try archive.get(2)?.balance == 100)
  }

  @Test func anErrorAboutWhatWasNeverTrueIsNotThrown() throws {
    let archive = try place.open()
    try archive.put(all: [Account(id: 1, balance: 5), Account(id: 2, balance: 5)])
    var runs = 0
    try archive.transaction { accounts in
      runs += 1
      let first = try accounts.element(forID: 1)?.balance ?? 0
      if runs == 1 {
        try archive.put(all: [Account(id: 1, balance: 3), Account(id: 2, balance: 7)])
      }
      if try first + (accounts.element(forID: 2)?.balance ?? 0) != 10 { throw Refusal() }
    }
    #expect(runs == 2)
  }

  @Test func nothingComesBetweenAQueryAndItsWrites() throws {
    let archive = try place.open()
    try archive.put(all: (0..<10).map { Account(id: $0, balance: $0) })
    var runs = 0
    // An element that was not there when the query ran: a phantom.
    let count = try archive.transaction { accounts in
      runs += 1
      let count = try accounts.query.balance(5...100).count()
      if runs == 1 { try archive.put(Account(id: 10, balance: 50)) }
      try accounts.upsert(Account(id: -1, balance: -count))
      return count
    }
    #expect(runs == 2 && count == 6)
    #expect(try archive.get(-1)?.balance == -6)
    // One that only reads is compared as well.
    runs = 0
    let found = try archive.transaction { accounts in
      runs += 1
      let all = try accounts.query.balance(50...50).all
      if runs == 1 { try archive.delete(id: 10) }
      return try all + accounts.query.balance(0...0).all
    }
    #expect(runs == 2 && found.map(\.id) == [0])
  }

  @Test func whoNeverGetsThroughIsToldSo() throws {
    let archive = try place.open()
    var runs = 0
    let failure = error {
      try archive.transaction { accounts in
        runs += 1
        _ = try accounts.element(forID: 1)
        try archive.put(Account(id: 1, balance: runs))
      }
    }
    #expect(failure?.code == .conflict && runs == 1000)
  }

  @Test func whatIsTooLargeIsRefusedWhole() throws {
    let archive = try place.open { $0.sizeLimit = 2.kilobytes }
    try archive.put(Account(id: 1))
    let large = String(repeating: "x", count: 800)
    let code = errorCode {
      try archive.transaction { accounts in
        for id in 2..<5 { try accounts.upsert(Account(id: id, city: large)) }
      }
    }
    #expect(code == .tooLarge)
    #expect(try archive.everything.map(\.id) == [1])
    try archive.transaction { accounts in
      for id in 2..<4 { try accounts.upsert(Account(id: id, city: large)) }
    }
    #expect(try archive.everything.map(\.id).suffix(2) == [2, 3])
    #expect(try archive.size <= 2.kilobytes)
  }

  @Test func itIsOfNoUseBehindItsClosureNorForAReader() throws {
    let archive = try place.open()
    let transaction = try archive.transaction { $0 }
    #expect(errorCode { try transaction.element(forID: 1) } == .invalidArgument)
    #expect(errorCode { try transaction.upsert(Account(id: 1)) } == .invalidArgument)
    #expect(errorCode { try transaction.query.all } == .invalidArgument)
    let reader = try place.open { $0.isReadOnly = true }
    #expect(errorCode { try reader.transaction { _ in } } == .readOnly)
  }

  @Test func theAsynchronousFormDoesTheSame() async throws {
    let archive = try place.open()
    let count = try await archive.transaction { accounts in
      try accounts.insert(Account(id: 1))
      return try accounts.query.count()
    }
    let stored = try await archive.element(forID: 1)
    #expect(count == 1 && stored == Account(id: 1))
  }

  @Test func thoseWhoWatchSeeAllOfIt() async throws {
    let archive = try place.open()
    let updates = archive.query.updates()
    var iterator = updates.makeAsyncIterator()
    #expect(try await iterator.next()?.count == 0)
    try await archive.transaction { accounts in
      for id in 0..<20 { try accounts.insert(Account(id: id)) }
    }
    #expect(try await iterator.next()?.count == 20)
  }

  @Test(arguments: UInt64(1)...4) func queriesInItFindWhatArraysDo(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let archive = try place.open()
    var model: [Int: Account] = [:]
    for step in 0..<effort(60, long: 250, sanitized: 40) {
      let name = "step \(step), seed \(random.seed)"
      let before = model
      // A part of them is taken back.
      let isRefused = Int.random(in: 0..<4, using: &random) == 0
      do {
        try archive.transaction { accounts in
          model = before
          for _ in 0..<Int.random(in: 0..<6, using: &random) {
            let id = Int.random(in: 0..<60, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
              try accounts.delete(id: id)
              model[id] = nil
            } else {
              let account = Account(id: id, balance: .random(in: 0..<20, using: &random))
              try accounts.upsert(account)
              model[id] = account
            }
            try compare(accounts, model, &random, name)
          }
          if Int.random(in: 0..<8, using: &random) == 0 {
            let gone = model.values.filter { (5...9).contains($0.balance) }
            #expect(try accounts.query.balance(5...9).delete() == gone.count, "\(name)")
            for account in gone { model[account.id] = nil }
          }
          if isRefused { throw Refusal() }
        }
      } catch is Refusal {
        model = before
      }
      if step % 7 == 0 { try archive.checkpoint() }
      #expect(try archive.everything == model.values.sorted { $0.id < $1.id }, "\(name)")
    }
    #expect(try archive.verify().isIntact)
  }

  private func compare(
    _ accounts: ArchiveTransaction<Account>, _ model: [Int: Account],
    _ random: inout SeededGenerator, _ name: String
  ) throws {
    let least = Int.random(in: 0..<20, using: &random)
    let range = least...Int.random(in: least..<25, using: &random)
    let matching = model.values.filter { range.contains($0.balance) }.sorted { $0.id < $1.id }
    let (limit, descends) = (
      Int.random(in: 0..<12, using: &random), Bool.random(using: &random)
    )
    let sorted = matching.sorted {
      if $0.balance == $1.balance { return $0.id < $1.id }
      return descends ? $0.balance > $1.balance : $0.balance < $1.balance
    }
    let query = accounts.query.balance(range)
    let inOrder = query.byBalance(descending: descends)
    #expect(Set(try query.all.map(\.id)) == Set(matching.map(\.id)), "\(name)")
    #expect(try query.count() == matching.count, "\(name)")
    #expect(try inOrder.all == sorted, "\(name)")
    #expect(try inOrder.first(limit).all == Array(sorted.prefix(limit)), "\(name)")
    #expect(
      try inOrder.skip(2).first(limit).all == Array(sorted.dropFirst(2).prefix(limit)), "\(name)")
    #expect(try inOrder.last == sorted.last, "\(name)")
    #expect(try query.first(limit).all.count == min(limit, matching.count), "\(name)")
    var pages = inOrder.pages(of: 3)
    var paged: [Account] = []
    while let page = try pages.next() { paged += page }
    #expect(paged == sorted, "\(name)")
  }

  /// Transfers between accounts, and now and then a look at all of them.
  @Test func whatAllThreadsHaveTogetherStaysTheSame() throws {
    let archive = try place.open { $0.journalCapacity = 256 << 10 }
    try archive.put(all: (0..<20).map { Account(id: $0, code: "\($0)", balance: 100) })
    let failures = Locked<[String]>([])
    onDiskThreads(4) { thread in
      var random = SeededGenerator(seed: UInt64(thread) + 1)
      do {
        for round in 0..<effort(200, long: 600, sanitized: 100) {
          let (from, to) = (
            Int.random(in: 0..<20, using: &random), Int.random(in: 0..<20, using: &random)
          )
          try archive.transaction { accounts in
            guard var payer = try accounts.element(forID: from), payer.balance > 0, from != to
            else { return }
            var payee = try accounts.element(forID: to)
            payer.balance -= 1
            payee?.balance += 1
            // Their codes change places.
            (payer.code, payee!.code) = (payee?.code, payer.code)
            try accounts.upsert(payer)
            try accounts.upsert(payee!)
          }
          if round % 20 == thread {
            let sum = try archive.transaction { accounts in
              try accounts.query.all.reduce(0) { $0 + $1.balance }
            }
            if sum != 2000 { failures.withLock { $0.append("\(sum)") } }
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let all = try archive.everything
    #expect(all.reduce(0) { $0 + $1.balance } == 2000)
    #expect(Set(all.compactMap(\.code)).count == 20)
  }
}
