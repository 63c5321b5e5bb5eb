// SPDX-License-Identifier: MIT
import CLarder

/// What a ring has to hold, in the simplest way to say it: an array. It knows the offsets too,
/// since they decide what has to go.
struct RingModel {
  struct Record {
    var sequence: UInt64
    var length: Int
    var isPartial: Bool
    var offset: UInt64
  }

  let dataBytes: UInt64
  let overwrites: Bool
  /// All that were ever appended; the live ones start at `first`.
  private var records: [Record] = []
  private(set) var first = 0
  private(set) var nextSequence: UInt64 = 1
  private(set) var overwritten: UInt64 = 0
  private(set) var removed: UInt64 = 0
  private var end: UInt64 = 0

  init(dataBytes: UInt64, overwrites: Bool) {
    self.dataBytes = dataBytes
    self.overwrites = overwrites
  }

  var count: Int { records.count - first }
  var isEmpty: Bool { count == 0 }
  var usedBytes: UInt64 { end - oldest }
  private var oldest: UInt64 { isEmpty ? end : records[first].offset }

  /// The live message at an index, the oldest first.
  subscript(index: Int) -> Record { records[first + index] }

  /// The index of the first live message whose number is at least `sequence`.
  func index(of sequence: UInt64) -> Int {
    let oldestSequence = nextSequence - UInt64(count)
    if sequence <= oldestSequence { return 0 }
    return sequence >= nextSequence ? count : Int(sequence - oldestSequence)
  }

  /// Makes room, and gives the place of the message, or why there is none.
  private mutating func makeRoom(_ length: Int) -> (status: Int, offset: UInt64) {
    let bytes = UInt64(recordBytes(length))
    if bytes > dataBytes { return (LARDER_ETOOLARGE, 0) }
    let rest = dataBytes - end % dataBytes
    var skip: UInt64 = 0
    if bytes > rest {
      if isEmpty { end += rest } else { skip = rest }
    }
    if end + skip + bytes - oldest > dataBytes {
      if !overwrites { return (LARDER_EFULL, 0) }
      while !isEmpty, end + skip + bytes - oldest > dataBytes {
        first += 1
        overwritten += 1
      }
      if isEmpty {
        end += skip
        skip = 0
      }
    }
    return (LARDER_OK, end + skip)
  }

  mutating func append(_ length: Int, isPartial: Bool) -> Int {
    let (status, offset) = makeRoom(length)
    if status != LARDER_OK { return status }
    records.append(
      Record(sequence: nextSequence, length: length, isPartial: isPartial, offset: offset))
    end = offset + UInt64(recordBytes(length))
    nextSequence += 1
    return LARDER_OK
  }

  /// A reservation that is given up leaves the room that it made.
  mutating func abort(_ length: Int) -> Int { makeRoom(length).status }

  /// - Returns: how many messages went.
  mutating func remove(through sequence: UInt64) -> UInt64 {
    let count = sequence == .max ? count : index(of: sequence + 1)
    first += count
    removed += UInt64(count)
    return UInt64(count)
  }
}
