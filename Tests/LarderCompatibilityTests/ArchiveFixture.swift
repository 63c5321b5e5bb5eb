// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport

/// A folder for archives, which do nothing by themselves.
struct ArchivePlace {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  var path: String { directory.file("archive").path }

  func configuration(
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) -> ArchiveConfiguration {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    change(&configuration)
    return configuration
  }

  func factory(_ name: String = "factory") -> ArchiveFactory {
    ArchiveFactory(directory: directory.file(name), configuration: configuration())
  }
}

/// With nothing but a key that is called otherwise, and a number.
struct ArchiveUser: ArchiveCodable, Equatable {
  var primaryKey: String { email }
  var email: String
  var age = 0
}

/// With elements of another kind in all sorts of places.
struct ArchiveTeam: ArchiveCodable, Equatable {
  static let archiveName = "teams"
  static var archiveIndexes: [ArchiveIndex<ArchiveTeam>] { [ArchiveIndex("rank", \.rank)] }

  var primaryKey: String
  var rank = 0
  var captain: ArchiveUser?
  var players: [ArchiveUser] = []
  var named: [String: ArchiveUser] = [:]
  var trainer: ArchiveUser??
}

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
