// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// What the archives that are hurt consist of. All of it follows from a key and a version.
struct Exhibit: Codable, Identifiable, Equatable, Sendable {
  var id: String
  var version: UInt64
  var score: Int
  var name: String
  var level: Double?
  var payload: Data

  init(key: Int, version: UInt64) {
    var mixer = Dice(seed: version)
    var dice = Dice(seed: mixer.next() ^ UInt64(key))
    id = Self.id(key)
    self.version = version
    // Few of each, so that many share one.
    score = dice.between(-20, 20)
    name = dice.pick(["ada", "Bea", "čeněk", "dora", "", "emil", "Emil", "françois"])
    level = dice.oneIn(4) ? nil : Double(dice.between(-8, 8)) / 4
    payload = Filler.bytes(key: key, index: 0, version: version, limit: 9000)
  }

  /// In the order of the keys.
  static func id(_ key: Int) -> String {
    let digits = String(key)
    return "item/" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
  }

  /// What the index goes by: the score, unless a defect is planted.
  var indexedScore: Int { StaleIndex.isAtWork ? StaleIndex.score(of: self) : score }

  /// The score again, which many have at the ends of what its type has.
  var rank: UInt8 { score < -17 ? .min : score > 17 ? .max : UInt8(100 + score) }

  /// Ways to declare indexes; an archive that is opened in another way is indexed anew.
  static func indexes(_ way: Int) -> [ArchiveIndex<Exhibit>] {
    let score = ArchiveIndex<Exhibit>("score", \.indexedScore)
    let name = ArchiveIndex<Exhibit>("name", \.name)
    let level = ArchiveIndex<Exhibit>("level", \.level)
    let rank = ArchiveIndex<Exhibit>("rankName", \.rank, \.name)
    switch way % 4 {
    case 0: return [score, rank]
    case 1: return [score, name, level]
    case 2: return [level, name, rank]
    default: return []
    }
  }
}

/// The planted defect by which some elements are in the index under what they were before.
enum StaleIndex {
  /// While something is recorded. Threads that record at once all say the same.
  nonisolated(unsafe) static var isAtWork = false

  static func score(of exhibit: Exhibit) -> Int {
    exhibit.version % 16 == 3 ? exhibit.score + 1 : exhibit.score
  }
}

/// The planted defect by which a bound of the greatest value has what is at it.
enum BoundIncluded {
  /// As long as an archive of this process is to have it.
  nonisolated(unsafe) static var isAtWork = false
}
