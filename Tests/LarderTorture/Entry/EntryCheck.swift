// SPDX-License-Identifier: MIT
import Foundation
import Larder

extension EntrySubject {
  /// Throws unless everything is as in the model, and sums agree with a full count.
  func expect(_ model: EntryModel, keys: [Int]) throws {
    for key in keys { try expect(model, key) }
    try expectSums(model)
  }

  /// Throws unless the values under a key are as in the model.
  func expect(_ model: EntryModel, _ key: Int) throws {
    let found = try values(key)
    let wanted = model.values(key)
    if found != wanted {
      throw Broken("key \(key): \(Self.describe(found)), not \(Self.describe(wanted))")
    }
  }

  func expectSums(_ model: EntryModel) throws {
    let found = try keys().sorted()
    try LarderTorture.expect(
      found == model.entries.keys.sorted(),
      "the keys are \(found), not \(model.entries.keys.sorted())")
    let (count, size) = (try self.count, try self.size)
    try LarderTorture.expect(
      count == model.entries.count, "the count is \(count), not \(model.entries.count)")
    try LarderTorture.expect(size == model.size, "the size is \(size), not \(model.size)")
  }

  /// Throws unless the library itself finds everything in order.
  func verify() throws {
    let report = try cache.verify()
    try LarderTorture.expect(report.isIntact, "verify found damage: \(report)")
  }

  /// From which steps values are, for people.
  static func describe(_ values: [Data]?) -> String {
    guard let values else { return "nothing" }
    return "["
      + values.map { value in
        guard value.count >= 24 else { return "\(value.count) bytes" }
        let words = value.prefix(24).withUnsafeBytes { bytes in
          (0..<3).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
        }
        return """
          \(value.count) bytes of key \(words[0] >> 32), index \(words[0] & 0xFFFF_FFFF), step \
          \(String(words[1], radix: 16))
          """
      }.joined(separator: "; ") + "]"
  }
}
