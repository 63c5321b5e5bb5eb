// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Removing, resizing, damage and salvage, figures.
@Suite struct MessageLogMaintenanceTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  // MARK: - Removing

  @Test func removingTakesTheOldestUpToANumber() throws {
    let log = try fixture.open(holding: 10)
    for number in 1...10 { try log.append(text(number)) }
    #expect(try log.remove(through: 0) == 0)
    #expect(try log.remove(through: 3) == 3)
    #expect(try log.remove(through: 3) == 0)
    #expect(try log.messages() == texts(4...10))
    #expect(try log.remove(through: 100) == 7)
    #expect(try log.isEmpty)
    #expect(try log.statistics.removed == 10)
    #expect(try log.append(text(11)) == 11)
  }

  // MARK: - Resizing

  @Test func resizingKeepsMessagesNumbersAndConsumers() throws {
    do {
      let log = try fixture.open(holding: 10)
      for number in 1...12 { try log.append(text(number)) }
      try log.consumer(named: "c").acknowledge(through: 5)
    }
    let large = try fixture.capacity(20)
    try MessageLog<String>.resize(at: .url(fixture.url), to: DataSize(bytes: large))
    do {
      let log = try fixture.open(large)
      #expect(try log.isWritable)
      #expect(try log.messages() == texts(3...12))
      #expect(try log.consumer(named: "c").acknowledged == 5)
      #expect(try log.append(text(13)) == 13)
    }
    let small = try fixture.capacity(4)
    try MessageLog<String>.resize(at: .url(fixture.url), to: DataSize(bytes: small))
    let log = try fixture.open(small)
    #expect(log.entries.map(\.sequence) == [10, 11, 12, 13])
    #expect(try log.messages() == texts(10...13))
    #expect(try log.verify().isIntact)
  }

  @Test func resizingCanChangePolicyAndSlots() throws {
    try fixture.open(holding: 3).append(text(1))
    try MessageLog<String>.resize(
      at: .url(fixture.url), to: 64.kilobytes, whenFull: .refuse, consumerSlots: 100)
    let log = try fixture.open(1 << 16, .refuse)
    #expect(try log.isWritable)
    #expect(try log.statistics.consumerSlots == 100)
    #expect(try log.messages() == [text(1)])
  }

  @Test func resizingWhatIsOpenMissingOrTooSmallFailsAndChangesNothing() throws {
    let url = fixture.url
    #expect(errorCode { try MessageLog<Data>.resize(at: .url(url), to: 4096) } == .io)
    #expect(try fixture.directory.names == [])
    let log = try fixture.open(holding: 3)
    try log.append(text(1))
    #expect(
      errorCode { try MessageLog<Data>.resize(at: .url(url), to: 4096) } == .busy)
    for bytes in [-1, 0, 63, .max] {
      let code = errorCode {
        try MessageLog<Data>.resize(at: .url(url), to: DataSize(bytes: bytes))
      }
      #expect(code == .invalidArgument)
    }
    #expect(try log.messages() == [text(1)])
    #expect(try fixture.directory.names == ["log.larder"])
  }

  // MARK: - Damage

  @Test func flippedByteCostsOneMessageAndIsCounted() throws {
    do {
      let log = try fixture.open(holding: 100)
      for number in 1...100 { try log.append(text(number)) }
    }
    try flip(text(42))
    let log = try fixture.open(holding: 100)
    #expect(try log.messages() == texts(1...41) + texts(43...100))
    let entries = Array(log.entries)
    #expect(entries.filter { $0.lost > 0 }.map(\.sequence) == [43])
    #expect(entries.map(\.lost).reduce(0, +) == 1)
    let report = try log.verify()
    #expect(!report.isIntact)
    #expect(report.intact == 99)
    #expect(report.lost == 1)
    #expect(report.firstDamageOffset != nil)
    #expect(try log.append(text(101)) == 101)
  }

  @Test func salvageSavesEverythingIntactWithItsNumber() throws {
    do {
      let log = try fixture.open(holding: 100)
      for number in 1...150 { try log.append(text(number)) }
      try log.consumer(named: "c").acknowledge(through: 60)
    }
    try flip(text(77))
    try overwrite(from: 0, with: Data(repeating: 0xAA, count: 64))
    let before = try Data(contentsOf: fixture.url)
    let target = fixture.directory.file("saved.larder")
    let report = try MessageLog<String>.salvage(from: .url(fixture.url), to: .url(target))
    #expect(report.intact == 99)
    #expect(report.isHeaderDamaged)
    #expect(!report.isIntact)
    let log = try MessageLog<String>(readingFrom: .url(target), coder: .string)
    #expect(try log.messages() == texts(51...76) + texts(78...150))
    #expect(log.entries.first { _ in true }?.sequence == 51)
    #expect(try log.consumer(named: "c").acknowledged == 60)
    #expect(try Data(contentsOf: fixture.url) == before)
  }

  @Test func salvageOfWhatIsNoLogLeavesNothing() throws {
    try Data(repeating: 1, count: 5000).write(to: fixture.url)
    let target = fixture.directory.file("saved.larder")
    #expect(
      errorCode { try MessageLog<Data>.salvage(from: .url(fixture.url), to: .url(target)) }
        == .notALarderFile)
    #expect(try fixture.directory.names == ["log.larder"])
  }

  @Test func salvageOfALogThatIsCutInItsHeadDoesNotAdviseSalvage() throws {
    try fixture.open(holding: 3).append(text(1))
    try Data(contentsOf: fixture.url).prefix(600).write(to: fixture.url)
    let target = fixture.directory.file("saved.larder")
    let failure = error { try MessageLog<Data>.salvage(from: .url(fixture.url), to: .url(target)) }
    #expect(failure?.code == .damaged)
    #expect(failure?.message.contains("ends inside its header") == true)
    #expect(try fixture.directory.names == ["log.larder"])
  }

  @Test func salvageNeverWritesOverAFile() throws {
    try fixture.open(holding: 3).append(text(1))
    let error = error {
      try MessageLog<Data>.salvage(from: .url(fixture.url), to: .url(fixture.url))
    }
    #expect(error?.code == .io)
    #expect(error?.errno == EEXIST)
    #expect(try fixture.open(holding: 3).messages() == [text(1)])
  }

  @Test func salvageTellsHowFarItIsAndStopsWhenTold() throws {
    let message = String(repeating: "x", count: 1000)
    try fixture.open(4 << 20).append(contentsOf: repeatElement(message, count: 4000))
    let target = fixture.directory.file("saved.larder")
    var told: [UInt64] = []
    #expect(throws: CancellationError.self) {
      try MessageLog<Data>.salvage(from: .url(fixture.url), to: .url(target)) { done, total in
        told.append(done)
        #expect(done <= total)
        return told.count < 2
      }
    }
    #expect(told.count == 2)
    #expect(told == told.sorted())
    #expect(try fixture.directory.names == ["log.larder"])
  }

  @Test func copyOfALogThatWasNeverClosedOpensWithEverything() throws {
    let log = try fixture.open(holding: 10)
    for number in 1...14 { try log.append(text(number)) }
    try log.sync()
    let copy = fixture.directory.file("copy.larder")
    try Data(contentsOf: fixture.url).write(to: copy)
    let bytes = try fixture.capacity(10)
    let other = try MessageLog<String>(
      at: .url(copy), capacity: DataSize(bytes: bytes), whenFull: .overwriteOldest, coder: .string)
    #expect(try other.messages() == texts(5...14))
    let report = try other.recovery
    #expect(!report.wasClosed)
    #expect(report.intact == 10)
    #expect(report.lost == 0)
    // Of a copy nobody can tell which numbers were given behind its messages.
    #expect(try other.append(text(15)) >= 15)
  }

  /// A message that was overwritten in part of a lap lies behind the others, in room that was too
  /// short for one of them.
  @Test func damageToTheOldestMessageBringsNoneBackThatWasOverwritten() throws {
    let log = try fixture.open(holding: 10)
    for number in 1...10 { try log.append(text(number)) }
    let long = (11...14).map { String(repeating: "\($0)", count: 24) }
    try log.append(contentsOf: long)
    #expect(log.entries.map(\.sequence) == [12, 13, 14])
    var bytes = try Data(contentsOf: fixture.url)
    #expect(bytes.range(of: Data(text(10).utf8)) != nil)
    let oldest = try #require(bytes.range(of: Data(long[1].utf8)))
    bytes[oldest.lowerBound] ^= 4
    let copy = fixture.directory.file("copy.larder")
    try bytes.write(to: copy)
    let reader = try MessageLog(readingFrom: .url(copy), coder: .string)
    #expect(reader.entries.map(\.sequence) == [13, 14])
    #expect(try reader.recovery.lost == 1 && reader.verify().lost == 1)
  }

  // MARK: - Destroying

  @Test(arguments: [false, true]) func destroyingTakesTheFilesOfTheLogAlone(isAwaited: Bool)
    async throws
  {
    let url = fixture.url
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    let reader = try fixture.reader()
    let queue = try log.queue(named: "work")
    _ = try log.identity()
    let other = url.path + ".queue-other"
    try Data("mine".utf8).write(to: URL(fileURLWithPath: other))
    _ = try log.consumer(named: "other")
    #expect(try fixture.directory.names.count == 4)
    if isAwaited { try await log.destroy() } else { try destroy(log) }
    #expect(try fixture.directory.names == ["log.larder.queue-other"])
    #expect(errorCode { try log.append(text(2)) } == .closed)
    #expect(errorCode { try queue.poll(leaseFor: .seconds(1)) } == .closed)
    #expect(errorCode { try reader.messages() } == .replaced)
    // Twice, and after another has come into its place.
    let next = try fixture.open(holding: 10)
    try next.append(text(7))
    try destroy(log)
    #expect(try next.messages() == texts(7...7))
    #expect(errorCode { try destroy(reader) } == .readOnly)
  }

  /// The blocking form, in a task.
  private func destroy(_ log: MessageLog<String>) throws { try log.destroy() }

  @Test func aLogInAnothersPlaceIsNotDestroyed() throws {
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    let queue = try log.queue(named: "work")
    let moved = fixture.directory.file("moved")
    try FileManager.default.moveItem(at: fixture.url, to: moved)
    #expect(errorCode { try log.destroy() } == .replaced)
    try Data("mine".utf8).write(to: fixture.url)
    #expect(errorCode { try log.destroy() } == .replaced)
    #expect(try Data(contentsOf: fixture.url) == Data("mine".utf8))
    #expect(try queue.poll(leaseFor: .seconds(1))?.message == text(1))
    #expect(try log.append(text(2)) == 2)
    #expect(errorCode { try log.suspend() } == .replaced)
    #expect(errorCode { try log.destroy() } == .suspended)
    let closed = try LogFixture()
    let other = try closed.open(holding: 10)
    try other.close()
    #expect(errorCode { try other.destroy() } == .closed)
    #expect(try closed.directory.names == ["log.larder"])
  }

  // MARK: - Figures

  @Test func statisticsAddUp() throws {
    let start = Date()
    let log = try fixture.open(holding: 3)
    let empty = try log.statistics
    #expect(empty.count == 0)
    #expect(empty.size == 0)
    #expect(empty.oldestSequence == nil)
    #expect(empty.newestSequence == nil)
    #expect(empty.nextSequence == 1)
    for number in 1...7 { try log.append(text(number)) }
    try log.remove(through: 5)
    let statistics = try log.statistics
    #expect(statistics.capacity == (try fixture.capacity(3)))
    #expect(statistics.dataCapacity == 72)
    #expect(statistics.size == 48)
    #expect(statistics.count == 2)
    #expect(statistics.oldestSequence == 6)
    #expect(statistics.newestSequence == 7)
    #expect(statistics.nextSequence == 8)
    #expect(statistics.overwritten == 4)
    #expect(statistics.removed == 1)
    #expect(statistics.lost == 0)
    #expect(statistics.wraps >= 1)
    #expect(statistics.format == "utf8")
    #expect(statistics.formatVersion == 2)
    #expect(statistics.whenFull == .overwriteOldest)
    #expect(statistics.consumerSlots == 8)
    #expect(!statistics.isReadOnly)
    #expect(abs(statistics.created.timeIntervalSince(start)) < 3600)
    let attributes = try FileManager.default.attributesOfItem(atPath: fixture.url.path)
    #expect(attributes[.size] as? UInt64 == statistics.capacity)
  }

  @Test func capacityForMessagesIsExactOrNil() throws {
    for (count, size) in [(1, 0), (1, 1), (7, 100), (1000, 13)] {
      let fixture = try LogFixture()
      let log = try fixture.open(holding: count, ofSize: size, .refuse)
      let message = String(repeating: "x", count: size)
      for _ in 0..<count { try log.append(message) }
      #expect(errorCode { try log.append(message) } == .full)
    }
    typealias Log = MessageLog<Data>
    #expect(Log.capacity(forMessages: 0, ofSize: 1) == nil)
    #expect(Log.capacity(forMessages: -1, ofSize: 1) == nil)
    #expect(Log.capacity(forMessages: 1, ofSize: -1) == nil)
    #expect(Log.capacity(forMessages: 1, ofSize: 1, consumerSlots: -1) == nil)
    #expect(Log.capacity(forMessages: .max, ofSize: .max) == nil)
    #expect(Log.capacity(forMessages: 1, ofSize: 0x7FFF_F001) == nil)
    #expect(Log.capacity(forMessages: 1, ofSize: 0x7FFF_F000) != nil)
  }

  // MARK: - Helpers

  private func flip(_ message: String) throws {
    let bytes = try Data(contentsOf: fixture.url)
    let place = try #require(bytes.range(of: Data(message.utf8)))
    try overwrite(from: place.lowerBound, with: Data([bytes[place.lowerBound] ^ 0x40]))
  }

  private func overwrite(from offset: Int, with bytes: Data) throws {
    let file = try FileHandle(forUpdating: fixture.url)
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: bytes)
    try file.close()
  }
}
