// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

struct LogAppendTests {
  private let directory: TemporaryDirectory
  private let log: String

  init() throws {
    directory = try TemporaryDirectory()
    log = directory.file("log.larder").path
  }

  @Test func theSummaryIsJSONIfAsked() throws {
    _ = try Tool.run("log", "append", log, input: Data("a\n".utf8))
    let run = try Tool.run("log", "append", "--json", log, input: Data("b\nc\n".utf8))
    #expect(run.errors.isEmpty)
    let object = try run.object
    #expect(object["appended"] as? Int == 2)
    #expect(object["bytes"] as? Int == 4)
    #expect(object["firstSequence"] as? Int == 2)
    #expect(object["lastSequence"] as? Int == 3)
    #expect(object["interrupted"] as? Bool == false)
    #expect(try #require(object["seconds"] as? Double) >= 0)
    let nothing = try Tool.run("log", "append", "--json", log).object
    #expect(nothing["appended"] as? Int == 0)
    #expect(nothing["firstSequence"] is NSNull)
  }

  @Test func theSummaryIsOneLineOnTheStandardErrorUnlessQuiet() throws {
    let run = try Tool.run("log", "append", log, input: Data("a\nb\n".utf8))
    #expect(run.output.isEmpty)
    #expect(run.errors.hasPrefix("larder: \(log): appended 2 messages (1 to 2), 4 bytes in "))
    #expect(run.errors.filter { $0 == "\n" }.count == 1)
    #expect(try Tool.run("log", "append", "--quiet", log, input: Data("a\n".utf8)).errors.isEmpty)
  }

  @Test func aNewLogHasTheCapacityAndPolicyAskedFor() throws {
    _ = try Tool.run("log", "append", "--capacity", "1.5MiB", "--refuse", log)
    var stat = try Tool.run("log", "stat", "--json", log).object
    #expect(stat["capacity"] as? Int == 1_572_864)
    #expect(stat["whenFull"] as? String == "refuse")
    let other = directory.file("other.larder").path
    _ = try Tool.run("log", "append", other)
    stat = try Tool.run("log", "stat", "--json", other).object
    #expect(stat["capacity"] as? Int == 64 << 20)
    #expect(stat["whenFull"] as? String == "overwriteOldest")
  }

  @Test func anEmptyFileBecomesALog() throws {
    try Data().write(to: URL(fileURLWithPath: log))
    #expect(try Tool.run("log", "append", log, input: Data("a\n".utf8)).code == 0)
    #expect(try Tool.run("log", "cat", log).text == "a\n")
  }

  @Test func anExistingLogKeepsItsSettingsAndSaysSo() throws {
    _ = try Tool.run("log", "append", "--capacity", "1MiB", "--refuse", log)
    #expect(try Tool.run("log", "append", log, input: Data("a\n".utf8)).code == 0)
    #expect(try Tool.run("log", "append", "--refuse", "--capacity", "1024KiB", log).code == 0)
    let capacity = try Tool.run("log", "append", "--capacity", "2MiB", log)
    #expect(capacity.code == 2)
    #expect(capacity.errors.contains("1 MiB") && capacity.errors.contains("2 MiB"))
    #expect(capacity.errors.contains("larder log resize"))
    let policy = try Tool.run("log", "append", "--overwrite", log)
    #expect(policy.code == 2)
    #expect(policy.errors.contains("refuses when it is full"))
    #expect(try Tool.run("log", "cat", log).text == "a\n")
  }

