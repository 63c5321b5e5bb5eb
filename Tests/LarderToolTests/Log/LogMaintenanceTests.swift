// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// `stat`, `verify`, `salvage` and `resize`.
struct LogMaintenanceTests {
  private let directory: TemporaryDirectory
  private let file: URL
  private var log: String { file.path }
  private let lines = (1...1_000).map { "this is message number \($0)\n" }

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("log.larder")
    _ = try Tool.run(
      ["log", "append", "--capacity", "1MiB", log], input: Data(lines.joined().utf8))
  }

  /// Flips a bit in the text of message `number`.
  private func damage(_ number: Int) throws {
    var bytes = try Data(contentsOf: file)
    let range = try #require(bytes.range(of: Data("number \(number)".utf8)))
    bytes[range.lowerBound] ^= 4
    try bytes.write(to: file)
  }

  @Test func statShowsTheFiguresToPeopleAndPrograms() throws {
    let writer = try MessageLog(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .string)
    try writer.consumer(named: "mailer").acknowledge(through: 400)
    let table = try Tool.run("log", "stat", log)
    #expect(table.code == 0)
    for text in [
      "1,000  (1 to 1,000)", "1 MiB  (1,048,576 bytes)", "drops its oldest messages",
      "process \(ProcessInfo.processInfo.processIdentifier)", "mailer", "done to 400, 600 behind",
    ] {
      #expect(table.text.contains(text), "\(text)")
    }
    let object = try Tool.run("log", "stat", "--json", log).object
    #expect(object["count"] as? Int == 1_000)
    #expect(object["nextSequence"] as? Int == 1_001)
    #expect(object["consumerSlots"] as? Int == 8)
    let consumers = try #require(object["consumers"] as? [[String: Any]])
    #expect(consumers.count == 1)
    #expect(consumers[0]["name"] as? String == "mailer")
    #expect(consumers[0]["behind"] as? Int == 600)
    try writer.close()
    #expect(try Tool.run("log", "stat", log).text.contains("no process"))
  }

  @Test func verifyOfAGoodLogSaysSo() throws {
    let run = try Tool.run("log", "verify", log)
    #expect(run.code == 0)
    #expect(run.text == "\(log): all is well, 1,000 intact messages (1 to 1,000)\n")
    let object = try Tool.run("log", "verify", "--json", log).object
    #expect(object["isIntact"] as? Bool == true)
    #expect(object["intact"] as? Int == 1_000)
    #expect(object["firstDamageOffset"] is NSNull)
  }

  @Test func verifyFindsOneFlippedBitAndSaysWhere() throws {
    try damage(500)
    let run = try Tool.run("log", "verify", log)
    #expect(run.code == 1)
    #expect(run.text.contains("damaged"))
    #expect(run.text.contains("999 intact messages"))
    #expect(run.text.contains("1 message lost"))
    #expect(run.text.contains("missing: message 500"))
    let again = try Tool.run("log", "verify", "--json", log)
    #expect(again.code == 1)
    let object = try again.object
    #expect(object["isIntact"] as? Bool == false)
    #expect(object["lost"] as? Int == 1)
    let missing = try #require(object["missing"] as? [[String: Any]])
    #expect(missing.map { $0["firstSequence"] as? Int } == [500])
    let place = try #require(
      try Data(contentsOf: file).range(of: Data("message number 499".utf8))?.lowerBound)
    let offset = try #require(object["firstDamageOffset"] as? Int)
    #expect(abs(offset - place) < 100)
  }

  @Test func verifyOfALogThatAKilledWriterLeftIsGood() throws {
    let writer = try RunningTool("log", "append", "--quiet", log)
    try writer.write("the last one\n")
    let tail = try RunningTool("log", "tail", "-n", "1001", "-f", log)
    while tail.readLine() != "the last one\n" {}
    writer.send(SIGKILL)
    #expect(writer.wait().code == -SIGKILL)
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
    let run = try Tool.run("log", "verify", log)
    #expect(run.code == 0)
    #expect(run.text.contains("1,001 intact messages"))
    #expect(run.text.contains("its last writer did not close it"))
  }

  @Test func verifyOfALogThatIsBeingOverwrittenFindsNoDamage() throws {
    let busy = directory.file("busy.larder")
    let writer = try MessageLog(
      at: .url(busy), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    for line in lines { try writer.append(line) }
    let isDone = Locked(false)
    let thread = Thread {
      while !isDone.withLock({ $0 }) {
        for line in lines { _ = try? writer.append(line) }  // Counted below by their numbers.
      }
    }
    let first = try writer.statistics.nextSequence
    thread.start()
    for _ in 1...5 {
      let run = try Tool.run("log", "verify", busy.path)
      #expect(run.code == 0, "\(run.text)")
      #expect(run.text.contains("process \(ProcessInfo.processInfo.processIdentifier) is writing"))
    }
    isDone.withLock { $0 = true }
    #expect(try writer.statistics.nextSequence > first)
  }

  @Test func verifyFindsDamageWhileAProcessWrites() throws {
    let writer = try MessageLog(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .string)
    let handle = try FileHandle(forUpdating: file)
    let range = try #require(
      try Data(contentsOf: file).range(of: Data("number 500".utf8)))
    try handle.seek(toOffset: UInt64(range.lowerBound))
    try handle.write(contentsOf: Data("N".utf8))
    try handle.close()
    let run = try Tool.run("log", "verify", "--json", log)
    #expect(run.code == 1)
    let object = try run.object
    #expect(object["lost"] as? Int == 1 && object["intact"] as? Int == 999)
    #expect(
      object["writerProcess"] as? Int == Int(ProcessInfo.processInfo.processIdentifier))
    try writer.close()
  }

  @Test func catSkipsADamagedMessageAndSaysSo() throws {
    try damage(500)
    let run = try Tool.run("log", "cat", log)
    #expect(run.code == 1)
    #expect(run.text == (lines[..<499] + lines[500...]).joined())
    #expect(run.errors.contains("1 number missing before message 501"))
    let json = try Tool.run("log", "cat", "--json", log).lines
    #expect(json.filter { $0.contains("\"lost\":1") }.count == 1)
  }

  @Test func salvageOfAGoodLogLosesNothing() throws {
    let target = directory.file("saved.larder").path
    let run = try Tool.run("log", "salvage", log, target)
    #expect(run.code == 0)
    #expect(run.text.contains("1,000 intact messages (1 to 1,000) saved from \(log)"))
    #expect(run.text.contains("nothing was lost"))
    #expect(try Tool.run("log", "cat", target).text == lines.joined())
  }

  @Test func salvageSaysThatTheOldestMessageWasLost() throws {
    try damage(1)
    let target = directory.file("saved.larder").path
    let run = try Tool.run("log", "salvage", log, target)
    #expect(run.code == 1)
    #expect(run.text.contains("1 message lost") && !run.text.contains("nothing was lost"))
    let saved = try Tool.run("log", "stat", "--json", target).object
    #expect(saved["lost"] as? Int == 1 && saved["overwritten"] as? Int == 0)
  }

  @Test func salvageOfADamagedLogSavesTheRestAndSaysWhatWasLost() throws {
    try damage(250)
    try damage(750)
    let target = directory.file("saved.larder").path
    let run = try Tool.run("log", "salvage", "--json", log, target)
    #expect(run.code == 1)
    #expect(try run.object["intact"] as? Int == 998)
    #expect(try run.object["lost"] as? Int == 2)
    let saved = try Tool.run("log", "cat", "--sequence", target).lines
    #expect(saved.count == 998)
    #expect(saved[249] == "251\tthis is message number 251")
    #expect(try Tool.run("log", "verify", target).code == 0)
  }

  @Test func salvageOfATruncatedFileSavesWhatIsThere() throws {
    let half = try Data(contentsOf: file).prefix(30_000)
    try half.write(to: file)
    let cat = try Tool.run("log", "cat", log)
    #expect(cat.code == 1)
    #expect(cat.errors.contains("salvage"))
    let target = directory.file("saved.larder").path
    let run = try Tool.run("log", "salvage", log, target)
    #expect(run.code == 1)
    let saved = try Tool.run("log", "cat", target).text
    #expect(saved.count > 10_000)
    #expect(lines.joined().hasPrefix(saved))
  }

  @Test func salvageDoesNotTouchATargetThatExists() throws {
    let target = directory.file("target")
    try Data("precious".utf8).write(to: target)
    let run = try Tool.run("log", "salvage", log, target.path)
    #expect(run.code == 2)
    #expect(run.errors.contains(target.path))
    #expect(try Data(contentsOf: target) == Data("precious".utf8))
  }

  @Test func resizeKeepsTheNewestMessagesThatFit() throws {
    let grown = try Tool.run("log", "resize", "--capacity", "2MiB", log)
    #expect(grown.code == 0)
    #expect(grown.errors.contains("1 MiB before, 2 MiB now, 1,000 messages kept"))
    #expect(try Tool.run("log", "cat", log).text == lines.joined())
    #expect(try Tool.run("log", "resize", "--capacity", "8KiB", log).code == 0)
    let kept = try Tool.run("log", "cat", log).lines.count
    #expect(kept > 50 && kept < 1_000)
    #expect(try Tool.run("log", "cat", log).text == lines.suffix(kept).joined())
    let first = try Tool.run("log", "cat", "--sequence", log).lines.first
    #expect(first == "\(1_001 - kept)\tthis is message number \(1_001 - kept)")
  }

  @Test func resizeToALogThatRefusesDropsNothing() throws {
    let run = try Tool.run("log", "resize", "--capacity", "8KiB", "--refuse", log)
    #expect(run.code == 2)
    #expect(try Tool.run("log", "cat", log).text == lines.joined())
    #expect(try Tool.run("log", "resize", "--refuse", log).code == 0)
    #expect(try Tool.run("log", "stat", "--json", log).object["whenFull"] as? String == "refuse")
    #expect(try Tool.run("log", "resize", log).code == 64)
  }
}
