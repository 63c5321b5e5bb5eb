// SPDX-License-Identifier: MIT

public import Foundation

/// What a log of a fixed size has to hold after a sequence of calls, in the
/// simplest way to say it: an array.
///
/// Places are counted as in the file: messages take 16 bytes more than they have,
/// rounded up to 8, never cross the end of the file's data, and the bytes skipped
/// there count as used until the message before them is gone.
public struct BoundedLogModel {
  /// One message and where it lies.
  public struct Record {
    /// Its number.
    public let sequence: UInt64
    /// Its bytes.
    public let message: Data
    fileprivate let offset: UInt64
  }

  /// What happened to a message.
  public enum Outcome: Equatable {
    /// It has this number.
    case appended(UInt64)
    /// It can never fit.
    case tooLarge
    /// It does not fit now.
    case full
  }

  /// Room for messages and their heads, in bytes.
  public let dataBytes: UInt64
  /// Whether it makes room by dropping the oldest.
  public let overwrites: Bool
  /// What is there, the oldest first.
  public private(set) var records: [Record] = []
  /// The number that the next message gets.
  public private(set) var nextSequence: UInt64 = 1
  /// How many messages were dropped to make room.
  public private(set) var overwritten: UInt64 = 0
  private var end: UInt64 = 0

  /// An empty log.
  public init(dataBytes: UInt64, overwrites: Bool) {
    self.dataBytes = dataBytes
    self.overwrites = overwrites
  }

  /// Bytes in use.
  public var size: UInt64 { end - oldest }

  private var oldest: UInt64 { records.first?.offset ?? end }

  /// Appends a message, if it fits.
  public mutating func append(_ message: Data) -> Outcome {
    let bytes = (16 + UInt64(message.count) + 7) / 8 * 8
    if bytes > dataBytes { return .tooLarge }
    let rest = dataBytes - end % dataBytes
    var skip = bytes > rest ? rest : 0
    if end + skip + bytes - oldest > dataBytes {
      if !overwrites, !records.isEmpty { return .full }
      while !records.isEmpty, end + skip + bytes - oldest > dataBytes {
        records.removeFirst()
        overwritten += 1
      }
      if records.isEmpty {
        end += skip
        skip = 0
      }
    }
    let offset = end + skip
    records.append(Record(sequence: nextSequence, message: message, offset: offset))
    end = offset + bytes
    nextSequence += 1
    return .appended(nextSequence - 1)
  }

  /// Removes messages up to a number and says how many.
  public mutating func remove(through sequence: UInt64) -> Int {
    let kept = records.drop { $0.sequence <= sequence }
    let removed = records.count - kept.count
    records = Array(kept)
    return removed
  }
}
