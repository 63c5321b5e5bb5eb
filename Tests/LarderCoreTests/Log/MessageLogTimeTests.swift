// SPDX-License-Identifier: MIT

import CLarder
import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite("Message log: times") struct MessageLogTimeTests {
  private let fixture: LogFixture
  private var configuration = MessageLogConfiguration()

  init() throws {
    fixture = try LogFixture()
    configuration.keepsTimes = true
  }

  /// Appends to the log as at other times; in nanoseconds since 1970.
  private func append(_ messages: [(text: String, time: Int64)]) throws {
    final class Clock { var now: Int64 = 0 }
    let clock = Clock()
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.clock = { Unmanaged<Clock>.fromOpaque($0!).takeUnretainedValue().now }
    options.clock_context = Unmanaged.passUnretained(clock).toOpaque()
    var ring: OpaquePointer?
    #expect(larder_ring_open(fixture.url.path, &options, nil, &ring) == 0)
    let opened = try #require(ring)
    for (text, time) in messages {
      clock.now = time
      #expect(larder_ring_append(opened, text, text.utf8.count, nil) == 0)
    }
    withExtendedLifetime(clock) { larder_ring_close(opened) }
  }

  @Test func messagesHaveDatesThatDoNotDecrease() throws {
    let before = Date() - 1
    let log = try fixture.open(4096, .overwriteOldest, configuration)
    for number in 1...9 { try log.append(text(number)) }
    try log.append(contentsOf: texts(10...12))
    let dates = try log.entries.map { try #require($0.date) }
    #expect(dates.count == 12 && dates == dates.sorted())
    #expect(Set(dates.suffix(3)).count == 1)
    let first = try #require(dates.first)
    let last = try #require(dates.last)
    #expect(first >= before && last <= Date() + 1)
    let statistics = try log.statistics
    #expect(statistics.keepsTimes && statistics.formatVersion == 3)
    #expect(statistics.oldestDate == first && statistics.newestDate == last)
    #expect(try log.makeReader().next()?.date == first)
    #expect(try log.consumer(named: "a").next()?.date == first)
  }

  /// Also where the dates of several messages are the same, which their times are not.
  @Test func whatHasADateIsFoundByIt() throws {
    try fixture.open(65536, .overwriteOldest, configuration).close()
    let start: Int64 = 1_700_000_000_123_456_789
    var generator = SeededGenerator(seed: 5)
    var time = start
    let messages: [(String, Int64)] = (1...200).map { number in
      time += Int64.random(in: 0...300, using: &generator)
      return (text(number), time)
    }
    try append(messages)
    let log = try fixture.reader()
    let all = Array(log.entries)
    #expect(all.count == 200)
    for entry in all {
      let date = try #require(entry.date)
      let should = try all.filter { try #require($0.date) >= date }.map(\.sequence)
      #expect(log.entries(since: date).map(\.sequence) == should)
    }
    let last = try #require(all.last?.date)
    #expect(try log.messages(since: last + 1).isEmpty)
    #expect(try log.messages(since: .distantPast).count == 200)
    #expect(try log.messages(since: .distantFuture).isEmpty)
    let middle = try #require(all[100].date)
    let since = log.entries(since: middle)
    #expect(Array(since.reversed().map(\.sequence)) == Array(since.map(\.sequence).reversed()))
    let reader = try log.makeReader()
    try reader.seek(to: middle)
    #expect(try reader.next()?.sequence == since.map(\.sequence).first)
    try reader.seek(to: last + 1)
    #expect(try reader.next() == nil)
    #expect(try reader.previous()?.sequence == 200)
  }

  @Test func aLogWithoutTimesSaysThatItKeepsNone() throws {
    let log = try fixture.open(4096)
    try log.append("a")
    #expect(log.entries.map(\.date) == [nil])
    let statistics = try log.statistics
    #expect(!statistics.keepsTimes && statistics.formatVersion == 2)
    #expect(statistics.oldestDate == nil && statistics.newestDate == nil)
    let calls: [() throws -> Void] = [
      { _ = try log.messages(since: Date()) },
      { _ = try log.remove(before: Date()) },
      { try log.makeReader().seek(to: Date()) },
      { for entry in log.entries(since: Date()) { _ = try entry.message } },
    ]
    for call in calls {
      let error = #expect(throws: LarderError.self) { try call() }
      #expect(error?.code == .invalidArgument)
      #expect(error?.description.contains("keeps no times") == true)
    }
  }

  @Test func aLogThatKeepsNoneIsAdapted() throws {
    do {
      let log = try fixture.open(4096)
      try log.append("a")
    }
    do {
      var reading = configuration
      reading.onMismatch = .readOnly
      let log = try fixture.open(4096, .overwriteOldest, reading)
      #expect(try !log.isWritable)
      let error = #expect(throws: LarderError.self) { try log.append("b") }
      #expect(error?.code == .configurationMismatch)
      #expect(error?.description.contains("keeps no times") == true)
    }
    do {
      let log = try fixture.open(4096, .overwriteOldest, configuration)
      try log.append("b")
      #expect(try log.entries.map { try $0.message } == ["a", "b"])
      #expect(log.entries.map { $0.date == nil } == [true, false])
      #expect(try log.messages(since: .distantPast) == ["b"])
      #expect(try log.statistics.oldestDate == nil)
    }
    // From then on it does, whoever opens it.
    let log = try fixture.open(4096)
    try log.append("c")
    #expect(try log.statistics.keepsTimes)
    #expect(log.entries.map { $0.date == nil } == [true, false, false])
  }

  @Test func whatIsOldIsRemoved() throws {
    var aging = configuration
    aging.keepsTimes = false
    aging.maximumAge = .seconds(3600)
    try fixture.open(4096, .refuse, aging).close()
    let now = Int64(Date().timeIntervalSince1970 * 1e9)
    let day: Int64 = 86_400_000_000_000
    try append([("older", now - 2 * day), ("old", now - day), ("new", now)])
    let log = try fixture.open(4096, .refuse, aging)
    let consumer = try log.consumer(named: "slow")
    #expect(try log.count == 3)
    // An append removes what is too old; nothing waits for a consumer.
    try log.append("newer")
    #expect(try log.messages() == ["new", "newer"])
    #expect(try log.statistics.removed == 2)
    #expect(try consumer.next()?.message == "new")
    #expect(try log.remove(before: .distantPast) == 0)
    #expect(try log.remove(before: Date() + 60) == 2)
    for age in [Duration.zero, .seconds(-1)] {
      var wrong = MessageLogConfiguration()
      wrong.maximumAge = age
      let error = #expect(throws: LarderError.self) { _ = try fixture.open(4096, .refuse, wrong) }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test func aResizeKeepsTimesAndTheSizeOfMessagesCountsThem() throws {
    let bytes = try #require(
      MessageLog<String>.capacity(forMessages: 4, ofSize: 8, keepsTimes: true)?.bytes)
    #expect(bytes == 896 + 4 * 32)
    do {
      let log = try fixture.open(bytes, .overwriteOldest, configuration)
      for number in 1...9 { try log.append(text(number)) }
      #expect(try log.messages() == texts(6...9))
    }
    let dates = try fixture.reader().entries.map(\.date)
    try MessageLog<String>.resize(at: .url(fixture.url), to: DataSize(bytes: 2 * bytes))
    #expect(try fixture.reader().entries.map(\.date) == dates)
    #expect(try fixture.reader().messages() == texts(6...9))
  }
}
