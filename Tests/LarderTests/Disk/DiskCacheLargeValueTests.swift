// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Values in files of their own. After RECache's largeValueGoesToFile; KVStorage's
/// saveAndGetFile, mixedMode, veryLargeData, removeFileItems, updateFileToSQLiteInMixed,
/// fileDisappearedFallback, getMultipleItemsFileMissingPrunes, extendedDataWithFile,
/// removeAllItemsWithProgress.
struct DiskCacheSpillTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  private func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
    var generator = SeededGenerator(seed: seed)
    return generator.bytes(count)
  }

  @Test(arguments: [
    (0, 0, false), (0, 1, true), (1, 1, false), (1, 2, true), (100, 99, false),
    (100, 100, false), (100, 101, true), (20 << 10, 20 << 10, false),
    (20 << 10, (20 << 10) + 1, true), (-1, 1, true), (Int.max, 300_000, false),
  ])
  func aValueAboveTheThresholdHasAFile(threshold: Int, size: Int, spills: Bool) throws {
    let cache = try place.openData {
      $0.inlineThreshold = threshold
      $0.journalCapacity = 4 << 20
    }
    let value = bytes(size)
    try cache.set(value, forKey: "a")
    #expect(try place.spilledFiles.count == (spills ? 1 : 0))
    #expect(try cache.info(forKey: "a")?.isSpilled == spills)
    #expect(try cache.info(forKey: "a")?.size == size)
    for _ in 0..<2 {
      #expect(try cache.value(forKey: "a") == value)
      #expect(try cache.mappedValue(forKey: "a") == value)
      #expect(try cache.withValueBytes(forKey: "a") { Data($0) } == value)
      #expect(try cache.entries().first?.value == value)
      try cache.flush()
    }
  }

  @Test func aValueOf20MiBComesBack() throws {
    let value = bytes(20 << 20)
    do {
      let cache = try place.openData()
      try cache.set(value, forKey: "a", extendedData: Data("x".utf8))
      #expect(try cache.value(forKey: "a") == value)
    }
    let cache = try place.openData()
    let found = try cache.valueWithExtendedData(forKey: "a")
    #expect(found?.value == value)
    #expect(found?.extendedData == Data("x".utf8))
    #expect(try cache.totalCost == 20 << 20)
  }

  @Test func aCodableValueIsSpilledToo() throws {
    let cache = try place.open(String.self, coder: Coder<DiskPage>.cbor)
    var page = DiskPage.sample
    page.body = bytes(100_000)
    try cache.set(page, forKey: "a")
    try cache.flush()
    #expect(try place.spilledFiles.count == 1)
    #expect(try cache.value(forKey: "a") == page)
  }

  @Test func aMappedValueOutlivesEntryAndCache() throws {
    let value = bytes(100_000)
    var mapped: Data?
    var read: Data?
    do {
      let cache = try place.openData()
      try cache.set(value, forKey: "a")
      try cache.flush()
      mapped = try cache.mappedValue(forKey: "a")
      read = try cache.value(forKey: "a")
      try cache.set(bytes(100_000, seed: 2), forKey: "a")
      try cache.removeAll()
      try cache.close()
    }
    #expect(mapped == value)
    #expect(read == value)
  }

  @Test func aFileGoesWithItsEntry() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(bytes(100), forKey: "a")
    try cache.set(bytes(100), forKey: "b")
    try cache.flush()
    try cache.remove(forKey: "a")
    try cache.set(bytes(5), forKey: "b")
    try cache.flush()
    try cache.flush()
    #expect(try place.spilledFiles.isEmpty)
    #expect(try cache.value(forKey: "b") == bytes(5))
  }

  @Test func anInlineValueCanBecomeAFile() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(bytes(5), forKey: "a")
    try cache.flush()
    try cache.set(bytes(100), forKey: "a")
    #expect(try cache.value(forKey: "a") == bytes(100))
    try cache.flush()
    #expect(try cache.value(forKey: "a") == bytes(100))
    #expect(try cache.totalCost == 100)
    #expect(try place.spilledFiles.count == 1)
  }

  @Test func aFileIsNamedByANumberWhateverTheKeySays() throws {
    let cache = try place.openData { $0.inlineThreshold = 0 }
    let keys = ["../../escaped", "a", "A", "a/b", "a\0b", String(repeating: "x", count: 1000)]
    for key in keys { try cache.set(Data(key.utf8), forKey: key) }
    try cache.flush()
    #expect(try place.spilledFiles.count == keys.count)
    let names = try place.spilledFiles.map(\.lastPathComponent)
    #expect(names.allSatisfy { $0.allSatisfy(\.isHexDigit) })
    #expect(try place.directory.names == ["cache"])
    for key in keys { #expect(try cache.value(forKey: key) == Data(key.utf8)) }
  }

  @Test(arguments: [0, 1, 10, 999])
  func aFileThatWasCutIsNeverAValue(left: Int) throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(bytes(1000), forKey: "a")
    try cache.set(bytes(1000, seed: 2), forKey: "b")
    try cache.flush()
    try cache.close()
    let damaged = try #require(
      try place.spilledFiles.first { try Data(contentsOf: $0) == bytes(1000) })
    try place.edit(damaged) { $0 = $0.prefix(left) }
    let again = try place.openData { $0.inlineThreshold = 10 }
    #expect(errorCode { try again.value(forKey: "a") } == .damaged)
    #expect(try again.value(forKey: "b") == bytes(1000, seed: 2))
    #expect(try again.statistics.damaged > 0)
    try again.set(bytes(7), forKey: "a")
    #expect(try again.value(forKey: "a") == bytes(7))
  }

  @Test func aFileWithAnotherByteIsNeverAValue() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    for (number, offset) in [0, 1, 500, 998, 999].enumerated() {
      try cache.removeAll { _, _ in true }
      try cache.set(bytes(1000), forKey: "a\(number)")
      try cache.flush()
      let file = try #require(try place.spilledFiles.first)
      try place.edit(file) { $0[offset] ^= 0x40 }
      #expect(errorCode { try cache.value(forKey: "a\(number)") } == .damaged)
      #expect(errorCode { try cache.mappedValue(forKey: "a\(number)") } == .damaged)
    }
  }

  @Test func aFileThatIsGoneCostsItsEntryAndNoOther() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(bytes(1000), forKey: "a")
    try cache.set(bytes(1000, seed: 2), forKey: "b")
    try cache.flush()
    for file in try place.spilledFiles where try Data(contentsOf: file) == bytes(1000) {
      try FileManager.default.removeItem(at: file)
    }
    #expect(errorCode { try cache.value(forKey: "a") } == .damaged)
    #expect(try cache.value(forKey: "b") == bytes(1000, seed: 2))
    #expect(try cache.entries().map(\.key) == ["b"])
    #expect(try cache.infos().map(\.key) == ["a", "b"])
    try cache.remove(forKey: "a")
    #expect(try cache.value(forKey: "a") == nil)
    #expect(try cache.totalCount == 1)
  }

  @Test func noFileIsLeftBehindByAnyOperation() throws {
    var generator = SeededGenerator(seed: 11)
    do {
      let cache = try place.openData { $0.inlineThreshold = 50 }
      for _ in 0..<400 {
        let key = "\(Int.random(in: 0..<20, using: &generator))"
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: try cache.remove(forKey: key)
        case 1: try cache.flush()
        case 2: try cache.trim(toCount: 10)
        default:
          try cache.set(Data(count: Int.random(in: 0..<150, using: &generator)), forKey: key)
        }
      }
    }
    let cache = try place.openData { $0.inlineThreshold = 50 }
    try cache.flush()
    let spilled = try cache.infos().filter(\.isSpilled)
    #expect(try place.spilledFiles.count == spilled.count, "seed \(generator.seed)")
  }

  @Test func removingAllTellsOfTheFiles() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    for number in 0..<40 { try cache.set(bytes(100), forKey: "\(number)") }
    try cache.flush()
    var calls: [(done: UInt64, total: UInt64)] = []
    try cache.removeAll { done, total in
      calls.append((done, total))
      return true
    }
    #expect(calls.last?.done == calls.last?.total)
    #expect(calls.last?.total == 40)
    #expect(zip(calls, calls.dropFirst()).allSatisfy { $0.done <= $1.done })
    #expect(try cache.isEmpty)
    #expect(try place.spilledFiles.isEmpty)
  }

  @Test func removingAllCanBeLeftToTheBackground() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    for number in 0..<40 { try cache.set(bytes(100), forKey: "\(number)") }
    try cache.flush()
    #expect(throws: CancellationError.self) { try cache.removeAll { _, _ in false } }
    #expect(try cache.isEmpty)
    try cache.flush()
    try cache.close()
    _ = try place.openData()
    #expect(try place.spilledFiles.isEmpty)
  }
}
