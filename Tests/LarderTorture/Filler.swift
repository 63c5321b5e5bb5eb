// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Bytes that tell where they come from: no two origins have the same, but for the shortest.
enum Filler {
  /// The bytes of the value with that index and version under that key. Their number follows from
  /// the same three: mostly some hundred, now and then none, now and then many.
  static func bytes(key: Int, index: Int, version: UInt64, limit: Int = .max) -> Data {
    var dice = dice(key, index, version)
    let length = min(limit, length(&dice))
    return bytes(of: length, key: key, index: index, version: version, &dice)
  }

  private static func dice(_ key: Int, _ index: Int, _ version: UInt64) -> Dice {
    var mixer = Dice(seed: version)
    return Dice(seed: mixer.next() ^ (UInt64(key) << 32) ^ UInt64(index))
  }

  private static func length(_ dice: inout Dice) -> Int {
    switch dice.below(32) {
    case 0: 0
    case 1: dice.between(1, 23)
    case 2...5: dice.between(1000, 6000)
    case 6: dice.between(10_000, 50_000)
    default: dice.between(24, 400)
    }
  }

  private static func bytes(
    of length: Int, key: Int, index: Int, version: UInt64, _ dice: inout Dice
  ) -> Data {
    let head: [UInt64] = [UInt64(key) << 32 | UInt64(index), version, UInt64(length)]
    var words = head
    while words.count * 8 < length { words.append(dice.next()) }
    return words.withUnsafeBytes { Data($0.prefix(length)) }
  }
}
