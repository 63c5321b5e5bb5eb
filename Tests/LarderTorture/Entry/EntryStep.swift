// SPDX-License-Identifier: MIT
import LarderTestSupport

/// One call that changes an entry, or one edit.
enum EntryStep {
  enum Ending { case commit, abort, drop }

  case set(key: Int, version: UInt64)
  case update(key: Int, version: UInt64, indices: [Int])
  case edit(key: Int, version: UInt64, indices: [Int], isStreamed: Bool, Ending)
  case remove(key: Int)
  case removeAll
  case flush

  /// One of the keys given, drawn.
  ///
  /// - Parameter version: No other step's.
  static func draw(
    keys: [Int], valueCount: Int, version: UInt64, removesAll: Bool, _ dice: inout Dice
  ) -> EntryStep {
    let key = dice.pick(keys)
    switch dice.below(40) {
    case 0..<14: return .set(key: key, version: version)
    case 14..<22:
      return .update(key: key, version: version, indices: dice.some(below: valueCount))
    case 22..<34:
      let ending = dice.oneIn(4) ? dice.pick([Ending.abort, .drop]) : .commit
      let indices = dice.oneIn(2) ? Array(0..<valueCount) : dice.some(below: valueCount)
      return .edit(
        key: key, version: version, indices: indices, isStreamed: dice.oneIn(3), ending)
    case 34..<38: return .remove(key: key)
    case 38: return removesAll && dice.oneIn(8) ? .removeAll : .remove(key: key)
    default: return .flush
    }
  }

  /// Whether it changes something, if it is not refused.
  var writes: Bool {
    switch self {
    case .set, .update, .remove, .removeAll: true
    case .edit(_, _, _, _, let ending): ending == .commit
    case .flush: false
    }
  }

  /// The key whose entry may change; nil if none does or all do.
  var key: Int? {
    switch self {
    case .set(let key, _), .update(let key, _, _), .edit(let key, _, _, _, _), .remove(let key):
      key
    case .removeAll, .flush: nil
    }
  }
}

/// What a call answers.
enum EntryAnswer: Equatable {
  case done
  /// There is something missing that the call needs.
  case refused
  case removed(Bool)
}
