// SPDX-License-Identifier: MIT

import LarderCore

/// The content format of a store that holds entries of several values:
///
///     63        48 47        32 31                    0
///     |  'E' 'L'  | value count |    cache version    |
///
/// The letters are in the order in which a dump of the little-endian number has them turned
/// round: `L` is the lower one. No name of a coder can look like it, because the value
/// count's bytes are not both visible characters.
package struct EntryFormat: Sendable, Hashable {
  static let valueCounts = 1...4096
  private static let kind: UInt64 = 0x454C

  package var valueCount: Int
  package var version: UInt32

  /// - Throws: `.invalidArgument` for what no cache can have.
  init(valueCount: Int, version: Int) throws(LarderError) {
    guard Self.valueCounts.contains(valueCount) else {
      throw LarderError(
        .invalidArgument, "An entry has 1 to 4096 values; \(valueCount) is out of range.")
    }
    guard let version = UInt32(exactly: version) else {
      throw LarderError(
        .invalidArgument, "A cache's version is from 0 to \(UInt32.max), which \(version) is not.")
    }
    self.valueCount = valueCount
    self.version = version
  }

  /// Takes the number in a store apart; nil if it is of another kind.
  package init?(number: UInt64) {
    let count = Int(number >> 32 & 0xFFFF)
    guard number >> 48 == Self.kind, Self.valueCounts.contains(count) else { return nil }
    valueCount = count
    version = UInt32(truncatingIfNeeded: number)
  }

  /// As it is in the store.
  var number: UInt64 { Self.kind << 48 | UInt64(valueCount) << 32 | UInt64(version) }
}
