// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Batches, failing coders, durability.
@Suite struct MessageLogAppendingTests {
  private struct Refusal: Error {}

  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  /// Refuses negative numbers, both ways.
  private let picky = Coder<Int>(
    format: "picky",
    encode: { number in
      if number < 0 { throw Refusal() }
      return Data(String(number).utf8)
    },
    decode: { bytes in
      guard let number = Int(String(decoding: bytes, as: UTF8.self)), number != 13 else {
        throw Refusal()
      }
      return number
    })

  private func openPicky() throws -> MessageLog<Int> {
    try MessageLog(
      at: .url(fixture.url), capacity: 4096, whenFull: .overwriteOldest, coder: picky)
  }

  /// Appends to a log of its own kind while it is being encoded.
  private struct Talkative: Codable, Sendable, Equatable {
    var text: String
    private static let log = Locked<MessageLog<Talkative>?>(nil)

    init(_ text: String) { self.text = text }

    init(from decoder: any Decoder) throws {
      text = try decoder.singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
      if text == "outer" { try Self.log.withLock { $0 }?.append(Talkative("inner")) }
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }

    static func use(_ other: MessageLog<Talkative>?) { log.withLock { $0 = other } }
  }

  @Test func aMessageThatIsLoggedWhileAnotherIsEncodedComesFirst() throws {
    let log = try MessageLog<Talkative>(
      at: .url(fixture.url), capacity: 4096, whenFull: .overwriteOldest)
    Talkative.use(log)
    defer { Talkative.use(nil) }
    #expect(try log.append(Talkative("outer")) == 2)
    #expect(try log.messages().map(\.text) == ["inner", "outer"])
  }

  @Test func batchIsAppendedInOrderAndGivesItsLastNumber() throws {
    let log = try fixture.open(4096)
    #expect(try log.append("a") == 1)
    #expect(try log.append(contentsOf: ["b", "", "d"]) == 4)
    #expect(try log.append(contentsOf: []) == nil)
    #expect(try log.append("e") == 5)
    #expect(try log.messages() == ["a", "b", "", "d", "e"])
  }

  @Test func batchLargerThanAnOverwritingLogLeavesItsEnd() throws {
    let log = try fixture.open(holding: 3)
    #expect(try log.append(contentsOf: texts(1...100)) == 100)
    #expect(try log.messages() == texts(98...100))
  }

  @Test func batchThatDoesNotFitLeavesItsBeginningAndSaysHowMuch() throws {
    let log = try fixture.open(holding: 3, .refuse)
    let error = error { try log.append(contentsOf: texts(1...5)) }
    #expect(error?.code == .full)
    #expect(error?.message.contains("5 messages") == true)
    #expect(error?.message.contains("of which 3") == true)
    #expect(try log.messages() == texts(1...3))
  }

  @Test func batchTooLargeMessageStopsWhereItIs() throws {
    let log = try fixture.open(holding: 3)
    let batch = [text(1), String(repeating: "x", count: 1000), text(3)]
    #expect(errorCode { try log.append(contentsOf: batch) } == .tooLarge)
    #expect(try log.messages() == [text(1)])
  }

  @Test func encodingFailureChangesNothingAndKeepsItsCause() throws {
    let log = try openPicky()
    try log.append(1)
    let single = error { try log.append(-1) }
    #expect(single?.code == .encoding)
    #expect(single?.cause is Refusal)
    let batch = error { try log.append(contentsOf: [2, 3, -4, 5]) }
    #expect(batch?.code == .encoding)
    #expect(batch?.cause is Refusal)
    #expect(try log.messages() == [1])
  }

  @Test func messageThatCannotBeDecodedCostsNoOther() throws {
    let log = try openPicky()
    try log.append(contentsOf: [12, 13, 14])
    let failure = error { try log.messages() }
    #expect(failure?.code == .decoding)
    #expect(failure?.cause is Refusal)
    #expect(failure?.message.contains("message 2") == true)
    let entries = Array(log.entries)
    #expect(entries.map(\.sequence) == [1, 2, 3])
    #expect(try entries[0].message == 12)
    #expect(errorCode { try entries[1].message } == .decoding)
    #expect(try entries[2].message == 14)
  }

