// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// A file for each value, named by a number, as a cache without a library is made.
struct FileStore {
  let folder: String

  init(_ folder: String) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  func put(_ value: Data, under number: Int) throws {
    try value.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      try check(rivals_file_put(folder, UInt64(number), start, bytes.count))
    }
  }

  /// Something that depends on the first and the last byte.
  func sum(under number: Int, size: Int) throws -> Int {
    var sum: Int64 = 0
    try check(rivals_file_get(folder, UInt64(number), size, &sum))
    return Int(sum)
  }
}
