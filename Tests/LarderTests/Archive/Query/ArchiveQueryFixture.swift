// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport

/// What the archives of these tests are full of.
struct Citizen: Codable, Identifiable, Equatable, Sendable {
  enum Level: String, Codable, CaseIterable, Comparable, ArchiveIndexable {
    // In another order than their raw values.
    case low, middle, high

    static func < (a: Level, b: Level) -> Bool {
      (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
    }
  }

  struct Home: Codable, Equatable, Sendable {
    var city: String
  }

  var id: Int
  var name = "Ada"
  var age = 30
  var nickname: String?
  var points: Int?
  var score = 0.5
  var tags: [String] = []
  var isActive = true
  var born = Date(timeIntervalSinceReferenceDate: 0)
  var level = Level.low
  var home = Home(city: "Oslo")

  static var indexes: [ArchiveIndex<Citizen>] {
    [
      ArchiveIndex("name", \.name), ArchiveIndex("age", \.age),
      ArchiveIndex("nickname", \.nickname), ArchiveIndex("points", \.points),
      ArchiveIndex("score", \.score), ArchiveIndex("active", \.isActive),
      ArchiveIndex("born", \.born), ArchiveIndex("level", \.level),
      ArchiveIndex("city", \.home.city),
    ]
  }
}

extension String {
  /// Whether it comes before another one by its characters in composed form.
  func precedes(_ other: String) -> Bool {
    archiveIndexBytes.lexicographicallyPrecedes(other.archiveIndexBytes)
  }
}

/// A folder for archives of citizens, which do nothing by themselves.
struct CitizenPlace {
  let directory: TemporaryDirectory
  let clock = DiskClock()

  init() throws { directory = try TemporaryDirectory() }

  func open(
    _ name: String = "citizens", indexes: [ArchiveIndex<Citizen>] = Citizen.indexes,
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<Citizen> {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 4 << 20
    configuration.clock = clock.clock
    change(&configuration)
    return try Archive(
      at: .path(directory.file(name).path), indexes: indexes, configuration: configuration)
  }

  /// An archive of these, some of them flushed and some not.
  func open(
    _ citizens: [Citizen], indexes: [ArchiveIndex<Citizen>] = Citizen.indexes
  ) throws -> Archive<Citizen> {
    let archive = try open(indexes: indexes)
    let half = citizens.count / 2
    for citizen in citizens[..<half] { try archive.upsert(citizen) }
    try archive.checkpoint()
    for citizen in citizens[half...] { try archive.upsert(citizen) }
    return archive
  }
}
