// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// Accounts in an archive: transfers that take place as a whole, addresses that nobody has twice,
/// and another process that is killed while it moves money.
enum Bank {
  static let program = Program(
    name: "bank", summary: "transactions and a unique index, with kills", run: run, child: child)

  struct Account: Codable, Identifiable, Sendable {
    var id: Int
    var balance = 1000
    var address: String
    var branch: Int
  }

  private struct Poor: Error {}

  private static let count = 200
  private static let indexes = [
    ArchiveIndex<Account>("address", \.address, isUnique: true), ArchiveIndex("branch", \.branch),
  ]

  private static func run(_ session: Session) async throws {
    let path = session.path("accounts")
    let accounts = try Archive<Account>(at: .path(path), indexes: indexes)
    let all = (0..<count).map { Account(id: $0, address: "a\($0)@example.org", branch: $0 % 10) }
    try await accounts.insert(all: all)
    let deadline = session.deadline(share: 0.5)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        var dice = session.dice("teller \(task)")
        group.addTask { while !deadline.isOver { try move(accounts, &dice) } }
      }
      try await group.waitForAll()
    }
    try await check(accounts, "at the end")
    try await accounts.close()
    for kill in 0..<(session.isLong ? 100 : 5) {
      var dice = session.dice("kill \(kill)")
      let teller = try session.start([path, "\(kill)"])
      _ = teller.line()
      try await Task.sleep(for: .milliseconds(dice.below(100)))
      teller.kill()
      teller.wait()
      let again = try Archive<Account>(at: .path(path), indexes: indexes)
      try await check(again, "behind kill \(kill)")
      try await again.close()
    }
  }

  private static func child(_ session: Session) throws {
    let accounts = try Archive<Account>(at: .path(session.child[0]), indexes: indexes)
    var dice = session.dice("child \(session.child[1])")
    say("open")
    while true { try move(accounts, &dice) }
  }

  private static func move(_ accounts: Archive<Account>, _ dice: inout Dice) throws {
    let (from, to, amount) = (dice.below(count), dice.below(count), dice.below(50))
    switch dice.below(10) {
    case 0:
      let taken = try accounts.element(forID: to)?.address ?? ""
      do {
        try accounts.update(id: from) { $0.address = taken }
        let isHis = try from == to || accounts.element(forID: to)?.address != taken
        expect(isHis, "A unique value is there once", "\(taken) was taken twice")
      } catch let error as LarderError where error.code == .duplicate {}
    case 1:
      try accounts.transaction { all in
        guard let one = try all.element(forID: from), let other = try all.element(forID: to)
        else { return }
        try all.update(id: from) { $0.address = other.address }
        try all.update(id: to) { $0.address = one.address }
      }
    case 2:
      let seen = try accounts.query.results()
      let sum = seen.reduce(0) { $0 + $1.balance }
      expect(sum == count * 1000, "A query sees a moment", "it sees \(sum)")
      expect(
        Set(seen.map(\.address)).count == count, "A unique value is there once",
        "a query sees one twice")
    default:
      do {
        try accounts.transaction { all in
          guard from != to, let poor = try all.element(forID: from), poor.balance >= amount
          else { throw Poor() }
          try all.update(id: from) { $0.balance -= amount }
          let now = try all.element(forID: from)?.balance
          expect(
            now == poor.balance - amount, "A transaction sees its own writes",
            "\(now ?? -1) in place of \(poor.balance - amount)")
          try all.update(id: to) { $0.balance += amount }
        }
      } catch is Poor {}
    }
  }

  private static func check(_ accounts: Archive<Account>, _ moment: String) async throws {
    let all = try await accounts.elements()
    let sum = all.reduce(0) { $0 + $1.balance }
    expect(sum == count * 1000, "All of a transaction or nothing", "\(sum) are there \(moment)")
    let poorest = all.map(\.balance).min() ?? 0
    expect(poorest >= 0, "What a transaction read still holds", "\(poorest) \(moment)")
    let addresses = Set(all.map(\.address)).count
    expect(addresses == count, "A unique value is there once", "\(addresses) \(moment)")
    let isIntact = try await accounts.verify().isIntact
    expect(isIntact, "Indexes are those of the elements", "they are not \(moment)")
  }
}
