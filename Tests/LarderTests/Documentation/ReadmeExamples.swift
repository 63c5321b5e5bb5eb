// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

// Example: append and read
struct Event: Codable, Sendable {
  var level: Int
  var text: String
}
// End of example

/// The README's Swift examples, and articles show some of them too. `ReadmeTests` compares what
/// stands between the marks with what the pages show; the tests here run it.
@Suite("The README's examples") struct ReadmeExamples {
  private let directory: TemporaryDirectory
  private let file: URL
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("a.larder")
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func appendAndRead() throws {
    // Example: append and read
    let log = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    try log.append(Event(level: 1, text: "started"))
    try log.append(Event(level: 3, text: "payment received"), durability: .power)

    for event in try log.messages() where event.level > 1 {
      print(event.text)  // payment received
    }
    // End of example
    #expect(transcript.lines == ["payment received"])
    #expect(try log.statistics.syncedSequence == 2)
  }

  @Test func theNewestMegabyteOfAnything() throws {
    // Example: the newest megabyte
    let log = try MessageLog(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .data)
    for number in 1...50_000 {
      try log.append(Data("line \(number)".utf8))
    }

    for entry in log.reversed().prefix(2) {
      print(entry.sequence, String(decoding: try entry.message, as: UTF8.self))
    }
    // 50000 line 50000
    // 49999 line 49999
    // End of example
    #expect(transcript.lines == ["50000 line 50000", "49999 line 49999"])
    #expect(try log.statistics.overwritten > 0)
  }

  @Test func followItLive() async throws {
    let file = file
    let writer = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    try writer.append(Event(level: 1, text: "started"))
    async let appended: Void = {
      for number in 1...1000 { try writer.append(Event(level: 1, text: "\(number)")) }
      try writer.append(Event(level: 1, text: "stopped"))
    }()

    // Example: follow
    let log = try MessageLog<Event>(readingFrom: .url(file))
    for try await entry in try log.follow(from: .oldest) {
      if entry.lost > 0 { print(entry.lost, "overwritten before they could be read") }
      let event = try entry.message
      print(entry.sequence, event.text)
      if event.text == "stopped" { break }
    }
    // End of example
    try await appended
    let expected = ["1 started"] + (1...1000).map { "\($0 + 1) \($0)" } + ["1002 stopped"]
    #expect(transcript.lines == expected)
  }

  @Test func aQueueThatRemembersItsPlace() throws {
    do {
      let log = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
      for number in 1...5 { try log.append(Event(level: 1, text: "\(number)")) }
    }
    #expect(throws: CancellationError.self) {
      try uploadAll { event in
        if event.text == "3" { throw CancellationError() }
        print(event.text)
      }
    }
    try uploadAll { event in print(event.text) }
    #expect(transcript.lines == ["1", "2", "3", "4", "5"])
    let log = try MessageLog<Event>(readingFrom: .url(file))
    #expect(try log.isEmpty)
    #expect(try log.consumers == ["uploader": 5])
  }

  @Test func aCacheThatKnowsWhenToStop() async throws {
    @Sendable func render(_ path: String) async throws -> String { "<h1>\(path)</h1>" }
    // Example: memory cache
    let pages = MemoryCache<String, String>(countLimit: 1000, expiration: .seconds(3600))
    pages["/"] = "<h1>Home</h1>"

    // Concurrent misses for a key share one load.
    let page = try await pages.value(forKey: "/news") { try await render("/news") }
    print(page, pages.count)  // <h1>/news</h1> 2
    // End of example
    #expect(transcript.lines == ["<h1>/news</h1> 2"])
    #expect(pages["/"] == "<h1>Home</h1>")
  }

  @Test func entriesWithSeveralValues() throws {
    let folder = directory.file("pages")
    // Example: entries with several values
    let pages = try EntryCache<String>(at: .url(folder), valueCount: 2, version: 1)
    try pages.setValues([Data("etag: 7".utf8), Data("<h1>Home</h1>".utf8)], forKey: "/")
    try pages.update([0: Data("etag: 8".utf8)], forKey: "/")
    if let page = try pages.snapshot(forKey: "/") {
      print(try page.string(at: 0) ?? "", try page.length(at: 1))  // etag: 8 13
    }
    // End of example
    #expect(transcript.lines == ["etag: 8 13"])
  }

  @Test func elementsFoundByTheirContent() throws {
    let folder = directory.file("notes")
    // Example: notes
    struct Note: Codable, Identifiable, Sendable {
      var id: Int
      var text: String
      var stars: Int
    }

    let notes = try Archive<Note>(at: .url(folder), indexes: [ArchiveIndex("stars", \.stars)])
    try notes.insert(Note(id: 1, text: "Buy milk", stars: 2))
    try notes.insert(Note(id: 2, text: "Call Ada", stars: 5))
    let found = try notes.where { $0.stars > 3 }.results()
    print(found.map(\.text))  // ["Call Ada"]
    // End of example
    #expect(transcript.lines == [#"["Call Ada"]"#])
  }

  private func uploadAll(_ upload: (Event) throws -> Void) throws {
    // Example: queue
    let queue = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    let uploader = try queue.consumer(named: "uploader")
    while let entry = try uploader.next() {
      try upload(entry.message)
      try uploader.acknowledge(through: entry.sequence)
      try queue.remove(through: entry.sequence)
    }
    // End of example
  }
}
