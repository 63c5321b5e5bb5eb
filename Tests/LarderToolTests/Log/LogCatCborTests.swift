// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// `cat`, `tail` and `append` on logs whose messages are CBOR.
struct LogCatCborTests {
  private struct Event: Codable, Equatable {
    var id: Int
    var text: String
    var date: Date
    var ratio: Double?
    var parts: [String: [Int]]
    var bytes: Data
  }

  private let directory: TemporaryDirectory
  private let file: URL
  private var log: String { file.path }

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("log.larder")
  }

  private func event(_ id: Int) -> Event {
    Event(
      id: id, text: "say \"\(id)\"\n", date: Date(timeIntervalSince1970: 1_700_000_000.25),
      ratio: id == 1 ? nil : 0.5, parts: ["a": [1, 2]], bytes: Data([0xFB, 0xFF, 1]))
  }

  private func line(_ id: Int) -> String {
    let ratio = id == 1 ? "" : #","ratio":0.5"#
    return #"{"id":\#(id),"text":"say \"\#(id)\"\n","date":"2023-11-14T22:13:20.250Z"\#(ratio)"#
      + #","parts":{"a":[1,2]},"bytes":"-_8B"}"#
  }

  /// A log with the default coder and events 1 to `count`.
  private func fill(_ count: Int) throws -> MessageLog<Event> {
    let log = try MessageLog<Event>(at: .url(file), capacity: 1.megabytes, whenFull: .refuse)
    for id in 1...count { try log.append(event(id)) }
    return log
  }

  /// A log that says its messages are CBOR, and takes any bytes.
  private func fill(_ messages: [Data], format: String = "cbor") throws {
    let asTheyAre = Coder<Data>(format: format, encode: { $0 }, decode: { $0 })
    let log = try MessageLog(
      at: .url(file), capacity: 1.megabytes, whenFull: .refuse, coder: asTheyAre)
    for message in messages { try log.append(message) }
    try log.close()
  }

  @Test func eachMessageIsALineOfJSON() throws {
    try fill(3).close()
    let run = try Tool.run("log", "cat", log)
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(run.text == (1...3).map { line($0) + "\n" }.joined())
    #expect(
      try Tool.run("log", "cat", "--reverse", "--last", "2", log).text
        == "\(line(3))\n\(line(2))\n")
    #expect(try Tool.run("log", "cat", "--sequence", "--from", "3", log).text == "3\t\(line(3))\n")
    #expect(try Tool.run("log", "cat", "--null", "--from", "3", log).text == "\(line(3))\0")
    #expect(try Tool.run("log", "tail", "-n", "1", log).text == "\(line(3))\n")
    #expect(try Tool.run("log", "stat", "--json", log).object["format"] as? String == "cbor")
  }

  @Test func theObjectOfAMessageHasItAsAValue() throws {
    try fill(2).close()
    let run = try Tool.run("log", "cat", "--json", log)
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(
      run.text == (1...2).map { #"{"sequence":\#($0),"message":\#(line($0))}"# + "\n" }.joined())
  }

  @Test func rawIsWhatIsStored() throws {
    try fill(2).close()
    let stored = try (1...2).map { try Coder<Event>.cbor.encode(event($0)) }
    let newline = Data("\n".utf8)
    #expect(
      try Tool.run("log", "cat", "--raw", log).output
        == stored[0] + newline + stored[1] + newline)
    #expect(try Tool.run("log", "tail", "--raw", "-n", "1", log).output == stored[1] + newline)
    let object = try Tool.run("log", "tail", "--raw", "--json", "-n", "1", log).object
    #expect(object["base64"] as? String == stored[1].base64EncodedString())
  }

  @Test func followingPrintsJSON() throws {
    let writer = try fill(1)
    let tail = try RunningTool("log", "tail", "-f", log)
    #expect(tail.readLine() == line(1) + "\n")
    for id in 2...100 { try writer.append(event(id)) }
    for id in 2...100 { #expect(tail.readLine() == line(id) + "\n") }
    tail.send(SIGINT)
    let (code, rest, errors) = tail.wait()
    #expect(code == 0 && rest.isEmpty && errors.isEmpty)
  }

  @Test func aMessageThatIsNotCBORIsLeftOutAndToldOf() throws {
    try fill([Data([1]), Data([0x18]), Data("text".utf8), Data(), Data([0x82, 2, 3])])
    let run = try Tool.run("log", "cat", log)
    #expect(run.code == 0)
    #expect(run.text == "1\n[2,3]\n")
    let notes = run.errors.split(separator: "\n")
    #expect(notes.count == 3)
    for (note, number) in zip(notes, 2...4) {
      #expect(
        note.hasPrefix("larder: \(log): message \(number) is left out, it is not valid CBOR: "))
      #expect(note.hasSuffix("; --raw prints its bytes"))
    }
    #expect(
      try Tool.run("log", "cat", "--raw", log).output
        == Data([1, 10, 0x18, 10]) + Data("text\n\n".utf8) + Data([0x82, 2, 3, 10]))
  }

  @Test func theObjectOfAMessageThatIsNotCBORHasItsBytes() throws {
    try fill([Data([0x18]), Data("text".utf8), Data([1])])
    let run = try Tool.run("log", "cat", "--json", log)
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(
      run.text == """
        {"sequence":1,"base64":"GA=="}
        {"sequence":2,"base64":"dGV4dA=="}
        {"sequence":3,"message":1}

        """)
  }

  @Test func aLogOfAnotherFormatIsPrintedAsItIs() throws {
    let bytes = try Coder<Event>.cbor.encode(event(1))
    for format in ["", "json", "data", "cbor+z", "CBOR", "cbor2"] {
      try fill([bytes], format: format)
      #expect(try Tool.run("log", "cat", log).output == bytes + Data("\n".utf8), "\(format)")
      try FileManager.default.removeItem(at: file)
    }
  }

  @Test(arguments: ["cbor", "plist", "image", "cbor+z", "json+e", "utf8+ze", "data+ez"])
  func linesAreNotAppendedToALogOfAFormatThatIsNoText(_ format: String) throws {
    try fill([Data([1])], format: format)
    for arguments in [[], ["--capacity", "1MiB", "--refuse"]] {
      let run = try Tool.run(["log", "append"] + arguments + [log], input: Data("line\n".utf8))
      #expect(run.code == 2)
      #expect(run.output.isEmpty)
      #expect(run.errors.hasPrefix("larder: \(log) holds messages of the format \"\(format)\""))
      #expect(run.errors.filter { $0 == "\n" }.count == 1)
    }
    #expect(try Tool.run("log", "stat", "--json", log).object["count"] as? Int == 1)
  }

  @Test(arguments: ["", "utf8", "json", "data", "mine"])
  func linesAreAppendedToALogOfAnyOtherFormat(_ format: String) throws {
    try fill([Data("1".utf8)], format: format)
    #expect(try Tool.run("log", "append", log, input: Data("2\n".utf8)).code == 0)
    #expect(try Tool.run("log", "cat", log).text == "1\n2\n")
  }
}
