// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// `--timestamps`, `--since`, `--until`, and what `stat` says of times.
struct LogTimeTests {
  private let directory: TemporaryDirectory
  private let file: URL
  private var log: String { file.path }

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("log.larder")
  }

  private func append(_ lines: String, _ arguments: String...) throws -> Tool.Run {
    try Tool.run(["log", "append", "--quiet"] + arguments + [log], input: Data(lines.utf8))
  }

  private var dates: [Date] {
    get throws {
      try MessageLog<Data>(readingFrom: .url(file), coder: .data).entries.map {
        try #require($0.date)
      }
    }
  }

  @Test func messagesAreSelectedByTheTimesThatTheLogKeeps() throws {
    #expect(try append("one\ntwo\n", "--timestamps").code == 0)
    // The second batch has another time: an append is later than the end of the one before it.
    while try append("three\n").code == 0, try Set(self.dates).count < 2 {}
    let dates = try self.dates
    let count = dates.count
    let first = try #require(dates.first).ISO8601Format()
    let all = try Tool.run("log", "cat", log).lines
    #expect(all.count == count)
    for (arguments, expected) in [
      (["--since", "1h"], count), (["--since", "2001-01-01"], count), (["--until", "1h"], 0),
      (["--since", first], count), (["--since", "1h", "--until", "2999-12-31T23:59:59Z"], count),
      (["--since", "2999-01-01"], 0), (["--until", "2999-01-01 12:00+02:00"], count),
      (["--since", "1h", "--last", "1"], 1), (["--since", "1h", "--from", "2"], count - 1),
    ] {
      for order in [[], ["--reverse"]] {
        let run = try Tool.run(["log", "cat"] + order + arguments + [log])
        #expect(run.code == 0 && run.errors.isEmpty, "\(arguments)")
        #expect(run.lines.count == expected, "\(arguments)")
      }
    }
    for (since, expected) in [("yesterday", count), ("@0", count), ("2999-01-01", 0)] {
      for files in [[log], [log, log]] {
        let run = try Tool.run(["log", "tail", "--since", since] + files)
        #expect(run.code == 0 && run.lines.count == expected * files.count, "\(since)")
      }
      let one = try Tool.run("log", "tail", "-n1", "--since", since, log)
      #expect(one.lines.count == min(1, expected), "\(since)")
    }
    let shown = try Tool.run("log", "cat", "--time", "--sequence", "--last", "1", log).text
    #expect(shown.wholeMatch(of: /\d+\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z\t(two|three)\n/) != nil)
    let object = try Tool.run("log", "cat", "--json", "--last", "1", log).object
    #expect((object["time"] as? String)?.hasSuffix("Z") == true)
  }

  @Test func aLogWithoutTimesSaysHowToHaveThem() throws {
    #expect(try append("one\n").code == 0)
    let run = try Tool.run("log", "cat", "--since", "10m", log)
    #expect(run.code == 2 && run.output.isEmpty)
    #expect(run.errors.contains("larder log resize --timestamps"))
    #expect(try Tool.run("log", "tail", "--since", "10m", log).errors == run.errors)
    let refused = try append("two\n", "--timestamps")
    #expect(refused.code == 2 && refused.errors.contains("larder log resize"))
    #expect(try Tool.run("log", "cat", "--time", log).text == "-\tone\n")
    #expect(try Tool.run("log", "resize", "--quiet", "--timestamps", log).code == 0)
    #expect(try append("two\n", "--timestamps").code == 0)
    #expect(try Tool.run("log", "cat", "--since", "1h", log).text == "two\n")
    #expect(try Tool.run("log", "cat", log).text == "one\ntwo\n")
    for text in ["tomorrow", "10", "-5m", "2026-13-01", "2026-02-30", "2026-01-01T25:00"] {
      let wrong = try Tool.run("log", "cat", "--since=\(text)", log)
      // Lines are as wide as a terminal.
      let said = wrong.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(wrong.code == 64 && said.contains("is not a time"), "\(text)")
    }
  }

  @Test func statShowsTheSpanOfTimes() throws {
    #expect(try append("", "--timestamps").code == 0)
    #expect(try Tool.run("log", "stat", log).text.contains(/times +none yet/))
    let before = Date().timeIntervalSince1970 - 1
    #expect(try append("one\ntwo\n").code == 0)
    let object = try Tool.run("log", "stat", "--json", log).object
    #expect(object["keepsTimes"] as? Bool == true && object["formatVersion"] as? Int == 3)
    let times = ["oldestTime", "newestTime"].compactMap { object[$0] as? Double }
    #expect(times.count == 2 && times[0] >= before && times[1] >= times[0])
    #expect(try Tool.run("log", "stat", log).text.contains(/times +\d{4}-.*Z to \d{4}-.*Z/))
    let plain = directory.file("plain.larder").path
    _ = try Tool.run("log", "append", "--quiet", plain, input: Data("a\n".utf8))
    let figures = try Tool.run("log", "stat", "--json", plain).object
    #expect(figures["keepsTimes"] as? Bool == false && figures["oldestTime"] is NSNull)
    #expect(try !Tool.run("log", "stat", plain).text.contains("times"))
  }
}
