// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The code of the page "Coming from CacheAdvance": its example, and every cell of its table.
@Suite("Coming from CacheAdvance") struct ComingFromCacheAdvanceExamples {
  private let directory: TemporaryDirectory
  private let file: URL
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("a.larder")
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func theSameProgram() throws {
    // Example: from CacheAdvance
    let log = try MessageLog<Event>(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest)
    try log.append(Event(level: 1, text: "started"))

    for event in try log.messages() {
      print(event.text)  // started
    }
    // End of example
    #expect(transcript.lines == ["started"])
  }

  @Test func bothPolicies() throws {
    let fresh = directory.file("b.larder")
    do { _ = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse) }
    do {
      _ = try MessageLog<Event>(at: .url(fresh), capacity: 1.megabytes, whenFull: .overwriteOldest)
    }
    // A file of the other policy is only read, on request, or given the new one.
    var configuration = MessageLogConfiguration()
    configuration.onMismatch = .readOnly
    let reader = try MessageLog<Event>(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest,
      configuration: configuration)
    #expect(try !reader.isWritable)
    #expect(throws: LarderError.self) { try reader.append(Event(level: 1, text: "")) }
    try reader.close()
    configuration.onMismatch = .adapt
    let log = try MessageLog<Event>(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest,
      configuration: configuration)
    #expect(try log.isWritable)
    #expect(log.fileURL == file)
    #expect(try log.isEmpty)
  }

  @Test func coders() throws {
    do {
      let log = try MessageLog<Event>(
        at: .url(file), capacity: 1.megabytes, whenFull: .refuse, coder: .json)
      try log.append(Event(level: 1, text: "json"))
    }
    let raw = directory.file("raw.larder")
    let log = try MessageLog(
      at: .url(raw), capacity: 1.megabytes, whenFull: .refuse, coder: .data)
    try log.append(Data())
    #expect(try log.messages() == [Data()])
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    let other = directory.file("other.larder")
    let mine = try MessageLog<Event>(
      at: .url(other), capacity: 1.megabytes, whenFull: .refuse, coder: .json(encoder, decoder))
    try mine.append(Event(level: 2, text: "mine"))
    #expect(try mine.messages().map(\.level) == [2])
  }

  @Test func appendingAndReading() throws {
    let log = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    let event = Event(level: 1, text: "event")
    let sequence = try log.append(event)
    try log.append(event, durability: .power)
    let events = try log.messages()
    #expect(sequence == 1 && events.count == 2)
    for entry in log.entries(from: sequence) { #expect(try entry.message.level == 1) }
    #expect(log.reversed().map(\.sequence) == [2, 1])
    try log.close()
    let elsewhere = try MessageLog<Event>(readingFrom: .url(file))
    #expect(try elsewhere.count == 2)
  }

  @Test func errors() throws {
    var codes: [LarderError.Code] = []
    let tooLarge = Event(level: 1, text: String(repeating: "a", count: 2000))
    let log = try MessageLog<Event>(at: .url(file), capacity: 2048, whenFull: .refuse)
    for event in [tooLarge] + Array(repeating: Event(level: 1, text: "event"), count: 100) {
      do {
        try log.append(event)
      } catch let error as LarderError where error.code == .tooLarge {
        codes.append(error.code)
      } catch let error as LarderError where error.code == .full {
        codes.append(error.code)
        break
      }
    }
    #expect(codes == [.tooLarge, .full])
    let others: [LarderError.Code] = [
      .incompatibleVersion, .notALarderFile, .configurationMismatch, .damaged,
    ]
    #expect(Set(others).count == 4)
    let report = try log.verify()
    #expect(report.lost == 0)
    try log.close()
    let rescued = directory.file("rescued.larder")
    let salvaged = try MessageLog<Event>.salvage(from: .url(file), to: .url(rescued))
    #expect(salvaged.lost == 0)
  }
}
