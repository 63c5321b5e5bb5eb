// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// Readers of a log that was resized, deleted or replaced: a log that is open for reading meets
/// what one in another process meets.
@Suite("Message log: readers of a replaced file")
struct ReplacedFollowerTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  private func fill(_ numbers: ClosedRange<Int>) throws {
    let log = try fixture.open(holding: 100)
    for number in numbers { try log.append(text(number)) }
    try log.close()
  }

  /// Another log, with numbers from 1 on.
  private func makeOther(count: Int) throws {
    let url = fixture.directory.file("other")
    let log = try MessageLog<String>(
      at: .url(url), capacity: 64.kilobytes, whenFull: .refuse, coder: .string)
    for number in 1...count { try log.append("other \(number)") }
    try log.close()
    #expect(rename(url.path, fixture.url.path) == 0)
  }

  private func resize(_ count: Int) throws {
    try MessageLog<String>.resize(
      at: .url(fixture.url), to: DataSize(bytes: try fixture.capacity(count)))
  }

  @Test(arguments: [true, false])
  func aFollowerGoesOnWithALogThatWasResized(isAdapted: Bool) async throws {
    try fill(1...3)
    let reader = try fixture.reader()
    var iterator = try reader.follow().makeAsyncIterator()
    for number in 1...3 { #expect(try await iterator.next()?.message == text(number)) }
    // It waits by the time that the log is resized, or comes to find it so.
    let following = Task {
      var seen: [UInt64] = []
      for try await entry in try reader.follow(from: .after(3)) {
        seen.append(entry.sequence)
        if seen.count == 3 { break }
      }
      return seen
    }
    var configuration = MessageLogConfiguration()
    configuration.onMismatch = .adapt
    if !isAdapted { try resize(200) }
    let writer = try fixture.open(fixture.capacity(200), .overwriteOldest, configuration)
    for number in 4...6 { try writer.append(text(number)) }
    #expect(try await following.value == [4, 5, 6])
    for number in 4...6 {
      let entry = try #require(try await iterator.next())
      #expect(entry.sequence == number && entry.lost == 0)
      #expect(try entry.message == text(number))
    }
    // So does all else that reads it.
    #expect(try reader.count == 6)
    #expect(try reader.verify().isIntact)
  }

  @Test func everyReaderFindsItsPositionInALogThatWasResized() throws {
    try fill(1...5)
    let reader = try fixture.reader()
    let position = try reader.makeReader()
    let consumer = try reader.consumer(named: "uploader")
    for number in 1...5 {
      #expect(try position.next()?.message == text(number))
      #expect(try consumer.next()?.message == text(number))
    }
    try resize(3)
    let writer = try fixture.open(holding: 3)
    for number in 6...9 { try writer.append(text(number)) }
    let next = try #require(try position.next())
    #expect(next.sequence == 7 && next.lost == 1)
    #expect(try consumer.next()?.lost == 1)
    #expect(try position.previous()?.sequence == 7)
    #expect(try reader.messages() == texts(7...9))
    #expect(reader.entries.map(\.sequence) == [7, 8, 9])
    #expect(reader.entries.reversed().map(\.sequence) == [9, 8, 7])
  }

  @Test func aFollowerGoesOnWithACopyThatTookTheName() async throws {
    try fill(1...3)
    let reader = try fixture.reader()
    var iterator = try reader.follow().makeAsyncIterator()
    for _ in 1...3 { _ = try await iterator.next() }
    let copy = fixture.directory.file("copy")
    try FileManager.default.copyItem(at: fixture.url, to: copy)
    #expect(rename(copy.path, fixture.url.path) == 0)
    try fill(4...4)
    #expect(try await iterator.next()?.message == text(4))
  }

  /// As many numbers as before, fewer, or more: numbers do not tell one log from another.
  @Test(arguments: [5, 10, 30])
  func whoReadsIsToldOfAnotherLogBehindTheLastMessage(count: Int) async throws {
    try fill(1...9)
    let reader = try fixture.reader()
    var iterator = try reader.follow().makeAsyncIterator()
    let position = try reader.makeReader()
    let consumer = try reader.consumer(named: "uploader")
    for _ in 1...9 { _ = try await iterator.next() }
    for _ in 1...9 { _ = try position.next() }
    #expect(try consumer.read(upTo: 2).count == 2)
    // Appended before the log was replaced, and read after it.
    try fill(10...10)
    try makeOther(count: count)
    #expect(try await iterator.next()?.message == text(10))
    await #expect { _ = try await iterator.next() } throws: { $0.isReplaced }
    #expect(try position.next()?.message == text(10))
    #expect(errorCode { try position.next() } == .replaced)
    #expect(try position.previous()?.message == text(10))
    #expect(try consumer.read(upTo: 100).count == 8)
    #expect(errorCode { try consumer.read(upTo: 100) } == .replaced)
    #expect(errorCode { try reader.messages() } == .replaced)
    let last = try #require(reader.entries.map { $0 }.first)
    #expect(errorCode { try last.message } == .replaced)
    #expect(errorCode { try reader.verify() } == .replaced)
    #expect(errorCode { try reader.identity() } == .replaced)
    // A new one reads the log that has the name.
    #expect(try fixture.reader().count == count)
  }

  @Test func aFollowerThatWaitsIsToldThatTheLogIsDeleted() async throws {
    try fill(1...1)
    let reader = try fixture.reader()
    let following = Task { for try await _ in try reader.follow(from: .newest) {} }
    // Before it waits, or while it does: nobody writes, so it looks from time to time.
    try FileManager.default.removeItem(at: fixture.url)
    await #expect { try await following.value } throws: { $0.isReplaced }
  }

  /// It gives none of the numbers again that the log may have given since.
  @Test func anOlderCopyIsTheSameLog() throws {
    try fill(1...3)
    let copy = fixture.directory.file("copy")
    try FileManager.default.copyItem(at: fixture.url, to: copy)
    try fill(4...6)
    let position = try fixture.reader().makeReader()
    for _ in 1...6 { _ = try position.next() }
    #expect(rename(copy.path, fixture.url.path) == 0)
    #expect(try position.next() == nil)
    try fill(7...7)
    let next = try #require(try position.next())
    #expect(next.sequence > 7 && next.lost == next.sequence - 7)
    #expect(try next.message == text(7))
  }

  @Test func aPassOverWhatIsThereEndsAsItWould() throws {
    try fill(1...9)
    let reader = try fixture.reader()
    var iterator = reader.entries.makeIterator()
    #expect(iterator.next()?.sequence == 1)
    try makeOther(count: 3)
    for number in 2...9 { #expect(iterator.next()?.sequence == UInt64(number)) }
    #expect(iterator.next() == nil)
  }

  @Test func aShipperShipsWhatIsLeftAndSaysThatItIsReplaced() async throws {
    try fill(1...5)
    let sink = ReferenceSink()
    var configuration = LogShipperConfiguration()
    configuration.timeout = nil
    let shipper = try LogShipper(
      fixture.reader(), consumer: "uploader", sink: sink, configuration: configuration)
    try await shipper.shipAll()
    try resize(200)
    let log = try fixture.open(holding: 200)
    for number in 6...8 { try log.append(text(number)) }
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...8))
    try log.append(text(9))
    try await log.close()
    try makeOther(count: 30)
    await #expect { try await shipper.run() } throws: { $0.isReplaced }
    #expect(await sink.texts == texts(1...9))
  }
}
