// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport

/// What the archives of these tests hold: a code of its own, and a number of its own in its city.
struct Account: Codable, Identifiable, Equatable, Sendable {
  var id: Int
  var code: String?
  var city = ""
  var number: Int?
  var balance = 0

  static var indexes: [ArchiveIndex<Account>] {
    [
      ArchiveIndex("code", \.code, isUnique: true),
      ArchiveIndex("place", \.city, \.number, isUnique: true),
      ArchiveIndex("balance", \.balance),
    ]
  }

  /// Whether two accounts of these have what only one may have.
  static func collide(_ accounts: some Sequence<Account>) -> Bool {
    var codes: Set<String> = []
    var places: Set<[String]> = []
    for account in accounts {
      if let code = account.code, !codes.insert(code).inserted { return true }
      if let number = account.number, !places.insert([account.city, "\(number)"]).inserted {
        return true
      }
    }
    return false
  }
}

/// A folder for archives of accounts, which do nothing by themselves.
struct AccountPlace {
  let directory: TemporaryDirectory
  let clock = DiskClock()

  init() throws { directory = try TemporaryDirectory() }

  func open(
    indexes: [ArchiveIndex<Account>] = Account.indexes,
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<Account> {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 4 << 20
    configuration.clock = clock.clock
    change(&configuration)
    return try Archive(
      at: .path(directory.file("accounts").path), indexes: indexes, configuration: configuration)
  }
}

/// A closure that a test gives another form.
extension Archive {
  func put(_ element: Element) throws { try upsert(element) }

  func put(all elements: [Element]) throws { try upsert(all: elements) }

  func get(_ id: Element.ID) throws -> Element? { try self.element(forID: id) }

  var everything: [Element] { get throws { try elements() } }
}

extension ArchiveQuery<Account> {
  func balance(_ range: ClosedRange<Int>) -> ArchiveQuery<Account> {
    self.where { $0.balance.within(range) }
  }

  func byBalance(descending: Bool = false) -> ArchiveQuery<Account> {
    sorted(by: \.balance, descending ? .reverse : .forward)
  }

  func first(_ count: Int) -> ArchiveQuery<Account> { limit(count) }

  var all: [Account] { get throws { try results() } }
  var last: Account? { get throws { try last() } }
}