  @Test func aFullLogThatRefusesKeepsWhatItHasAndFails() throws {
    let lines = (1...1_000).map { "message \($0)\n" }
    let run = try Tool.run(
      ["log", "append", "--refuse", "--capacity", "4KiB", log], input: Data(lines.joined().utf8))
    #expect(run.code == 2)
    let kept = try Tool.run("log", "cat", log).lines.count
    #expect(kept > 50 && kept < 1_000)
    #expect(try Tool.run("log", "cat", log).text == lines.prefix(kept).joined())
    let errors = run.errors.split(separator: "\n")
    #expect(errors.count == 2)
    #expect(errors[0].contains("appended \(kept) messages"))
    #expect(errors[1].hasPrefix("larder: Could not append"))
    let bytes = lines.prefix(kept).joined().utf8.count
    #expect(errors[0].contains(" \(bytes) bytes in ") || errors[0].contains(" KiB in "))
    let json = try Tool.run(
      ["log", "append", "--refuse", "--capacity", "4KiB", "--json", directory.file("json").path],
      input: Data(lines.joined().utf8))
    #expect(json.code == 2)
    #expect(try json.object["bytes"] as? Int == bytes)
    #expect(try json.object["appended"] as? Int == kept)
  }

  @Test(arguments: [[], ["--timestamps"]])
  func aLineThatIsTooLongForTheLogIsSplitAndJoinedAgain(options: [String]) throws {
    // What a log overwrites is gone: the end of the line is what stays, and what comes behind it.
    let line = Data((0..<3 << 20).map { UInt8(0x61 + $0 / 1000 % 26) })
    let input = Data("short\n".utf8) + line + Data("\nbehind it\n".utf8)
    let arguments = ["log", "append", "--quiet", "--capacity", "64KiB", log] + options
    #expect(try Tool.run(arguments, input: input).code == 0)
    let kept = try Tool.run("log", "cat", log).output
    #expect(kept.count > 40_000 && input.suffix(kept.count) == kept)
    let shown = try Tool.run("log", "cat", "--json", log).lines
    #expect(shown.count > 3 && shown.dropLast(2).allSatisfy { $0.contains("\"partial\":true") })
    #expect(shown.suffix(2).allSatisfy { !$0.contains("partial") })
    #expect(try Tool.run("log", "cat", "--sequence", log).lines.count == shown.count)
  }

  @Test func theLongestLineThatFitsIsOneMessage() throws {
    for times in [[], ["--timestamps"]] {
      let path = directory.file("longest\(times.count)").path
      _ = try Tool.run(["log", "append", "-q", "--capacity", "4KiB", path] + times)
      let room = try #require(
        Tool.run("log", "stat", "--json", path).object["dataCapacity"] as? Int)
      let longest = room - (times.isEmpty ? 16 : 24)
      for (count, messages) in [(longest, 1), (longest + 1, 5)] {
        let line = String(repeating: "x", count: count) + "\n"
        let input = Data(line.utf8)
        let run = try Tool.run("log", "append", "--json", path, input: input)
        #expect(run.code == 0)
        #expect(try run.object["appended"] as? Int == messages)
        if messages == 1 { #expect(try Tool.run("log", "cat", path).text == line) }
      }
    }
  }

  @Test func linesOfASlowInputAreThereBeforeItEnds() throws {
    let append = try RunningTool("log", "append", "--json", log)
    try append.write("one\ntwo\nthr")
    let tail = try RunningTool("log", "tail", "-f", try existing())
    #expect(tail.readLine() == "one\n")
    #expect(tail.readLine() == "two\n")
    try append.write("ee\n")
    #expect(tail.readLine() == "three\n")
    try append.endInput()
    #expect(append.wait().code == 0)
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
  }

  @Test func anInterruptKeepsWhatWasAppended() throws {
    let append = try RunningTool("log", "append", "--json", log)
    try append.write("one\ntwo\nunended")
    let tail = try RunningTool("log", "tail", "-f", try existing())
    #expect(tail.readLine() == "one\n")
    #expect(tail.readLine() == "two\n")
    append.send(SIGTERM)
    let (code, output, errors) = append.wait()
    #expect(code == 130)
    #expect(errors.isEmpty)
    let object = try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
    #expect(object["appended"] as? Int == 2)
    #expect(object["interrupted"] as? Bool == true)
    #expect(try Tool.run("log", "cat", log).text == "one\ntwo\n")
    #expect(try Tool.run("log", "verify", log).code == 0)
  }

