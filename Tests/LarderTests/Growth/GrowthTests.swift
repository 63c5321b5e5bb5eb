// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// New stores whose first checkpoint makes the index so many pages large: what was written is found
/// by who wrote it, by a second handle of the process and by another process, both open since
/// before the first write, and by whoever comes later.
@Suite("Growth: the first checkpoint", .serialized) struct GrowthTests {
  /// Unoptimised, or under a sanitizer, more would take minutes; the torture of the store has every
  /// kind of 10,000, and of 100,000.
  static let pages = [1, 3, 100, 1539, 1540]
  static let manyPages = effort([], long: [10_000])

  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// How many entries take so many pages, by what some of them take.
  private func count(
    ofPages pages: Int, _ open: (String, Bool) throws -> some GrowingStore
  ) throws -> Int {
    let path = directory.file("probe").path
    let probed = min(4000, pages * 40)
    try open(path, false).fill(probed)
    let size = try FileManager.default.attributesOfItem(atPath: path + "/data.mdb")[.size] as? Int
    return try max(1, pages * probed * 4096 / #require(size))
  }

  private func grow(
    to pages: Int, indexes: Int = 0, _ open: (String, Bool) throws -> some GrowingStore
  ) throws {
    let count = try count(ofPages: pages, open)
    let path = directory.file("store").path
    try open(path, false).close()
    let elsewhere = try GrowthReader(path)
    let writer = try open(path, false)
    let second = try open(path, true)
    try writer.fill(count)
    try writer.expect(count)
    try second.expect(count)
    if let counts = try elsewhere?.counts() {
      #expect(counts == Array(repeating: count, count: 1 + indexes))
    }
    try open(path, true).expect(count)
    #expect(try writer.isSound)
  }

  @Test(arguments: pages + manyPages + effort([], long: [100_000]))
  func aDiskCache(pages: Int) throws {
    try grow(to: pages) { try GrowingCache(path: $0, isReadOnly: $1) }
  }

  @Test(arguments: pages + manyPages) func anEntryCache(pages: Int) throws {
    try grow(to: pages) { try GrowingEntryCache(path: $0, isReadOnly: $1) }
  }

  @Test(arguments: pages + manyPages, [1, 4]) func anArchive(pages: Int, indexes: Int) throws {
    try grow(to: pages, indexes: indexes) {
      try GrowingArchive(path: $0, isReadOnly: $1, indexes: indexes)
    }
  }
}
