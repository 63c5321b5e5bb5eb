// SPDX-License-Identifier: MIT

#if Remote
  /// What a server of a cluster says that does not own the slot of a key.
  struct RedisRedirect: Hashable, Sendable, CustomStringConvertible {
    /// Only for these commands (`ASK`), else for good (`MOVED`).
    let isAsk: Bool
    let slot: Int
    /// Who to ask. An empty host is that of the server that says so.
    let address: RemoteAddress

    /// - Returns: nil for what is not well-formed.
    init?(_ text: some BidirectionalCollection<UInt8>) {
      guard text.count <= 274 else { return nil }
      let words = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      guard words.count == 3, let slot = Int(digits: words[1]), slot < RedisTopology.slotCount,
        let address = RemoteAddress(announced: words[2])
      else { return nil }
      isAsk = words[0].elementsEqual("ASK".utf8)
      guard isAsk || words[0].elementsEqual("MOVED".utf8) else { return nil }
      (self.slot, self.address) = (slot, address)
    }

    init?(_ reply: RemoteReply) {
      guard case .error(let text) = reply else { return nil }
      self.init(text.utf8)
    }

    var description: String { "\(isAsk ? "ASK" : "MOVED") \(slot) \(address)" }
  }

  /// The slot that a key belongs to.
  package enum RedisSlot {
    /// By the part in the first braces, if that is not empty, so that keys can share a slot.
    package static func of(_ key: [UInt8]) -> Int {
      var hashed = key[...]
      if let open = key.firstIndex(of: UInt8(ascii: "{")),
        let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
      {
        hashed = key[(open + 1)..<close]
      }
      return Int(checksum(hashed)) % RedisTopology.slotCount
    }

    /// CRC-16/XMODEM.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
      bytes.reduce(0) { checksum, byte in
        (0..<8).reduce(checksum ^ UInt16(byte) << 8) { checksum, _ in
          checksum & 0x8000 == 0 ? checksum << 1 : checksum << 1 ^ 0x1021
        }
      }
    }
  }

  extension [RemoteCommand] {
    /// The parts that a server executes or refuses as a whole: single commands and transactions,
    /// each with the `CLIENT` and `WATCH` before it, which are about it.
    var units: [Range<Int>] {
      var units: [Range<Int>] = []
      var (start, isOpen) = (0, false)
      for (index, command) in enumerated() {
        switch command.name {
        case "MULTI": isOpen = true
        case "EXEC", "DISCARD": isOpen = false
        case "CLIENT", "WATCH": continue
        default: break
        }
        if isOpen { continue }
        units.append(start..<(index + 1))
        start = index + 1
      }
      if start < count { units.append(start..<count) }
      return units
    }

    /// Some of the commands as the server of an `ASK` has to be sent them.
    ///
    /// - Returns: For each its place, nil for an `ASKING`, which is for the next command, or for
    ///   the transaction that it begins.
    func asking(_ units: [Range<Int>]) -> [(place: Int?, command: RemoteCommand)] {
      var sent: [(place: Int?, command: RemoteCommand)] = []
      for unit in units {
        var isOpen = false
        for place in unit {
          let name = self[place].name
          if !isOpen, name != "CLIENT" { sent.append((nil, RemoteCommand("ASKING"))) }
          if name == "MULTI" { isOpen = true }
          if name == "EXEC" || name == "DISCARD" { isOpen = false }
          sent.append((place, self[place]))
        }
      }
      return sent
    }
  }
#endif
