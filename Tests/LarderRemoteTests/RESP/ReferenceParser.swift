// SPDX-License-Identifier: MIT

#if Remote
  @testable import LarderRemote

  /// RESP3 as simply as can be: of bytes that are all there. What the parser is compared with.
  struct ReferenceParser {
    enum Outcome: Equatable {
      case replies([RemoteReply], rest: Int)
      case garbage([RemoteReply])
    }

    private struct Garbage: Error {}
    private struct More: Error {}

    private let bytes: [UInt8]
    private let limits: RESPParser.Limits
    private var place = 0
    private var usedBytes = 0
    private var usedElements = 0

    static func parse(_ bytes: [UInt8], _ limits: RESPParser.Limits) -> Outcome {
      var parser = ReferenceParser(bytes: bytes, limits: limits)
      var replies: [RemoteReply] = []
      while true {
        let start = parser.place
        (parser.usedBytes, parser.usedElements) = (0, 0)
        do { replies.append(try parser.reply(0)) } catch is More {
          return .replies(replies, rest: bytes.count - start)
        } catch {
          return .garbage(replies)
        }
      }
    }

    private init(bytes: [UInt8], limits: RESPParser.Limits) {
      self.bytes = bytes
      self.limits = limits
    }

    private mutating func line() throws -> [UInt8] {
      let start = place
      var end = place
      while true {
        if end == bytes.count { throw More() }
        if bytes[end] == 10 { throw Garbage() }
        if bytes[end] == 13 {
          if end + 1 == bytes.count { throw More() }
          if bytes[end + 1] != 10 || end == start { throw Garbage() }
          break
        }
        end += 1
        if end - start > limits.lineBytes { throw Garbage() }
      }
      place = end + 2
      try use(place - start)
      return Array(bytes[start..<end])
    }

    private mutating func use(_ count: Int) throws {
      usedBytes += count
      if usedBytes > limits.bytes { throw Garbage() }
    }

    private mutating func reply(_ depth: Int) throws -> RemoteReply {
      while true {
        let line = try line()
        let text = String(decoding: line.dropFirst(), as: UTF8.self)
        switch line.first.map({ Character(Unicode.Scalar($0)) }) {
        case "+": return .status(text)
        case "-": return .error(Self.word(line.dropFirst()))
        case ":": return .integer(try Self.number(text))
        case "(": return .bytes(Array(line.dropFirst()))
        case ",":
          guard line.count <= 65, let number = Double(text) else { throw Garbage() }
          return .double(number)
        case "#":
          guard ["t", "f"].contains(text) else { throw Garbage() }
          return .boolean(text == "t")
        case "_":
          guard text.isEmpty else { throw Garbage() }
          return .null
        case "$": return try bulk(try Self.number(text), "$")
        case "!": return try bulk(try Self.number(text), "!")
        case "=": return try bulk(try Self.number(text), "=")
        case "*", "~", ">", "%", "|":
          if let reply = try items(line, try Self.number(text), depth) { return reply }
        default: throw Garbage()
        }
      }
    }

    private mutating func bulk(_ count: Int64, _ type: Character) throws -> RemoteReply {
      if count == -1, type == "$" { return .null }
      guard count >= 0, count <= limits.bytes - usedBytes else { throw Garbage() }
      if bytes.count - place < Int(count) + 2 { throw More() }
      let content = Array(bytes[place..<(place + Int(count))])
      guard bytes[place + content.count] == 13, bytes[place + content.count + 1] == 10 else {
        throw Garbage()
      }
      try use(content.count + 2)
      place += content.count + 2
      if type == "!" { return .error(Self.word(content[...])) }
      if type == "$" { return .bytes(content) }
      guard content.count >= 4 else { throw Garbage() }
      return .bytes(Array(content.dropFirst(4)))
    }

    /// - Returns: nil for attributes, which belong to what comes behind.
    private mutating func items(_ line: [UInt8], _ count: Int64, _ depth: Int) throws
      -> RemoteReply?
    {
      let type = line.first.map { Character(Unicode.Scalar($0)) }
      if count == -1, type == "*" { return .null }
      guard count >= 0, count <= limits.elements - usedElements else { throw Garbage() }
      if type == ">", depth > 0 { throw Garbage() }
      let total = Int(count) * (type == "%" || type == "|" ? 2 : 1)
      usedElements += total
      if total > 0, depth == limits.depth { throw Garbage() }
      var elements: [RemoteReply] = []
      for _ in 0..<total { elements.append(try reply(depth + 1)) }
      switch type {
      case "%": return .map(elements)
      case ">": return .push(elements)
      case "|": return nil
      default: return .array(elements)
      }
    }

    private static func number(_ text: String) throws -> Int64 {
      guard text.utf8.count <= 20, let number = Int64(text) else { throw Garbage() }
      return number
    }

    private static func word(_ text: ArraySlice<UInt8>) -> String {
      let whole = String(decoding: text, as: UTF8.self)
      if let parts = try? /(MOVED|ASK) ([0-9]{1,9}) ([a-zA-Z0-9.:_%-]{0,255}):([0-9]{1,9})/
        .matchingSemantics(.unicodeScalar).wholeMatch(in: whole)?.output,
        let slot = Int(parts.2), slot < 16_384, let port = Int(parts.4), 1...65_535 ~= port
      {
        return "\(parts.1) \(slot) \(parts.3):\(port)"
      }
      let word = text.prefix { $0 != 32 }
      let isWord = (1...24).contains(word.count) && word.allSatisfy { (65...90).contains($0) }
      return isWord ? String(decoding: Array(word), as: UTF8.self) : "ERR"
    }
  }
#endif
