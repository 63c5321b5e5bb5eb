// SPDX-License-Identifier: MIT

#if Remote
  /// A Redis or Valkey Cluster: how its servers are found.
  ///
  /// ```swift
  /// var server = RemoteServer(host: "cache.internal")
  /// server.cluster = RemoteCluster()
  /// let users = try Cache<String, User>(at: .path(folder), remote: server)
  /// ```
  ///
  /// The server and the seeds are asked which masters there are, and which slots each one owns.
  /// All are talked to as ``RemoteServer`` says: the same credentials, security and time-outs.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteCluster: Sendable {
    /// Further servers to ask when the first one does not answer; none by default.
    public var seeds: [RemoteAddress]
    /// How often each master is asked which slots it owns; 2 s by default.
    ///
    /// Servers announce which keys change, but not that a slot moves, so this is how long copies
    /// may be stale after that.
    public var pollInterval = Duration.seconds(2)

    /// A cluster.
    ///
    /// - Parameter seeds: Further servers to ask.
    /// - Complexity: O(1).
    public init(seeds: [RemoteAddress] = []) { self.seeds = seeds }
  }

  /// Where a server is.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteAddress: Sendable, Hashable {
    /// Its name or address.
    public var host: String
    /// Its port.
    public var port: Int

    /// Names a place.
    ///
    /// - Parameters:
    ///   - host: A name or address.
    ///   - port: A port.
    /// - Complexity: O(1).
    public init(host: String, port: Int = 6379) {
      self.host = host
      self.port = port
    }

    /// Reads what a server announces: host, colon, port.
    ///
    /// - Returns: nil if it is anything else. The host may be empty: that of the server itself.
    init?(announced text: some BidirectionalCollection<UInt8>) {
      guard text.count <= 262, let colon = text.lastIndex(of: UInt8(ascii: ":")),
        let port = Int(digits: text[text.index(after: colon)...]), (1...65_535).contains(port)
      else { return nil }
      let host = String(decoding: text[..<colon], as: UTF8.self)
      guard Self.isHost(host) else { return nil }
      self.init(host: host, port: port)
    }

    /// Whether it can be a name or an address, or is empty.
    static func isHost(_ text: String) -> Bool {
      text.utf8.count <= 255
        && text.utf8.allSatisfy { byte in
          (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || ".:-_%".utf8.contains(byte)
        }
    }

    /// The same, with a host of its own.
    func resolved(at asked: RemoteAddress) -> RemoteAddress {
      host.isEmpty ? RemoteAddress(host: asked.host, port: port) : self
    }
  }

  extension RemoteAddress: CustomStringConvertible {
    /// Host and port.
    public var description: String { "\(host):\(port)" }
  }

  extension Int {
    /// One to nine decimal digits, and nothing else.
    init?(digits text: some Collection<UInt8>) {
      guard (1...9).contains(text.count),
        text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else { return nil }
      self = text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
  }
#endif
