// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Sizes and their limits, which hold at any time. After Vellum's IntegratedSpec "should store
/// just enough object"; its defects that sizes drift and become negative, that an element that
/// is too large exceeds the limit, and that everything is sorted for each eviction.
struct ArchiveLimitTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  private func open(disk: Int?, memory: Int = 1 << 20) throws -> Archive<ArchiveBlock> {
    try place.openBlocks {
      $0.sizeLimit = disk.map { .bytes($0) }
      $0.memorySizeLimit = .bytes(memory)
    }
  }

  private func ids(_ archive: Archive<ArchiveBlock>) throws -> [String] {
    try archive.elements().map(\.id)
  }

  @Test func justEnoughIsStored() throws {
    var generator = SeededGenerator(seed: 42)
    let archive = try place.open(ArchiveStructure.self) {
      $0.memorySizeLimit = 10.kilobytes
      $0.sizeLimit = 20.kilobytes
    }
    for _ in 0..<100 {
      let element = ArchiveStructure.random(&generator)
      try archive.upsert(element)
      #expect(try archive.element(forID: element.id) == element, "seed \(generator.seed)")
      #expect(try archive.size <= 20.kilobytes)
      #expect(archive.memorySize <= 10.kilobytes)
    }
    #expect(archive.memoryCount > 0)
    #expect(try archive.count > archive.memoryCount)
    #expect(try archive.count < 100)
    #expect(try archive.verify().isIntact)
  }

  @Test(arguments: [299, 300, 301, 399, 400, 401])
  func theLimitHoldsFromBothSides(limit: Int) throws {
    let archive = try open(disk: limit)
    for number in 0..<10 {
      try archive.upsert(ArchiveBlock(id: "\(number)", size: 100))
      #expect(try archive.size.bytes <= limit)
      #expect(try archive.element(forID: "\(number)") != nil)
    }
    let kept = limit / 100
    #expect(try ids(archive) == (10 - kept..<10).map { "\($0)" })
  }

  @Test func roomIsMadeForATenthAtOnce() throws {
    let archive = try open(disk: 10_000)
    for number in 100..<200 { try archive.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
    #expect(try archive.count == 100)
    try archive.upsert(ArchiveBlock(id: "200", size: 100))
    // Down to nine tenths, and one more.
    #expect(try archive.count == 91)
    let flushes = try archive.statistics.checkpoints
    for number in 201..<210 { try archive.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
    #expect(try archive.count == 100)
    #expect(try archive.statistics.checkpoints == flushes)
  }

  @Test func whatWasAccessedLeastRecentlyLeaves() throws {
    for memory in [0, 1 << 20] {
      let archive = try open(disk: 500, memory: memory)
      for number in 1...5 { try archive.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
      for id in ["1", "3", "4"] { _ = try archive.element(forID: id) }
      try archive.upsert(ArchiveBlock(id: "6", size: 200))
      #expect(try ids(archive) == ["1", "3", "4", "6"])
      try archive.destroy()
    }
  }

  @Test(arguments: [501, 1000, 100_000])
  func whatIsTooLargeIsRefusedAndNothingChanges(size: Int) throws {
    let archive = try open(disk: 500)
    try archive.upsert(all: [ArchiveBlock(id: "1", size: 200), ArchiveBlock(id: "2", size: 200)])
    let large = ArchiveBlock(id: "1", size: size, byte: 1)
    #expect(errorCode { try archive.upsert(large) } == .tooLarge)
    #expect(errorCode { try archive.upsert(all: [large]) } == .tooLarge)
    #expect(errorCode { try archive.update(id: "1") { $0 = large } } == .tooLarge)
    #expect(try archive.element(forID: "1") == ArchiveBlock(id: "1", size: 200))
    #expect(try archive.size == 400)
    try archive.upsert(ArchiveBlock(id: "3", size: 500))
    #expect(try ids(archive) == ["3"])
  }

  @Test func sizesFollowWhatIsReplacedAndDeleted() throws {
    let archive = try open(disk: nil)
    try archive.upsert(ArchiveBlock(id: "a", size: 24))
    try archive.upsert(ArchiveBlock(id: "a", size: 1000))
    #expect(try archive.size == 1000)
    #expect(archive.memorySize == 1000)
    try archive.upsert(ArchiveBlock(id: "a", size: 10))
    #expect(try archive.size == 10)
    #expect(archive.memorySize == 10)
    try archive.delete(id: "a")
    #expect(try archive.size == 0)
    #expect(archive.memorySize == 0)
  }

  @Test func replacingDoesNotDriveOutWhatFits() throws {
    let archive = try open(disk: 1000)
    try archive.upsert(all: [ArchiveBlock(id: "a", size: 600), ArchiveBlock(id: "b", size: 300)])
    for byte in 0..<20 {
      try archive.upsert(ArchiveBlock(id: "a", size: 600 + byte, byte: UInt8(byte)))
    }
    try archive.upsert(all: [ArchiveBlock(id: "a", size: 500), ArchiveBlock(id: "b", size: 500)])
    #expect(try archive.size == 1000)
    // Now it does not fit any more, and the other one goes.
    try archive.upsert(ArchiveBlock(id: "a", size: 501))
    #expect(try ids(archive) == ["a"])
  }

  @Test func aSequenceLargerThanTheArchiveLeavesItsEnd() throws {
    let archive = try open(disk: 1000)
    try archive.upsert(all: (100..<200).map { ArchiveBlock(id: "\($0)", size: 100) })
    #expect(try archive.size <= 1000)
    #expect(try archive.count >= 9)
    #expect(try ids(archive).last == "199")
    try archive.upsert(all: (0..<50).map { ArchiveBlock(id: "x", size: 10 + $0) })
    #expect(try archive.element(forID: "x")?.size == 59)
    #expect(try archive.size <= 1000)
  }

  @Test func aSmallerLimitHoldsAtOnceAndAfterOpeningAgain() throws {
    var archive: Archive? = try open(disk: 1000)
    for number in 0..<10 { try archive?.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
    try archive?.setSizeLimit(700)
    #expect(try archive?.size == 700)
    #expect(archive?.sizeLimit == 700)
    try archive?.upsert(ArchiveBlock(id: "x", size: 100))
    #expect(try archive?.count == 7)
    try archive?.setSizeLimit(nil)
    #expect(archive?.sizeLimit == nil)
    for number in 0..<10 { try archive?.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
    #expect(try archive?.count == 11)
    archive = nil
    let again = try open(disk: 250)
    #expect(try ids(again) == ["8", "9"])
    try again.setSizeLimit(-1)
    #expect(try again.isEmpty)
  }

  @Test func memoryHoldsNoMoreThanItMay() throws {
    let archive = try open(disk: nil, memory: 300)
    for number in 0..<10 {
      try archive.upsert(ArchiveBlock(id: "\(number)", size: 100))
      #expect(archive.memorySize <= 300)
    }
    #expect(archive.memoryCount == 3)
    #expect(try archive.element(forID: "0") != nil)
    #expect(archive.memoryCount == 3)
    try archive.upsert(ArchiveBlock(id: "large", size: 301))
    #expect(archive.memoryCount == 3)
    #expect(try archive.element(forID: "large")?.size == 301)
    archive.memorySizeLimit = 150
    #expect(archive.memorySize == 100)
    #expect(archive.memorySizeLimit == 150)
    archive.memorySizeLimit = -1
    #expect(archive.memoryCount == 0)
    #expect(archive.memorySizeLimit == .zero)
  }

  @Test func whatTheStoreEvictedIsNotGivenOutOfMemory() throws {
    let archive = try open(disk: 300)
    for number in 0..<10 { try archive.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
    #expect(try archive.element(forID: "0") == nil)
    #expect(try archive.element(forID: "9") != nil)
    #expect(archive.memoryCount < 10)
  }

  @Test func theLimitHoldsForManyThreads() throws {
    let archive = try open(disk: 2000)
    let exceeded = Locked(0)
    onDiskThreads(4) { thread in
      for number in 0..<100 {
        let block = ArchiveBlock(id: "\(thread)-\(number % 30)", size: 50 + number % 70)
        try? archive.upsert(block)
        if (try? archive.size).map({ $0 > 2000 }) ?? true {
          exceeded.withLock { $0 += 1 }
        }
      }
    }
    #expect(exceeded.withLock { $0 } == 0)
    #expect(try archive.verify().isIntact)
  }

  @Test func whatIsExpiredMakesRoomFirst() throws {
    let archive = try place.openBlocks {
      $0.sizeLimit = 500
      $0.expiration = .seconds(10)
    }
    try archive.upsert(ArchiveBlock(id: "a", size: 200))
    place.clock.advance(9)
    try archive.upsert(ArchiveBlock(id: "b", size: 200))
    _ = try archive.element(forID: "a")
    place.clock.advance(1)
    try archive.upsert(ArchiveBlock(id: "c", size: 200))
    #expect(try ids(archive) == ["b", "c"])
  }
}
