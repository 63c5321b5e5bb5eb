// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  @Suite("What a server says, in RESP3") struct RESPParserTests {
    /// Parses what arrives in pieces.
    static func parse(
      _ pieces: some Sequence<ArraySlice<UInt8>>, _ limits: RESPParser.Limits = .init()
    ) -> ReferenceParser.Outcome {
      var parser = RESPParser(limits)
      var replies: [RemoteReply] = []
      for piece in pieces {
        piece.withUnsafeBytes { parser.append($0) }
        do throws(LarderError) {
          while let reply = try parser.next() { replies.append(reply) }
        } catch {
          #expect(error.code == .remote)
          return .garbage(replies)
        }
      }
      return .replies(replies, rest: parser.count)
    }

    private static func parse(_ text: String) -> [RemoteReply]? {
      let bytes = Array(text.utf8)
      guard case .replies(let replies, rest: 0) = parse([bytes[...]]) else { return nil }
      // However it arrives.
      for split in bytes.indices {
        #expect(
          parse([bytes[..<split], bytes[split...]]) == .replies(replies, rest: 0), "at \(split)")
      }
      return replies
    }

    @Test func eachTypeIsRead() {
      #expect(Self.parse("+OK\r\n") == [.status("OK")])
      #expect(Self.parse("-WRONGTYPE this is secret\r\n") == [.error("WRONGTYPE")])
      #expect(Self.parse("-secret\r\n") == [.error("ERR")])
      #expect(Self.parse("-ASK 07 ::1:07\r\n") == [.error("ASK 7 ::1:7")])
      for text in ["MOVED 1 ?:6379", "MOVED 16384 a:1", "MOVED 1 a:0", "MOVED 1 a:1 secret"] {
        #expect(Self.parse("-\(text)\r\n") == [.error("MOVED")])
      }
      #expect(Self.parse("!10\r\nBUSY a\r\nbc\r\n") == [.error("BUSY")])
      #expect(Self.parse(":-9223372036854775808\r\n") == [.integer(.min)])
      #expect(Self.parse("$3\r\na\r\n\r\n") == [.bytes([97, 13, 10])])
      #expect(Self.parse("$0\r\n\r\n") == [.bytes([])])
      #expect(Self.parse("=6\r\ntxt:ab\r\n") == [.bytes([97, 98])])
      #expect(
        Self.parse("(123456789012345678901\r\n") == [.bytes(Array("123456789012345678901".utf8))])
      #expect(Self.parse("_\r\n$-1\r\n*-1\r\n") == [.null, .null, .null])
      #expect(Self.parse("#t\r\n#f\r\n") == [.boolean(true), .boolean(false)])
      #expect(Self.parse(",1.5\r\n,-inf\r\n") == [.double(1.5), .double(-.infinity)])
      #expect(
        Self.parse("*2\r\n:1\r\n~1\r\n:2\r\n") == [.array([.integer(1), .array([.integer(2)])])])
      #expect(Self.parse("%1\r\n+a\r\n%0\r\n") == [.map([.status("a"), .map([])])])
      #expect(
        Self.parse(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n")
          == [.push([.bytes(Array("invalidate".utf8)), .array([.bytes([107])])]), .status("OK")])
      #expect(Self.parse("|1\r\n+ttl\r\n:3\r\n*1\r\n|0\r\n:7\r\n") == [.array([.integer(7)])])
    }

    @Test(arguments: [
      "hello\r\n", "\r\n", "\n", "+a\nb\r\n", "+a\rb\r\n", "$x\r\n", "$-2\r\n", "$1\r\nab\r\n",
      "$9223372036854775807\r\n", "*9223372036854775807\r\n", "%9223372036854775807\r\n",
      "*1\r\n>1\r\n+a\r\n", "#x\r\n", "_a\r\n", ",x\r\n", "=1\r\na\r\n", "$?\r\n", "*?\r\n",
      ":\r\n",
      ":99999999999999999999\r\n", "*-2\r\n", "~-1\r\n", "\u{0}\r\n",
    ])
    func whatIsNoReplyIsRefusedForGood(_ text: String) {
      var parser = RESPParser()
      Array(text.utf8).withUnsafeBytes { parser.append($0) }
      #expect(throws: LarderError.self) { try parser.next() }
      Array("+OK\r\n".utf8).withUnsafeBytes { parser.append($0) }
      #expect(throws: LarderError.self) { try parser.next() }
      #expect(parser.count == 0)
    }

    @Test func limitsHoldFromBothSides() {
      var limits = RESPParser.Limits()
      limits.depth = 2
      #expect(Self.parse([Array("*1\r\n*1\r\n*0\r\n".utf8)[...]], limits) != .garbage([]))
      #expect(Self.parse([Array("*1\r\n*1\r\n*1\r\n".utf8)[...]], limits) == .garbage([]))
      limits.elements = 3
      #expect(Self.parse([Array("*3\r\n".utf8)[...]], limits) != .garbage([]))
      #expect(Self.parse([Array("*4\r\n".utf8)[...]], limits) == .garbage([]))
      #expect(Self.parse([Array("*2\r\n*2\r\n".utf8)[...]], limits) == .garbage([]))
      limits.bytes = 12
      // Four bytes announce it, and two end it.
      #expect(
        Self.parse([Array("$6\r\n123456\r\n".utf8)[...]], limits)
          == .replies([.bytes(Array("123456".utf8))], rest: 0))
      #expect(Self.parse([Array("$7\r\n1234567\r\n".utf8)[...]], limits) == .garbage([]))
      #expect(Self.parse([Array("$9\r\n".utf8)[...]], limits) == .garbage([]))
      limits.lineBytes = 4
      #expect(
        Self.parse([Array("+abc\r\n".utf8)[...]], limits) == .replies([.status("abc")], rest: 0))
      #expect(Self.parse([Array("+abcd".utf8)[...]], limits) == .garbage([]))
    }

    @Test func whatWasOnlyAnnouncedTakesNoMemory() {
      var parser = RESPParser()
      // A million times: an array of which only the beginning is there.
      for _ in 0..<1000 {
        var parser = RESPParser()
        Array("*131072\r\n%65536\r\n".utf8).withUnsafeBytes { parser.append($0) }
        _ = try? parser.next()
      }
      Array("$8000000\r\nabc".utf8).withUnsafeBytes { parser.append($0) }
      #expect((try? parser.next()) == .some(nil))
      #expect(parser.count == 3)
    }

    // MARK: - Fuzzing

    private static let corpus: [[UInt8]] = [
      "+OK\r\n", "-ERR no\r\n", "-MOVED 12 h:9\r\n", "!10\r\nASK 5 ::1:8\r\n", ":12\r\n",
      "$5\r\nhello\r\n", "$-1\r\n", "_\r\n", "#t\r\n",
      ",1.25\r\n",
      "(99999999999999999999\r\n", "!7\r\nERR bad\r\n", "=8\r\ntxt:abcd\r\n",
      "*2\r\n$1\r\na\r\n:1\r\n",
      "~2\r\n+a\r\n+b\r\n", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n", "|1\r\n+k\r\n:1\r\n",
      ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n",
      ">2\r\n$10\r\ninvalidate\r\n_\r\n",
      "*5\r\n*4\r\n*3\r\n*2\r\n*1\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n",
    ].map { Array($0.utf8) }

    private static func input(_ random: inout SeededGenerator) -> [UInt8] {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes += corpus.randomElement(using: &random) ?? []
      }
      for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1:
          bytes[place] = Array("+-:$*%~>|!=#,(_\r\n0123456789?".utf8).randomElement(using: &random)!
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(contentsOf: corpus.randomElement(using: &random) ?? [], at: place)
        default: bytes.removeLast(bytes.count - place)
        }
      }
      return bytes
    }

    private static func pieces(
      _ bytes: [UInt8], _ random: inout SeededGenerator
    ) -> [ArraySlice<UInt8>] {
      var rest = bytes[...]
      var pieces: [ArraySlice<UInt8>] = []
      while !rest.isEmpty {
        let count = Int.random(in: 1...7, using: &random)
        pieces.append(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      return pieces
    }

    /// `make fuzz-remote` gives it more time, and another seed.
    @Test func mutatedRepliesAreReadAsTheReferenceDoes() {
      var random = SeededGenerator(seed: 2026)
      let seconds = ProcessInfo.processInfo.environment["LARDER_FUZZ_SECONDS"].flatMap(Double.init)
      let end = seconds.map { ContinuousClock.now + .seconds($0) }
      var limits = RESPParser.Limits()
      (limits.bytes, limits.elements, limits.depth, limits.lineBytes) = (200, 40, 4, 50)
      var (rounds, garbage) = (0, 0)
      while end.map({ ContinuousClock.now < $0 }) ?? (rounds < 20_000) {
        rounds += 1
        let bytes = Self.input(&random)
        let expected = ReferenceParser.parse(bytes, limits)
        let found = Self.parse(Self.pieces(bytes, &random), limits)
        if case .garbage = expected { garbage += 1 }
        if !Self.same(found, expected) {
          Issue.record("seed \(random.seed), round \(rounds): \(bytes)")
          return
        }
      }
      #expect(garbage > rounds / 10 && garbage < rounds)
      if end != nil { print("\(rounds) rounds, \(garbage) of them garbage") }
    }

    /// Not-a-number aside, which is not equal to itself; and what a half reply leaves is counted
    /// in whole replies.
    private static func same(_ a: ReferenceParser.Outcome, _ b: ReferenceParser.Outcome) -> Bool {
      switch (a, b) {
      case (.garbage(let a), .garbage(let b)), (.replies(let a, _), .replies(let b, _)):
        String(reflecting: a) == String(reflecting: b) && dump(a) == dump(b)
      default: false
      }
    }

    private static func dump(_ replies: [RemoteReply]) -> String {
      var text = ""
      for reply in replies {
        switch reply {
        case .array(let items), .map(let items), .push(let items): text += "(" + dump(items) + ")"
        case .bytes(let bytes): text += "\(bytes)"
        case .status(let status): text += status
        case .integer(let number): text += "\(number)"
        case .double(let number): text += "\(number)"
        default: text += String(describing: reply)
        }
      }
      return text
    }

    @Test func aCommandIsAnArrayOfStrings() {
      var bytes: [UInt8] = []
      RemoteCommand("SET", [[107], [13, 10]]).encode(into: &bytes)
      #expect(
        String(decoding: bytes, as: UTF8.self) == "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n")
      #expect("\(RemoteCommand("AUTH", [Array("secret".utf8)]))" == "AUTH")
      #expect(!String(reflecting: RemoteCommand("AUTH", [[1]])).contains("1"))
    }
  }
#endif
