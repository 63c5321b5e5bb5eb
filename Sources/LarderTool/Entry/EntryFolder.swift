// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// Opening an entry cache's folder as the command line asks for it.
enum EntryFolder {
  /// Opens the folder for reading only, while whoever has it goes on.
  ///
  /// - Returns: it, and how many values each of its entries has.
  static func read(_ path: String) throws -> (cache: RawCache, valueCount: Int) {
    let cache = try CacheFolder.read(path)
    let kind = StoreKind(try cache.statistics)
    guard case .entries(let valueCount, _) = kind else {
      throw ToolFailure("\(path): no cache of entries with several values, but \(kind.name)")
    }
    return (cache, valueCount)
  }

  /// The lengths of an entry's values, from the head that is kept with them: the page "File
  /// formats" has its bytes.
  ///
  /// - Returns: nil if the head is not one of so many values, or not of values of that size.
  static func lengths(_ info: DiskCacheInfo<Data>, valueCount: Int) -> [Int]? {
    let head = info.extendedData ?? Data()
    guard head.count == 8 + 8 * valueCount, head.starts(with: [1, 0]),
      number(head, 2, 2) == valueCount, number(head, 4, 4) == 0
    else { return nil }
    var lengths: [Int] = []
    var size = 0
    for index in 0..<valueCount {
      let length = number(head, 8 + 8 * index, 8)
      guard length <= info.size - size else { return nil }
      lengths.append(Int(length))
      size += Int(length)
    }
    return size == info.size ? lengths : nil
  }

  /// A little-endian number.
  private static func number(_ bytes: Data, _ offset: Int, _ count: Int) -> UInt64 {
    let start = bytes.startIndex + offset
    return bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
