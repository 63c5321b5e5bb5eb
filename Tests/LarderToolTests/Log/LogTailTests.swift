// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

struct LogTailTests {
  private let directory: TemporaryDirectory
  private let file: URL

  private var log: String { file.path }

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("log.larder")
  }

  private func open(_ bytes: Int = 1 << 20) throws -> MessageLog<String> {
    try MessageLog(
      at: .url(file), capacity: DataSize(bytes: bytes), whenFull: .overwriteOldest, coder: .string)
  }

  @Test func theNewestMessagesArePrinted() throws {
    let lines = (1...30).map { "m\($0)\n" }
    _ = try Tool.run("log", "append", log, input: Data(lines.joined().utf8))
    #expect(try Tool.run("log", "tail", log).text == lines.suffix(10).joined())
    #expect(try Tool.run("log", "tail", "-n", "2", log).text == "m29\nm30\n")
    #expect(try Tool.run("log", "tail", "-n", "0", log).text == "")
    #expect(try Tool.run("log", "tail", "-n", "99", log).lines.count == 30)
    #expect(try Tool.run("log", "tail", "-n", "1", "--sequence", log).text == "30\tm30\n")
  }

  @Test func messagesOfAWriterInAnotherProcessAreFollowed() throws {
    let writer = try open()
    try writer.append("one")
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == "one\n")
    for number in 1...1_000 {
      try writer.append("message \(number)")
      // One at a time now and then, so that waiting for messages is tried as well as reading on.
      if number.isMultiple(of: 100) {
        for expected in number - 99...number {
          #expect(tail.readLine() == "message \(expected)\n")
        }
      }
    }
    tail.send(SIGINT)
    let (code, rest, errors) = tail.wait()
    #expect(code == 0 && rest.isEmpty && errors.isEmpty)
  }

  @Test(arguments: [1, 2])
  func itEndsWithWhoReadsIt(count: Int) throws {
    try open().append("one")
    try FileManager.default.copyItem(at: file, to: directory.file("other.larder"))
    let files = [log, directory.file("other.larder").path].prefix(count)
    let tail = try RunningTool(["log", "tail", "-f"] + files)
    #expect(tail.readLine().hasSuffix("one\n"))
    try tail.closeOutput()
    // Nothing more is appended.
    #expect(tail.waitForExit().code == 0)
  }

  @Test func aWriterThatStopsAndComesBackIsFollowedOn() throws {
    var writer = try open()
    try writer.append("one")
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == "one\n")
    try writer.close()
    for round in 1...3 {
      writer = try open()
      try writer.append("round \(round)")
      #expect(tail.readLine() == "round \(round)\n")
      try writer.close()
    }
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
  }

  @Test func aWriterThatIsKilledAndComesBackIsFollowedOn() throws {
    _ = try Tool.run("log", "append", log, input: Data("start\n".utf8))
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == "start\n")
    for round in 1...3 {
      let writer = try RunningTool("log", "append", "--quiet", log)
      try writer.write("round \(round)\n")
      #expect(tail.readLine() == "round \(round)\n")
      writer.send(SIGKILL)
      #expect(writer.wait().code == -SIGKILL)
    }
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
  }

  @Test func aLogThatIsResizedIsFollowedOn() throws {
    _ = try Tool.run("log", "append", log, input: Data("one\n".utf8))
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == "one\n")
    #expect(try Tool.run("log", "resize", "--capacity", "1MiB", log).code == 0)
    _ = try Tool.run("log", "append", log, input: Data("two\n".utf8))
    #expect(tail.readLine() == "two\n")
    tail.send(SIGINT)
    let (code, _, errors) = tail.wait()
    #expect(code == 0)
    #expect(errors.split(separator: "\n").count == 1 && errors.contains("\(log): resized"))
  }

  /// With fewer messages, as many, and more: numbers do not tell one log from another.
  @Test(arguments: [5, 10, 30], [false, true])
  func anotherLogThatTakesTheNameIsPrintedFromItsBeginning(count: Int, isMerged: Bool) throws {
    let beside = directory.file("beside.larder").path
    _ = try Tool.run("log", "append", beside, input: Data("beside\n".utf8))
    let old = (1...10).map { "old \($0)\n" }.joined()
    _ = try Tool.run("log", "append", log, input: Data(old.utf8))
    let tail =
      isMerged
      ? try RunningTool("log", "tail", "-n", "1", "-f", log, beside)
      : try RunningTool("log", "tail", "-n", "1", "-f", log)
    for _ in 0...(isMerged ? 1 : 0) { _ = tail.readLine() }
    let other = directory.file("other.larder").path
    let new = (1...count).map { "new \($0)\n" }
    _ = try Tool.run("log", "append", other, input: Data(new.joined().utf8))
    #expect(rename(other, log) == 0)
    for line in new { #expect(tail.readLine().hasSuffix(line)) }
    tail.send(SIGINT)
    let (code, _, errors) = tail.wait()
    #expect(code == 0)
    #expect(errors.split(separator: "\n").count == 1 && errors.contains("another log"))
  }

  @Test func aLogThatIsDeletedIsFollowedAsLongAsItIsWrittenAndThenTheNextOne() throws {
    let writer = try open()
    try writer.append("one")
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == "one\n")
    try FileManager.default.removeItem(at: file)
    try writer.append("two")
    #expect(tail.readLine() == "two\n")
    #expect(errorCode { try writer.sync() } == .replaced)
    #expect(tail.readErrors() == "larder: \(log): deleted; waiting for another log of this name\n")
    let next = try open()
    try next.append("three")
    #expect(tail.readLine() == "three\n")
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
  }

  @Test func anEmptyLogIsFollowedFromItsFirstMessage() throws {
    let writer = try open()
    let tail = try RunningTool("log", "tail", "-f", "--json", log)
    try writer.append("first")
    let line = tail.readLine()
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    #expect(object?["message"] as? String == "first")
    tail.send(SIGINT)
    #expect(tail.wait().code == 0)
  }

  @Test func aFollowerThatIsOverrunCountsWhatItLost() throws {
    // Its output pipe is not read, so it stands still while the log goes round many times.
    let writer = try open(32 << 10)
    try writer.append("first")
    let tail = try RunningTool("log", "tail", "-f", "--sequence", log)
    #expect(tail.readLine() == "1\tfirst\n")
    let text = String(repeating: "x", count: 100)
    for _ in 0..<100_000 { try writer.append(text) }
    let last = try writer.append("last")
    var sequences: [UInt64] = [1]
    while sequences.last != last {
      let line = tail.readLine()
      sequences.append(try #require(UInt64(line.prefix { $0 != "\t" })))
    }
    tail.send(SIGINT)
    let (code, _, errors) = tail.wait()
    #expect(code == 0)
    #expect(zip(sequences, sequences.dropFirst()).allSatisfy(<))
    // Every gap in the numbers is a note, with as many messages as are missing.
    let gaps = zip(sequences, sequences.dropFirst()).map { $1 - $0 - 1 }.filter { $0 > 0 }
    #expect(!gaps.isEmpty)
    #expect(errors.split(separator: "\n").count == gaps.count)
    #expect(errors.replacingOccurrences(of: ",", with: "").contains(": \(gaps[0]) number"))
  }

  @Test func aReaderThatGoesAwayEndsIt() throws {
    let writer = try open()
    try writer.append("one")
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == "one\n")
    try tail.closeOutput()
    try writer.append("two")
    let (code, errors) = tail.waitForExit()
    #expect(code == 0 && errors.isEmpty)
  }
}
