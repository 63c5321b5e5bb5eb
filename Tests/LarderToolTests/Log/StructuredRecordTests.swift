// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What a logging backend writes, as `cat` and `tail` print and select it.
struct StructuredRecordTests {
  private let directory: TemporaryDirectory
  private let file: URL
  private var log: String { file.path }

  private static let start = Date(timeIntervalSince1970: 1_700_000_000.25)

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("log.larder")
  }

  private func record(
    _ level: String, _ label: String, _ message: String, after seconds: Double = 0,
    metadata: CBORValue? = nil, error: String? = nil
  ) -> CBORValue {
    func pair(_ key: String, _ value: CBORValue) -> CBORValue.Pair {
      CBORValue.Pair(.text(key), value)
    }
    var pairs = [
      pair("time", .tagged(1, .float(Self.start.timeIntervalSince1970 + seconds))),
      pair("level", .text(level)), pair("label", .text(label)), pair("message", .text(message)),
    ]
    if let metadata { pairs.append(pair("metadata", metadata)) }
    pairs += [pair("source", .text("App")), pair("line", .unsigned(7))]
    if let error { pairs.append(pair("error", .text(error))) }
    return .map(pairs)
  }

  private func fill(_ records: [CBORValue], at url: URL? = nil, keepsTimes: Bool = false) throws {
    var configuration = MessageLogConfiguration()
    configuration.keepsTimes = keepsTimes
    let log = try MessageLog<CBORValue>(
      at: .url(url ?? file), capacity: 1.megabytes, whenFull: .refuse,
      configuration: configuration)
    for record in records { try log.append(record) }
    try log.close()
  }

  private func fillWithSamples() throws {
    let metadata = CBORValue.map([
      CBORValue.Pair(.text("id"), .text("a1")),
      CBORValue.Pair(.text("path"), .text("/a b")),
      CBORValue.Pair(.text("tags"), .array([.text("x"), .text("y")])),
    ])
    try fill([
      record("info", "web", "started", after: 0),
      record("debug", "db", "connected in 3 ms", after: 60, metadata: metadata),
      record("warning", "db", "slow query", after: 120),
      record("critical", "web", "gone", after: 180, error: "no such host"),
    ])
  }

  @Test func recordsAreLinesOfText() throws {
    try fillWithSamples()
    let run = try Tool.run("log", "cat", log)
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(
      run.text == """
        2023-11-14T22:13:20.250Z info web: started
        2023-11-14T22:14:20.250Z debug db: connected in 3 ms id=a1 path="/a b" tags=["x","y"]
        2023-11-14T22:15:20.250Z warning db: slow query
        2023-11-14T22:16:20.250Z critical web: gone error="no such host"

        """)
    let last = try #require(run.lines.last)
    #expect(try Tool.run("log", "tail", "-n", "1", log).text == "\(last)\n")
    let object = try Tool.run("log", "cat", "--json", "--last", "1", log).object
    let message = try #require(object["message"] as? [String: Any])
    #expect(message["level"] as? String == "critical" && message["line"] as? Int == 7)
    #expect(message["time"] as? String == "2023-11-14T22:16:20.250Z")
    #expect(object["time"] == nil && object["sequence"] as? Int == 4)
  }

  @Test func recordsAreSelected() throws {
    try fillWithSamples()
    for (arguments, numbers) in [
      (["--level", "trace"], [1, 2, 3, 4]), (["--level", "warning"], [3, 4]),
      (["--label", "db"], [2, 3]), (["--label", "d"], []),
      (["--level", "info", "--label", "web"], [1, 4]), (["--grep", "slow"], [3]),
      (["--grep", "st.rted|host"], [1, 4]), (["--grep", "(?i)SLOW"], [3]),
      (["--grep", "path=\"/a"], [2]), (["--grep", "zzz"], []),
      (["--last", "1", "--label", "db"], [3]), (["--last", "2", "--level", "info"], [3, 4]),
      (["--since", "2023-11-14T22:14:20.250Z"], [2, 3, 4]),
      (["--since", "2023-11-14T22:14Z", "--until", "2023-11-14T22:16:20Z"], [2, 3]),
    ] {
      let code: Int32 = arguments == ["--grep", "zzz"] ? 1 : 0
      let run = try Tool.run(["log", "cat", "--sequence"] + arguments + [log])
      let printed = run.lines.compactMap { Int($0.prefix { $0 != "\t" }) }
      #expect(run.code == code && run.errors.isEmpty && printed == numbers, "\(arguments)")
      let reversed = try Tool.run(["log", "cat", "--sequence", "--reverse"] + arguments + [log])
      let back = reversed.lines.compactMap { Int($0.prefix { $0 != "\t" }) }
      #expect(back == numbers.reversed(), "\(arguments)")
    }
    let tail = try Tool.run("log", "tail", "-n", "1", "--label", "db", "--json", log).object
    #expect(tail["sequence"] as? Int == 3)
    let wrong = try Tool.run("log", "cat", "--level", "loud", log)
    #expect(wrong.code == 64 && wrong.errors.contains("critical"))
    #expect(try Tool.run("log", "cat", "--grep", "(", log).code == 64)
  }

  @Test func whatIsNoRecordIsPrintedAsBefore() throws {
    try fill([
      .map([CBORValue.Pair(.text("level"), .text("info"))]),
      .array([.unsigned(1)]), record("loud", "a", "b"), record("info", "a", "b"),
    ])
    let run = try Tool.run("log", "cat", log)
    #expect(run.lines.prefix(2) == [#"{"level":"info"}"#, "[1]"])
    #expect(run.lines.dropFirst(2).first?.hasPrefix(#"{"time":"2023"#) == true)
    #expect(run.lines.last?.hasSuffix("info a: b") == true)
    #expect(try Tool.run("log", "cat", "--level", "trace", log).lines.count == 1)
    #expect(try Tool.run("log", "cat", "--grep", "^.1.$", log).text == "[1]\n")
    let lines = directory.file("lines.larder").path
    _ = try Tool.run("log", "append", "--quiet", lines, input: Data("an error\nfine\n".utf8))
    let refused = try Tool.run("log", "cat", "--level", "error", lines)
    #expect(refused.code == 2 && refused.errors.contains("--grep"))
    let plain = directory.file("plain.larder")
    try fill([.array([.unsigned(1)])], at: plain)
    for options in [["--level", "trace"], ["--since", "today"], ["--until", "2200-01-01"]] {
      for command in ["cat", "tail"] where command == "cat" || options[0] != "--until" {
        let run = try Tool.run(["log", command] + options + [plain.path])
        #expect(run.code == 2 && run.output.isEmpty && run.errors.contains("structured record"))
      }
    }
    #expect(try Tool.run("log", "cat", plain.path).text == "[1]\n")
    #expect(try Tool.run("log", "cat", "--grep", "error", lines).text == "an error\n")
    #expect(try Tool.run("log", "tail", "--grep", "f[io]ne", lines).text == "fine\n")
    for paths in [[lines], [lines, log]] {
      let none = try Tool.run(["log", "tail", "--grep", "no such text"] + paths)
      #expect(none.code == 1 && none.output.isEmpty && none.errors.isEmpty)
      #expect(try Tool.run(["log", "tail", "--grep", "fine"] + paths).code == 0)
    }
  }

  @Test func coloursAreForTerminalsWhoseUserWantsThem() throws {
    try fillWithSamples()
    let escape = "\u{1B}["
    let plain = try Terminal.run(["log", "cat", log])
    #expect(!String(decoding: plain.shown, as: UTF8.self).contains(escape))
    let wanting = ["NO_COLOR": "", "TERM": "xterm"]
    let coloured = try Terminal.run(["log", "cat", log], environment: wanting)
    let text = String(decoding: coloured.shown, as: UTF8.self)
    #expect(text.contains("\(escape)33mwarning\(escape)0m"))
    #expect(text.contains("\(escape)31mcritical\(escape)0m"))
    #expect(text.contains("info web: started"))
    let dumb = try Terminal.run(
      ["log", "cat", log], environment: wanting.merging(["TERM": "dumb"]) { $1 })
    #expect(dumb.shown == plain.shown)
    #expect(try !Tool.run("log", "cat", log).text.contains(escape))
  }

  // MARK: - Several logs

  @Test func severalLogsArePrintedInTheOrderOfTheirTimes() throws {
    let other = directory.file("other.larder")
    var configuration = MessageLogConfiguration()
    configuration.keepsTimes = true
    let logs = try [file, other].map {
      try MessageLog<String>(
        at: .url($0), capacity: 64.kilobytes, whenFull: .refuse, coder: .string,
        configuration: configuration)
    }
    var expected: [String] = []
    var generator = SeededGenerator(seed: 9)
    func append(_ number: Int) throws {
      let index = Int.random(in: 0...1, using: &generator)
      try logs[index].append("m\(number)")
      expected.append("\(["log", "other"][index]).larder: m\(number)")
      // No two have one time.
      let date = try #require(try logs[index].statistics.newestDate)
      while Date() <= date {}
    }
    for number in 1...50 { try append(number) }
    let run = try Tool.run("log", "tail", "-n", "100", log, other.path)
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(run.lines.map(String.init) == expected)
    let objects = try Tool.run("log", "tail", "-n", "100", "--json", log, other.path).lines
    #expect(objects.count == 50 && objects.first?.contains(#""log":""#) == true)

    let tail = try RunningTool("log", "tail", "-n", "100", "-f", log, other.path)
    for line in expected { #expect(tail.readLine() == line + "\n") }
    for number in 51...90 { try append(number) }
    for line in expected.suffix(40) { #expect(tail.readLine() == line + "\n") }
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
    let missing = try Tool.run("log", "tail", log, directory.file("none").path)
    #expect(missing.code == 2 && missing.output.isEmpty)
  }
}
