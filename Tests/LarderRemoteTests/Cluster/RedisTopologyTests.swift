// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import Testing

  @testable import LarderRemote

  @Suite("What servers say of their cluster") struct RedisTopologyTests {
    private static let asked = RemoteAddress(host: "asked", port: 7000)

    private static func view(
      _ text: String, _ slots: RemoteReply = .array([])
    ) throws -> RedisView {
      try RedisView([.bytes(Array(text.utf8)), slots], from: asked)
    }

    /// What one of two masters says.
    private static func pair(
      _ own: String, a: (epoch: Int, slots: String), b: (epoch: Int, slots: String)
    ) throws -> RedisView {
      try view(
        """
        a h:1@2 \(own == "a" ? "myself," : "")master - 0 0 \(a.epoch) connected \(a.slots)
        b h:2@3 \(own == "b" ? "myself," : "")master - 0 0 \(b.epoch) connected \(b.slots)

        """)
    }

    @Test func checksumsAndSlots() {
      #expect(RedisSlot.checksum("123456789".utf8) == 0x31C3)
      #expect(RedisSlot.checksum([]) == 0)
      func slot(_ key: String) -> Int { RedisSlot.of(Array(key.utf8)) }
      #expect(slot("foo") == 12_182 && slot("bar") == 5061)
      #expect(slot("{user1000}.following") == slot("user1000"))
      #expect(slot("a{bar}{foo}") == 5061 && slot("{{bar}}x") == slot("{bar"))
      // Nothing in the first braces, or no end.
      #expect(slot("{}foo") != slot("foo") && slot("{}{foo}") != slot("foo"))
      #expect(slot("}{foo") != slot("foo") && slot("foo{") != slot("foo"))
    }

    /// As Redis 4, 6.2 and 7 and Valkey write them.
    @Test func linesOfAllVersionsAreRead() throws {
      let view = try Self.view(
        """
        a :30001@31001 myself,master - 0 0 1 connected 0-5460 [93->-c] [77-<-b]
        b 10.0.0.2:30002 master - 0 1426238316232 2 connected 5461-10922 16383
        c ::1:30003@31003,c.internal,shard-id=x master,fail? - 1 2 3 connected 10923-16382
        d 10.0.0.4:30004@31004,d.internal slave a 0 1 1 connected
        e :0@0 master,noaddr - 1 1 0 disconnected
        f 10.0.0.6:1@2 handshake - 0 0 0 connected
        """,
        .array([
          .array([
            .integer(5461), .integer(10_922),
            .array([.bytes(Array("b.internal".utf8)), .integer(443), .bytes([98]), .array([])]),
            .array([.bytes(Array("?".utf8)), .integer(1), .bytes([99])]), .null,
          ]), .array([]), .integer(1),
        ]))
      let topology = try #require(RedisTopology([view]))
      #expect(
        topology.masters.map { "\($0.id) \($0.address) \($0.epoch)" }
          == ["a asked:30001 1", "b b.internal:443 2", "c ::1:30003 3"])
      #expect(topology.masters.map(\.hasAnswered) == [true, false, false])
      #expect(topology.masters.first?.moving == ["[93->-c]", "[77-<-b]"])
      let ports = [0, 5460, 5461, 10_923, 16_382, 16_383].map { topology.owner(of: $0)?.port }
      #expect(ports == [30001, 30001, 443, 30003, 30003, 443])
    }

    @Test(arguments: [
      "", "\n", "hello", "a h:1 master - 0 0 1 connected 0-16383",
      "a h:1 myself,master - 0 0 x connected 0-1", "a h:1 myself,master - 0 0 1 connected 0-16384",
      "a h:1 myself,master - 0 0 1 connected 2-1", "a h:1 myself,master - 0 0 1 connected -1",
      "a h:1 myself,master - 0 0 1 connected 1-2-3",
      "a h:1 myself,master - 0 0 1 connected 99999999999999999999",
      "a h:1 myself,master - 0 0 1 connected 0-9 9",
      "a h:1 myself,master - 0 0 1 connected\na h:2 master - 0 0 1 connected",
      "a h:1 myself,master - 0 0 1 connected\nb h:2 myself,master - 0 0 1 connected",
      "\(String(repeating: "a", count: 65)) h:1 myself,master - 0 0 1 connected 1",
    ])
    func whatMakesNoSenseIsRefused(_ text: String) {
      #expect(throws: LarderError.self) { try Self.view(text) }
    }

    @Test func hugeMapsAreRefused() {
      let lines = (0..<5000).map { "\($0) h:1 \($0 == 0 ? "myself," : "")master - 0 0 1 connected" }
      #expect(throws: LarderError.self) { try Self.view(lines.joined(separator: "\n")) }
      for reply in [RemoteReply.null, .array([]), .integer(1)] {
        #expect(throws: LarderError.self) { try RedisView([reply, .array([])], from: Self.asked) }
      }
      let refused = #expect(throws: LarderError.self) {
        try RedisView([.error("NOPERM"), .error("NOPERM")], from: Self.asked)
      }
      #expect(refused?.message.contains("refused CLUSTER NODES (NOPERM)") == true)
    }

    @Test func whoAnswersSpeaksForItself() throws {
      // Only `b` knows that it has slot 5 now: the epoch of both is what it was.
      let news = try #require(
        RedisTopology([
          Self.pair("a", a: (9, "0-9"), b: (1, "10-19")),
          Self.pair("b", a: (9, "0-4 6-9"), b: (1, "5 10-19")),
        ]))
      // Both claim it: the higher epoch has it.
      #expect(news.owner(of: 5)?.port == 1)
      let agreed = try #require(
        RedisTopology([
          Self.pair("a", a: (9, "0-4"), b: (1, "10-19")),
          Self.pair("b", a: (9, "0-4 6-9"), b: (1, "5 10-19")),
        ]))
      #expect(agreed.owner(of: 5)?.port == 2 && agreed.owner(of: 6) == nil)
      // Of one that does not answer the latest is known.
      let other = try Self.view(
        "c h:3 myself,master - 0 0 3 connected 20\na h:1 master - 0 0 9 connected 7")
      let silent = try #require(
        RedisTopology([Self.pair("b", a: (8, "0-9"), b: (1, "10-19")), other]))
      #expect(silent.owner(of: 7)?.port == 1 && silent.owner(of: 6) == nil)
      // Nobody else knows `c`.
      #expect(silent.owner(of: 20) == nil)
      #expect(RedisTopology([]) == nil)
      #expect(RedisTopology([try Self.view("a h:1 myself,master - 0 0 9 connected")]) == nil)
    }

    @Test func aSlotThatWasAwayIsAChange() throws {
      func topology(_ epoch: Int, _ slots: String) throws -> RedisTopology? {
        RedisTopology([try Self.pair("a", a: (epoch, slots), b: (1, "10-19"))])
      }
      #expect(try topology(2, "0-9") == topology(2, "0-9"))
      #expect(try topology(2, "0-9") != topology(3, "0-9"))
      #expect(try topology(2, "0-9") != topology(2, "0-8"))
      // A key that is absent may be written to the other one from now on.
      #expect(try topology(2, "0-9") != topology(2, "0-9 [5->-b]"))
      // Whoever does not answer may have something to say.
      let alone = try Self.pair("a", a: (2, "0-9"), b: (1, "10-19"))
      let both = [alone, try Self.pair("b", a: (2, "0-9"), b: (1, "10-19"))]
      #expect(RedisTopology([alone]) != RedisTopology(both))
      #expect(RedisTopology(both) == RedisTopology(both.reversed()))
    }

    @Test func transactionsStayWhole() {
      let commands = "CLIENT MULTI GET PTTL EXEC GET WATCH MULTI EXEC CLIENT EVAL CLIENT"
        .split(separator: " ").map { RemoteCommand(String($0)) }
      #expect(commands.units == [0..<5, 5..<6, 6..<9, 9..<11, 11..<12])
      let sent = commands.asking([0..<5, 5..<6, 9..<11])
      #expect(
        sent.map(\.command.name).joined(separator: " ")
          == "CLIENT ASKING MULTI GET PTTL EXEC ASKING GET CLIENT ASKING EVAL")
      #expect(sent.compactMap(\.place) == [0, 1, 2, 3, 4, 5, 9, 10])
    }
  }
#endif
