// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderTestSupport
import Testing

@testable import LarderLogTool

/// What `--grep` looks for.
struct TextPatternTests {
  private func matches(_ pattern: String, _ text: String) throws -> Bool {
    let pattern = try TextPattern(pattern)
    return Data(text.utf8).withUnsafeBytes { pattern.matches($0) }
  }

  @Test func textIsFoundWhereverItIs() throws {
    for (pattern, text) in [
      ("a", "a"), ("ab", "xab"), ("ab", "aab"), ("aab", "aaab"), ("", ""), ("", "x"), ("é", "né"),
      ("a.c", "xabc"), ("^a", "ab"), ("b$", "ab"), ("a*b", "b"), (#"a\.c"#, "a.c"),
    ] {
      #expect(try matches(pattern, text), "\(pattern) in \(text)")
    }
    for (pattern, text) in [
      ("a", ""), ("ab", "a"), ("ab", "ba"), ("aab", "abab"), ("x", "abc"), ("a.c", "ac"),
      ("^b", "ab"), (#"a\.c"#, "abc"), ("ab.*ab", "abx"),
    ] {
      #expect(try !matches(pattern, text), "\(pattern) in \(text)")
    }
    #expect(throws: ValidationError.self) { try TextPattern("(") }
  }

  @Test func mostMessagesAreRuledOutWithoutTheExpression() throws {
    for (pattern, needed) in [
      ("text", ["text"]), ("took=0.99", ["took=0", "99"]), ("ab?c+d", ["a", "c", "d"]),
      (#"\d+ms$"#, ["ms"]), (#"a\.b\+c"#, ["a.b+c"]), ("ab*?x", ["a", "x"]), ("é?x", ["x"]),
      ("a|b", []), ("(ab)?", []), ("a{0}", []), (#"\x41b"#, []), ("[ab]c", []), (".", []),
    ] {
      let parts = try TextPattern(pattern).needed
      #expect(parts.map { String(decoding: $0, as: UTF8.self) } == needed, "\(pattern)")
    }
  }

  @Test func theyAreWhatTheExpressionDoesNotMatch() throws {
    var generator = SeededGenerator(seed: 0x6E9)
    let signs = ["a", "b", "ab", ".", "*", "+", "?", "^", "$", #"\."#, #"\w"#, "é"]
    for round in 0..<3_000 {
      let pattern = (0...Int.random(in: 1...4, using: &generator))
        .map { _ in signs.randomElement(using: &generator) ?? "" }.joined()
      guard let expression = try? NSRegularExpression(pattern: pattern) else { continue }
      let text = (0..<Int.random(in: 0...6, using: &generator))
        .map { _ in ["a", "b", ".", "é"].randomElement(using: &generator) ?? "" }.joined()
      let all = NSRange(text.startIndex..., in: text)
      let isMatch = expression.firstMatch(in: text, range: all) != nil
      #expect(try matches(pattern, text) == isMatch, "round \(round): \(pattern) in \(text)")
    }
  }
}
