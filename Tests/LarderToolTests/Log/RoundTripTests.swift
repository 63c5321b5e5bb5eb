// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// What goes in by `log append` comes out of `log cat` byte for byte.
@Suite struct RoundTripTests {
  private let directory: TemporaryDirectory
  private let log: String

  init() throws {
    directory = try TemporaryDirectory()
    log = directory.file("log.larder").path
  }

  static let inputs: [(name: String, bytes: String)] = [
    ("nothing", ""),
    ("one empty line", "\n"),
    ("three empty lines", "\n\n\n"),
    ("one line", "hello\n"),
    ("no newline at the end", "hello"),
    ("a last line without a newline", "one\ntwo\nthree"),
    ("an empty line before the end", "one\n\n"),
    ("carriage returns", "one\r\ntwo\r\n\r\nthree\r\n"),
    ("a carriage return at the end", "one\r\ntwo\r"),
    ("NUL bytes", "a\0b\n\0\n\0\0"),
    ("text beyond ASCII", "grüß\n日本語\n🦊\n"),
  ]

  @Test(arguments: inputs.indices)
  func everyKindOfTextComesBack(_ index: Int) throws {
    let input = Data(Self.inputs[index].bytes.utf8)
    let append = try Tool.run("log", "append", log, "--quiet", input: input)
    #expect(append.code == 0 && append.errors.isEmpty && append.output.isEmpty)
    let cat = try Tool.run("log", "cat", log)
    #expect(cat.code == 0 && cat.errors.isEmpty)
    #expect(cat.output == input, "\(Self.inputs[index].name)")
  }

  @Test func bytesThatAreNotTextComeBack() throws {
    var generator = SeededGenerator(seed: 0x700_1)
    let input = generator.bytes(300_000)
    _ = try Tool.run("log", "append", log, input: input)
    #expect(try Tool.run("log", "cat", log).output == input, "seed \(generator.seed)")
  }

  @Test func linesLongerThanTheReadBufferComeBack() throws {
    var generator = SeededGenerator(seed: 0x700_2)
    var input = Data()
    for length in [1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000, 3] {
      let byte = UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z"), using: &generator)
      input.append(Data(repeating: byte, count: length))
      input.append(UInt8(ascii: "\n"))
    }
    let append = try Tool.run("log", "append", "--json", log, input: input)
    #expect(try append.object["appended"] as? Int == 6)
    #expect(try Tool.run("log", "cat", log).output == input, "seed \(generator.seed)")
  }

  @Test func nulEndedMessagesKeepTheirNewlines() throws {
    let input = Data("one\ntwo\0three\0\0four\n".utf8)
    let append = try Tool.run("log", "append", "--null", "--json", log, input: input)
    #expect(try append.object["appended"] as? Int == 4)
    #expect(try Tool.run("log", "cat", "--null", log).output == input)
  }

  @Test func inputsAreAppendedInTheirOrder() throws {
    let first = directory.file("first")
    let second = directory.file("second")
    try Data("1\n2\n".utf8).write(to: first)
    try Data("5\n6".utf8).write(to: second)
    let append = try Tool.run(
      ["log", "append", log, first.path, "-", second.path], input: Data("3\n4\n".utf8))
    #expect(append.code == 0)
    #expect(try Tool.run("log", "cat", log).text == "1\n2\n3\n4\n5\n6")
  }

  @Test func anUnendedLineIsEndedWhenAnotherMessageFollows() throws {
    _ = try Tool.run("log", "append", log, input: Data("one".utf8))
    _ = try Tool.run("log", "append", log, input: Data("two".utf8))
    #expect(try Tool.run("log", "cat", log).text == "one\ntwo")
    #expect(try Tool.run("log", "tail", log).text == "one\ntwo")
    #expect(try Tool.run("log", "cat", "--reverse", log).text == "two\none\n")
  }

  @Test func aWrappedLogHoldsTheEndOfItsInput() throws {
    let line = { (number: Int) in "line \(number) " + String(repeating: "x", count: number % 90) }
    let input = Data((1...50_000).map { line($0) + "\n" }.joined().utf8)
    let append = try Tool.run(
      ["log", "append", "--capacity", "64KiB", "--json", log], input: input)
    #expect(try append.object["appended"] as? Int == 50_000)
    let output = try Tool.run("log", "cat", log).output
    #expect(output.count > 32_000)
    #expect(output == input.suffix(output.count))
    let stat = try Tool.run("log", "stat", "--json", log).object
    #expect(try #require(stat["wraps"] as? Int) > 0)
    #expect(stat["newestSequence"] as? Int == 50_000)
    #expect(stat["overwritten"] as? Int == 50_000 - (try #require(stat["count"] as? Int)))
    #expect(try Tool.run("log", "verify", log).code == 0)
  }
}
