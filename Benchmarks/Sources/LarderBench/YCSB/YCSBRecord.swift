// SPDX-License-Identifier: MIT
import Foundation

/// A record of YCSB: ten fields of 100 B. Each field begins with the last byte of its record's key,
/// so that a wrong one shows; what follows cannot be compressed.
enum YCSBRecord {
  static let fields = 10
  static let fieldBytes = 100
  static let bytes = fields * fieldBytes

  private static let payloads = Payloads(size: fieldBytes)

  /// The key of a record by its number: from all over the range of 63 bits, so that all stores have
  /// the same order.
  static func key(_ number: Int) -> UInt64 {
    var generator = SplitMix(seed: UInt64(number))
    return generator.next() >> 1
  }

  /// Fills in the bytes of a field.
  static func fill(_ field: UnsafeMutableRawBufferPointer, key: UInt64, version: Int) {
    payloads[version].withUnsafeBytes { field.copyMemory(from: $0) }
    field[0] = UInt8(truncatingIfNeeded: key)
  }

  /// Fills in the bytes of a new record.
  static func fill(record: UnsafeMutableRawBufferPointer, key: UInt64) {
    for field in 0..<fields {
      let bytes = record[field * fieldBytes..<(field + 1) * fieldBytes]
      fill(UnsafeMutableRawBufferPointer(rebasing: bytes), key: key, version: field)
    }
  }

  /// Looks at all fields, as one who reads all of them does.
  @inline(__always)
  static func isIntact(_ record: UnsafeRawBufferPointer, key: UInt64) -> Bool {
    guard record.count == bytes else { return false }
    var difference: UInt8 = 0
    for field in 0..<fields {
      difference |= record[field * fieldBytes] ^ UInt8(truncatingIfNeeded: key)
    }
    return difference == 0
  }
}
