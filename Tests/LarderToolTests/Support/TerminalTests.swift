// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

@testable import LarderLogTool

/// A terminal shows what is stored, and does not obey it; pipes and files get it as it is.
struct TerminalTests {
  /// A title, a colour by one character of C1, text turned round, and a line that is overwritten.
  private static let hostile = "a\u{1B}]0;title\u{7}b\u{9B}31mc\u{202E}d\u{2028}e\u{7F}f\rg"
  private static let shown =
    #"a\x1B]0;title\x07b\u{9B}31mc\u{202E}d\u{2028}e\x7Ff\x0Dg"#
  private static let json =
    #""a\u001b]0;title\u0007b\u009b31mc\u202ed\u2028e\u007ff\rg""#

  /// Names of files cannot have a slash, and need a newline.
  private let samples: Samples

  init() throws { samples = try Samples(in: "x\n" + Self.hostile, text: Self.hostile) }

  private func expectNothingToObey(_ bytes: Data, location: SourceLocation = #_sourceLocation) {
    let text = String(validating: bytes, as: UTF8.self)
    #expect(text != nil, sourceLocation: location)
    let obeyed = (text ?? "").unicodeScalars.filter {
      $0 != "\n" && $0 != "\t" && $0.properties.generalCategory == .control
        || (0x2028...0x202E).contains($0.value)
    }
    #expect(obeyed.isEmpty, "\(text ?? "")", sourceLocation: location)
  }

  static let calls = (OutputTests.calls + OutputTests.variants)
    .filter { !$0.command.hasPrefix("demo") }

  @Test(arguments: calls)
  func noCommandPassesOnWhatATerminalObeys(_ call: Samples.Call) throws {
    expectNothingToObey(try Terminal.run(samples.arguments(call)).shown)
  }

  @Test(arguments: calls.filter { !$0.arguments.filter { $0.hasPrefix(",") }.isEmpty })
  func noErrorPassesItOn(_ call: Samples.Call) throws {
    for name in ["log", "cache", "entries", "archive"] {
      try FileManager.default.removeItem(at: samples.file(name))
      try Data("none of ours".utf8).write(to: samples.file(name))
    }
    let run = try Terminal.run(samples.arguments(call))
    #expect(run.code != 0)
    expectNothingToObey(run.shown)
    let text = String(decoding: run.shown, as: UTF8.self)
    #expect(text.contains(#"x\x0A"# + Self.shown), "\(text)")
    #expect(text.filter { $0 == "\n" }.count == 1, "\(text)")
  }

  @Test func usageErrorsShowWhatWasGiven() throws {
    expectNothingToObey(try Terminal.run([Self.hostile]).shown)
    expectNothingToObey(try Terminal.run(["log", "cat", "x", "--last", Self.hostile]).shown)
  }

  /// A command that prints what is stored, and what is before it.
  static let printing = [
    Samples.Call("log cat", ",log"), Samples.Call("log tail", ",log"),
    Samples.Call("cache get", ",cache", "key"), Samples.Call("entry get", ",entries", "key"),
  ]

  @Test(arguments: printing)
  func storedTextIsSpelledAtATerminalUnlessItIsToBeRaw(_ call: Samples.Call) throws {
    let isLog = call.command.hasPrefix("log")
    let (start, end) = isLog ? ("message", "\n") : ("value", "")
    let arguments = samples.arguments(call)
    let spelled = try Terminal.run(arguments)
    #expect(spelled.shown == Data((start + Self.shown + end).utf8))
    let raw = Data((start + Self.hostile + end).utf8)
    #expect(try Terminal.run(arguments + ["--raw"]).shown == raw)
    #expect(try Tool.run(arguments).output == raw)
    #expect(spelled.code == 0)
  }

  @Test func bytesThatAreNoUTF8AreSpelledAndTabsAndNewlinesAreKept() throws {
    let log = samples.file("other").path
    let bytes = Data([0xFF, 0x09, 0xC3, 0x0A, 0xC3, 0xA9, 0xE2, 0x82, 0x00])
    #expect(try Tool.run("log", "append", "--null", log, input: bytes).code == 0)
    #expect(
      try Terminal.run(["log", "cat", log]).shown == Data("\\xFF\t\\xC3\né\\xE2\\x82\n".utf8))
  }

  @Test func jsonIsTheSameAtATerminalAndInAPipe() throws {
    let arguments = ["log", "cat", "--json", samples.file("log").path]
    let piped = try Tool.run(arguments)
    #expect(try Terminal.run(arguments).shown == piped.output)
    #expect(piped.text == "{\"sequence\":1,\"message\":\"message\(Self.json.dropFirst())}\n")
    #expect(try piped.object["message"] as? String == "message" + Self.hostile)
  }

  @Test func textIsSpelledByItsCharacters() {
    #expect(TerminalText.escaped(Self.hostile) == Self.shown)
    #expect(TerminalText.escaped("größe\t👩‍👩‍👧 水\n") == "größe\t👩‍👩‍👧 水\n")
    #expect(TerminalText.escaped("a\tb\n", isLine: true) == #"a\x09b\x0A"#)
    #expect(TerminalText.escaped("") == "")
  }

  @Test func progressIsNotWiderThanTheTerminal() throws {
    // An input without an end, behind a long name.
    let name = String(repeating: "größe 水 ", count: 8)
    let input = samples.file(name)
    try FileManager.default.createSymbolicLink(
      atPath: input.path, withDestinationPath: "/dev/zero")
    let erasing = Data("\r\u{1B}[2K".utf8)
    let run = try Terminal.run(
      ["log", "append", "--null", samples.file("new").path, input.path], columns: 40,
      until: { $0.ranges(of: erasing).count > 1 })
    let lines = String(decoding: run.shown, as: UTF8.self).components(separatedBy: "\r\u{1B}[2K")
    let drawn = try #require(lines.dropFirst().first)
    #expect(drawn.hasSuffix("…") && drawn.contains("lines") && drawn.count <= 39, "\(drawn)")
  }

  @Test func aLineIsCutByTheColumnsOfItsCharacters() {
    for (text, columns, cut) in [
      ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 0, ""), ("a", 0, ""), ("ab", 1, "…"),
      ("水水", 4, "水水"), ("水水", 3, "水…"), ("a水水", 4, "a水…"), ("👩‍👩‍👧👩‍👩‍👧x", 4, "👩‍👩‍👧…"),
      ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"), ("größe", 4, "grö…"),
    ] {
      #expect(TerminalText.prefix(text, columns: columns) == cut, "\(text)")
    }
  }

  @Test func jsonStringsKeepEveryOtherCharacter() {
    for value in UInt32(0)...0x3100 {
      guard let scalar = UnicodeScalar(value) else { continue }
      var json: [UInt8] = []
      json.appendJSON(string: String(scalar))
      let inside = String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
      let isEscaped = inside.hasPrefix("\\")
      guard isEscaped == (scalar.isControlling || scalar == "\"" || scalar == "\\"),
        isEscaped || inside.unicodeScalars.elementsEqual([scalar])
      else {
        Issue.record("U+\(String(value, radix: 16)) is \(inside)")
        return
      }
    }
  }
}