  @Test func coderThatThrowsLarderErrorsIsNotWrapped() throws {
    let coder = Coder<Int>(
      encode: { _ in throw LarderError(.remote, "No.") }, decode: { $0.count })
    let log = try MessageLog(
      at: .url(fixture.url), capacity: 4096, whenFull: .refuse, coder: coder)
    #expect(errorCode { try log.append(1) } == .remote)
  }

  @Test func codableMessagesNeedNoCoder() throws {
    struct Event: Codable, Equatable {
      var id: Int
      var level: String
      var date: Date
      var value: Double?
    }
    let event = Event(
      id: 1, level: "info", date: Date(timeIntervalSinceReferenceDate: 1234.5), value: 0.1)
    do {
      let log = try MessageLog<Event>(
        at: .url(fixture.url), capacity: 4096, whenFull: .refuse)
      try log.append(event)
    }
    #expect(try MessageLog<Event>(readingFrom: .url(fixture.url)).messages() == [event])
  }

  @Test func dataWithACoderOfItsOwnGoesThroughThatCoder() throws {
    let mirrored = Coder<Data>(encode: { Data($0.reversed()) }, decode: { Data($0.reversed()) })
    let log = try MessageLog(
      at: .url(fixture.url), capacity: 4096, whenFull: .refuse, coder: mirrored)
    try log.append(Data([1, 2, 3]))
    #expect(try log.messages() == [Data([1, 2, 3])])
    try log.forEachMessageBytes { _, bytes in #expect(Array(bytes) == [3, 2, 1]) }
  }

  @Test func dataIsGivenOutWithIndicesFromZeroAndCanBeChanged() throws {
    let url = fixture.url
    let log = try MessageLog<Data>(
      at: .url(url), capacity: 64.kilobytes, whenFull: .refuse, coder: .data)
    let sizes = [0, 1, 14, 15, 100, 5000]
    try log.append(contentsOf: sizes.map { Data(repeating: 7, count: $0) })
    // A slice goes in as what it shows.
    try log.append(Data([0, 1, 2, 3])[1..<3])
    var messages = try log.messages()
    #expect(messages.allSatisfy { $0.startIndex == 0 })
    #expect(messages.map(\.count) == sizes + [2])
    for index in messages.indices { messages[index].append(1) }
    #expect(try log.messages().map(\.count) == sizes + [2])
    #expect(try log.messages().last == Data([1, 2]))
  }

  // MARK: - Durability

  @Test func powerDurabilitySyncsBeforeItReturns() throws {
    let configuration = MessageLogConfiguration(durability: .power, syncInterval: nil)
    let log = try fixture.open(4096, .overwriteOldest, configuration)
    try log.append("a")
    #expect(try log.statistics.syncedSequence == 1)
    try log.append(contentsOf: ["b", "c"])
    #expect(try log.statistics.syncedSequence == 3)
    try log.append("d", durability: .process)
    #expect(try log.statistics.syncedSequence == 3)
    try log.append("e", durability: .power)
    #expect(try log.statistics.syncedSequence == 5)
    try log.append(contentsOf: ["f", "g"], durability: .process)
    #expect(try log.statistics.syncedSequence == 5)
    #expect(try log.append(contentsOf: ["h", "i"], durability: .power) == 9)
    #expect(try log.statistics.syncedSequence == 9)
  }

  @Test func processDurabilityLeavesTheSyncToTheCaller() throws {
    let log = try fixture.open(4096, .refuse, MessageLogConfiguration(syncInterval: nil))
    try log.append("a")
    try log.append("b")
    #expect(try log.statistics.syncedSequence == 0)
    try log.sync()
    #expect(try log.statistics.syncedSequence == 2)
  }

  @Test func dataLogWithPowerDurabilitySyncsToo() throws {
    let log = try MessageLog<Data>(
      at: .url(fixture.url), capacity: 4096, whenFull: .refuse, coder: .data,
      configuration: MessageLogConfiguration(durability: .power, syncInterval: nil))
    try log.append(Data([1]))
    #expect(try log.statistics.syncedSequence == 1)
  }
}
