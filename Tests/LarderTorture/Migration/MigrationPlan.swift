// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// What is migrated, the same for the victim and for who kills it.
struct MigrationPlan {
  /// The first version. All of it follows from the number.
  struct First: Codable, Identifiable, Equatable, Sendable {
    var id: Int
    var name: String

    init(_ id: Int) {
      self.id = id
      name = "name \(id % 97)"
    }
  }

  struct Second: Codable, Identifiable, Equatable, Sendable {
    var id: Int
    var name: String
    var group: Int
  }

  struct Third: Codable, Identifiable, Equatable, Sendable {
    var id: Int
    var title: String
    var group: Int
    var code: String
    /// How often a step was applied to it.
    var steps: Int

    init(_ second: Second) {
      id = second.id
      title = second.name
      group = second.group
      code = "code \(id)"
      steps = 2
    }

    init(_ id: Int) { self.init(MigrationPlan.second(First(id))) }
  }

  static func second(_ first: First) -> Second {
    Second(id: first.id, name: first.name, group: first.id % 10)
  }

  let orders: Orders
  let count: Int

  init(_ orders: Orders) {
    self.orders = orders
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: 1)
    count = MigrationKillFamily.number("ELEMENTS") ?? dice.pick([1, 900, 5000, 20_000])
  }

  private var path: String { orders.folder + "/archive" }

  private var schema: ArchiveSchema<Third> {
    // The planted defect is a migration that goes on, and takes some steps once more.
    let again = orders.plant == .migratesTwice && orders.life > 0
    return ArchiveSchema(
      version: 3,
      migrations: [
        ArchiveMigration(from: 1, First.self) { Self.second($0) },
        ArchiveMigration(from: 2, Second.self) { second in
          var third = Third(second)
          if again, second.id % 7 == 3 { third.steps += 1 }
          return third
        },
      ])
  }

  func open(_ change: (inout ArchiveConfiguration) -> Void = { _ in }) throws -> Archive<Third> {
    var configuration = ArchiveConfiguration()
    configuration.journalCapacity = 4 << 20
    configuration.checkpointInterval = .milliseconds(20)
    change(&configuration)
    return try Archive(
      at: .path(path),
      indexes: [
        ArchiveIndex("group", \.group), ArchiveIndex("code", \.code, isUnique: true),
      ], schema: schema, configuration: configuration)
  }

  func fill(_ run: Run) throws {
    try FileManager.default.createDirectory(
      atPath: orders.folder, withIntermediateDirectories: true)
    let archive = try Archive<First>(at: .path(path), indexes: [ArchiveIndex("name", \.name)])
    for start in stride(from: 0, to: count, by: 50_000) {
      try archive.insert(all: (start..<min(count, start + 50_000)).lazy.map { First($0) })
      run.note("\(start) elements")
    }
    try archive.close()
  }

  /// Throws unless all is there once, and as it should be.
  func check() throws {
    let archive = try open {
      $0.openingProgress = { done, _ in
        if done % 20_000 < 1000 { Run.say("N", "\(done) elements are done") }
        return true
      }
    }
    defer { try? archive.close() }  // What is left does not matter.
    var next = 0
    for element in try archive.elements() {
      try expect(element == Third(next), "element \(next): \(element)")
      next += 1
    }
    try expect(next == count, "\(next) elements, not \(count)")
    let counted = try archive.count
    try expect(counted == count, "a count of \(counted), not \(count)")
    for group in 0..<10 {
      let found = try archive.where(#Predicate { $0.group == group }).count()
      let wanted = count / 10 + (group < count % 10 ? 1 : 0)
      try expect(found == wanted, "group \(group): \(found) elements, not \(wanted)")
    }
    try expect(try archive.verify().isIntact, "verify found damage")
  }

  /// The same of elements as an archive meets them that only reads.
  func checkReader(_ dice: inout Dice) throws {
    let archive = try open { $0.isReadOnly = true }
    defer { try? archive.close() }  // Likewise.
    let counted = try archive.count
    try expect(counted == count, "a reader counts \(counted), not \(count)")
    for _ in 0..<20 {
      let id = dice.below(count)
      let found = try archive.element(forID: id)
      try expect(found == Third(id), "a reader's element \(id): \(String(describing: found))")
    }
  }
}
