// SPDX-License-Identifier: MIT
import LarderTestSupport

/// One call that changes an archive.
enum ArchiveStep {
  case record(key: Int, version: UInt64)
  case update(key: Int, version: UInt64)
  case recordAll(keys: [Int], version: UInt64)
  case delete(key: Int)
  case deleteKeys([Int])
  case deleteAll
  case flush

  /// One of the keys given, drawn.
  ///
  /// - Parameter version: No other step's.
  static func draw(
    keys: [Int], version: UInt64, deletesAll: Bool, _ dice: inout Dice
  ) -> ArchiveStep {
    let key = dice.pick(keys)
    switch dice.below(40) {
    case 0..<18: return .record(key: key, version: version)
    case 18..<23: return .update(key: key, version: version)
    case 23..<28: return .recordAll(keys: several(keys, &dice), version: version)
    case 28..<34: return .delete(key: key)
    case 34..<37: return .deleteKeys(several(keys, &dice))
    case 37: return deletesAll && dice.oneIn(6) ? .deleteAll : .delete(key: key)
    default: return .flush
    }
  }

  private static func several(_ keys: [Int], _ dice: inout Dice) -> [Int] {
    let chosen = keys.filter { _ in dice.oneIn(6) }
    return chosen.isEmpty ? [keys[0]] : chosen
  }
}

/// What should be there: the version of the element under each key.
struct ArchiveModel: Equatable {
  var versions: [Int: UInt64] = [:]

  /// Does the step, and gives how many were deleted, where that is what the call says.
  mutating func apply(_ step: ArchiveStep) {
    switch step {
    case .record(let key, let version), .update(let key, let version): versions[key] = version
    case .recordAll(let keys, let version): for key in keys { versions[key] = version }
    case .delete(let key): versions[key] = nil
    case .deleteKeys(let keys): for key in keys { versions[key] = nil }
    case .deleteAll: versions = [:]
    case .flush: break
    }
  }

  /// In the order of their primary keys.
  var exhibits: [Exhibit] {
    versions.sorted { $0.key < $1.key }.map { Exhibit(key: $0.key, version: $0.value) }
  }
}