  /// Sends the signal of Ctrl-C, and returns when it was delivered.
  private func interrupt(_ tool: RunningTool) {
    tool.send(SIGINT)
    #if os(Linux)
      // ShdPnd and SigPnd have a bit of each signal that is pending.
      let status = "/proc/\(tool.identifier)/status"
      while let text = try? String(contentsOfFile: status, encoding: .utf8),
        text.contains(/Pnd:\t[0-9a-f]*[2367abef]\n/)
      {}
    #endif
  }

  @Test func theLastWordsBehindCtrlCAreAppended() throws {
    let append = try RunningTool("log", "append", "--json", log)
    try append.write("one\n")
    let tail = try RunningTool("log", "tail", "-f", try existing())
    #expect(tail.readLine() == "one\n")
    interrupt(append)
    try append.write("last\nwords\n")
    #expect(tail.readLine() == "last\n" && tail.readLine() == "words\n")
    try append.endInput()
    let (code, output, _) = append.wait()
    #expect(code == 0)
    let object = try #require(try JSONSerialization.jsonObject(with: output) as? [String: Any])
    #expect(object["appended"] as? Int == 3 && object["interrupted"] as? Bool == false)
  }

  @Test func aSecondCtrlCStopsReading() throws {
    let append = try RunningTool("log", "append", "--quiet", log)
    try append.write("one\nunended")
    _ = try existing()
    interrupt(append)
    interrupt(append)
    #expect(append.wait().code == 130)
    #expect(try Tool.run("log", "cat", log).text == "one\n")
    #expect(try Tool.run("log", "verify", log).text.contains("did not close it") == false)
  }

  @Test func aSignalThatWasIgnoredBeforeStaysSo() throws {
    let append = try RunningTool(
      ["log", "append", "--quiet", log], ignoresInterrupts: true)
    try append.write("one\n")
    _ = try existing()
    for _ in 0..<3 { interrupt(append) }
    try append.write("two\n")
    try append.endInput()
    #expect(append.wait().code == 0)
    #expect(try Tool.run("log", "cat", log).text == "one\ntwo\n")
    let tail = try RunningTool(["log", "tail", "-f", log], ignoresInterrupts: true)
    #expect(tail.readLine() == "one\n")
    for _ in 0..<3 { interrupt(tail) }
    _ = try Tool.run("log", "append", log, input: Data("three\n".utf8))
    #expect(tail.readLine() == "two\n" && tail.readLine() == "three\n")
    tail.send(SIGTERM)
    #expect(tail.wait().code == 0)
  }

  @Test func syncedMessagesAreOnTheDiskWhenItReturns() throws {
    #expect(try Tool.run("log", "append", "--sync", log, input: Data("a\nb\n".utf8)).code == 0)
    #expect(try Tool.run("log", "stat", "--json", log).object["syncedSequence"] as? Int == 2)
  }

  /// The log's path, once there is a log with messages at it.
  private func existing() throws -> String {
    while true {
      let stat = try Tool.run("log", "stat", "--json", log)
      if stat.code == 0, try stat.object["count"] as? Int ?? 0 > 0 { return log }
    }
  }

  @Test(arguments: [["--sync"], []])
  func aLogThatIsDeletedMeanwhileIsAnError(options: [String]) throws {
    _ = try Tool.run("log", "append", log, input: Data("one\n".utf8))
    let reader = try RingHandle(path: log, options: RingOptions(readOnly: true))
    let append = try RunningTool(["log", "append", log] + options)
    try append.write("two\n")
    #expect(try reader.wait(after: 1, timeout: .seconds(60)))
    try FileManager.default.removeItem(atPath: log)
    try append.write("three\n")
    let (code, _, errors) = append.wait()
    #expect(code == 2)
    #expect(errors.contains("it was deleted, or another one has its name"))
  }
}
