// SPDX-License-Identifier: MIT

// What stores have in common whose keys and records are bytes.

/// A key as bytes whose order is that of the numbers.
@inline(__always)
func ordered(_ key: UInt64) -> Int { Int(bitPattern: UInt(key.bigEndian)) }

/// Reads a record, changes a field in a copy, and gives that to `put`.
@inline(__always)
func withUpdated(
  _ field: Int, _ bytes: UnsafeRawBufferPointer,
  _ read: ((UnsafeRawBufferPointer) -> Bool) throws -> Bool?,
  _ put: (UnsafeRawBufferPointer) throws -> Void
) throws {
  try withUnsafeTemporaryAllocation(byteCount: YCSBRecord.bytes, alignment: 8) { record in
    let isThere = try read { old in
      guard old.count == record.count else { return false }
      record.copyMemory(from: old)
      return true
    }
    guard isThere == true else { throw Failure(description: "a record is missing") }
    let range = field * YCSBRecord.fieldBytes..<(field + 1) * YCSBRecord.fieldBytes
    UnsafeMutableRawBufferPointer(rebasing: record[range]).copyMemory(from: bytes)
    try put(UnsafeRawBufferPointer(record))
  }
}

@inline(__always)
func countIntact(_ name: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> Int {
  guard name.count == 8 else { return 0 }
  let key = UInt64(bigEndian: name.loadUnaligned(as: UInt64.self))
  return YCSBRecord.isIntact(record, key: key) ? 1 : 0
}
