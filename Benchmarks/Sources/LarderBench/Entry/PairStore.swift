// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// Two files for each entry, as a cache without a library is made.
struct PairStore {
  let folder: String

  init(_ folder: String) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// Writes this for both values of each entry.
  func put(_ value: Data, under numbers: Range<Int>) throws {
    try value.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      try check(
        rivals_loop_pair_put(
          folder, UInt64(numbers.lowerBound), numbers.count, start, bytes.count))
    }
  }
}

/// The files of entries, open.
final class OpenPairs {
  private let pairs: OpaquePointer

  init(_ folder: String, count: Int, size: Int) throws {
    var opened: OpaquePointer?
    try check(rivals_pairs_open(folder, count, size, &opened))
    guard let opened else { throw Failure(description: "files cannot be opened") }
    pairs = opened
  }

  deinit { rivals_pairs_close(pairs) }

  /// What depends on the first and the last byte of each value of these entries.
  func sum(of numbers: UnsafeBufferPointer<Int>) throws -> Int {
    var sum: Int64 = 0
    try numbers.withMemoryRebound(to: Int64.self) { numbers in
      guard let start = numbers.baseAddress else { return }
      try check(rivals_loop_pair_read(pairs, start, numbers.count, &sum))
    }
    return Int(sum)
  }
}
