// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

/// Archives of elements, and queries.
enum ArchiveArea: Area {
  static let name = "archive"
  static let title = "Archives and queries"
  static let quickEffort = Effort(fewest: 3, most: 301, seconds: 1)

  static var rows: [Row] {
    [
      record("archive.record", hasIndex: false, goal: .ratio(0.4)),
      record("archive.record.return", hasIndex: false, flushes: false, goal: .none),
      conveniently, record("archive.record.indexed", hasIndex: true, goal: .none), recordMany,
      access, accessConveniently, accessInMemory,
      top("archive.query.indexed", count: 100_000, goal: .ratio(1)),
      requestedTop,
      top("archive.query.indexed.10k", count: 10_000, goal: .none, takesLong: true),
      top("archive.query.indexed.1m", count: 1_000_000, goal: .ratio(1), takesLong: true),
      growth, count, keys, either, compound, deleteWhere,
      scan("archive.query.scan", keeps: true, goal: .ratio(0.15)),
      scan("archive.query.scan.cold", keeps: false, goal: .none),
      scanOfArray,
    ]
  }

  static let byScore = [ArchiveIndex<Person>("score", \.score)]

  /// A new archive with these elements, flushed.
  ///
  /// - Parameter keeps: Whether elements are kept decoded in memory, as far as the default goes.
  static func archive(
    _ path: String, hasIndex: Bool, keeps: Bool = true, _ people: [Person] = []
  ) throws -> Archive<Person> {
    try archive(path, indexes: hasIndex ? byScore : [], keeps: keeps, people)
  }

  static func archive(
    _ path: String, indexes: [ArchiveIndex<Person>], keeps: Bool = true, _ people: [Person] = []
  ) throws -> Archive<Person> {
    var configuration = ArchiveConfiguration()
    if !keeps { configuration.memorySizeLimit = .zero }
    let archive = try Archive<Person>(
      at: .path(path), indexes: indexes, configuration: configuration)
    if !people.isEmpty {
      try archive.upsert(all: people)
      try archive.checkpoint()
    }
    return archive
  }

  /// What is closed here is thrown away: how its last flush went does not matter.
  static func closeQuietly(_ archive: Archive<Person>) { try? archive.close() }
}
