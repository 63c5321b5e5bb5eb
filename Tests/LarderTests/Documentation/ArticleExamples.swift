// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The Swift examples of the articles, as `ReadmeExamples` has those of the README.
@Suite("The articles' examples") struct ArticleExamples {
  private let directory: TemporaryDirectory
  private let file: URL
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("a.larder")
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func createAndAdapt() throws {
    do {
      // Example: create
      let log = try MessageLog<Event>(
        at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest)
      // End of example
      try log.append(Event(level: 1, text: "kept"))
    }
    // Example: adapt
    var configuration = MessageLogConfiguration()
    configuration.onMismatch = .adapt
    let log = try MessageLog<Event>(
      at: .url(file), capacity: 2.megabytes, whenFull: .overwriteOldest,
      configuration: configuration)
    // End of example
    #expect(try log.messages().map(\.text) == ["kept"])
    #expect(try log.statistics.capacity == 2 << 20)
  }

  @Test func theSizeForSomeMessages() throws {
    // Example: size
    let capacity = MessageLog<Data>.capacity(forMessages: 1000, ofSize: 100)  // 120,896 bytes
    // End of example
    #expect(capacity == 120_896)
    #expect(MessageLog<Data>.capacity(forMessages: 1, ofSize: 0) == 912)
  }

  @Test func findMessagesByTheirTime() throws {
    // Example: times
    var configuration = MessageLogConfiguration()
    configuration.maximumAge = .seconds(7 * 86_400)
    let log = try MessageLog<Event>(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest,
      configuration: configuration)
    try log.append(Event(level: 1, text: "started"))

    for entry in log.entries(since: Date() - 600) {
      print(entry.date ?? .distantPast, try entry.message.text)
    }
    // End of example
    let entry = try #require(Array(log.entries).first)
    #expect(transcript.lines == ["\(try #require(entry.date)) started"])
  }

  @Test func severalWorkersShareAQueue() async throws {
    let log = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    let deadFile = directory.file("dead.larder")
    for number in 1...20 { try log.append(Event(level: 1, text: "\(number)")) }
    let uploads = Locked<[String]>([])
    @Sendable func upload(_ event: Event) async throws {
      uploads.withLock { $0.append(event.text) }
    }
    // Example: share
    var configuration = LogQueueConfiguration<Event>()
    configuration.removesDone = true
    configuration.maximumAttempts = 3
    configuration.deadLetters = try MessageLog(
      at: .url(deadFile), capacity: 1.megabytes, whenFull: .overwriteOldest,
      coder: .deadLetters(of: .cbor))
    let queue = try log.queue(named: "uploads", configuration: configuration)
    // End of example
    let end = Task {
      while try queue.statistics.done < 20 { await Task.yield() }
      try await log.close()
    }
    // Example: workers
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 1...8 {
        group.addTask {
          for try await job in queue.jobs(leaseFor: .seconds(60)) {
            do {
              try await upload(job.message)
            } catch {
              try await queue.release(job, after: .seconds(10))
              continue
            }
            try await queue.acknowledge(job)
          }
        }
      }
      try await group.waitForAll()
    }
    // End of example
    try await end.value
    #expect(uploads.withLock { Set($0) }.count == 20)
    let again = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    #expect(try again.isEmpty)
  }

  @Test func makeRoomInAFullLog() throws {
    let log = try MessageLog<Event>(at: .url(file), capacity: 1088, whenFull: .refuse)
    let event = Event(level: 1, text: String(repeating: "a", count: 100))
    try log.append(event)
    let done: UInt64 = 1
    // Example: full
    do {
      try log.append(event)
    } catch let error as LarderError where error.code == .full {
      // Only in a log that refuses: it is unchanged. Make room, and try again.
      try log.remove(through: done)
      try log.append(event)
    }
    // End of example
    #expect(try log.count == 1)
    #expect(try log.statistics.removed == 1)
  }

  @Test func readFromANumberOn() throws {
    let log = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    for number in 1...102 { try log.append(Event(level: 1, text: "message \(number)")) }
    // Example: entries
    for entry in log.entries(from: 100) {
      if entry.lost > 0 { print(entry.lost, "messages are missing here") }
      print(entry.sequence, try entry.message.text)
    }
    // End of example
    #expect(transcript.lines == ["100 message 100", "101 message 101", "102 message 102"])
  }

  @Test func salvageADamagedFile() throws {
    do {
      let log = try MessageLog<Event>(at: .url(file), capacity: 4096, whenFull: .refuse)
      for number in 1...10 { try log.append(Event(level: 1, text: "message \(number)")) }
    }
    var bytes = try Data(contentsOf: file)
    let place = try #require(bytes.firstRange(of: Data("message 5".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: file)
    let rescued = directory.file("b.larder")
    // Example: salvage
    let report = try MessageLog<Event>.salvage(from: .url(file), to: .url(rescued))
    print(report.intact, "messages saved,", report.lost, "lost")
    // End of example
    #expect(transcript.lines == ["9 messages saved, 1 lost"])
  }
}
