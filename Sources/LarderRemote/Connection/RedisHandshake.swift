// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore

  /// What is said first on a connection, and what is expected of the answers.
  enum RedisHandshake {
    static func commands(_ server: RemoteServer) -> [RemoteCommand] {
      var hello = ["3"]
      if let credentials = server.credentials {
        hello += ["AUTH", credentials.user, credentials.password]
      }
      hello += ["SETNAME", server.clientName]
      return [
        RemoteCommand("HELLO", hello.map { Array($0.utf8) }),
        RemoteCommand("SELECT", String(server.database)),
        tracking(announcesOwn: true),
        // Not every server knows it.
        RemoteCommand("CLIENT", "SETINFO", "LIB-NAME", "larder"),
      ]
    }

    /// Has the server announce changes of what is read. Never with REDIRECT: see RemoteConnection.
    ///
    /// - Parameter announcesOwn: Also those that it makes while it executes a command of ours.
    static func tracking(announcesOwn: Bool) -> RemoteCommand {
      let words = ["TRACKING", "ON", "OPTIN"] + (announcesOwn ? [] : ["NOLOOP"])
      return RemoteCommand("CLIENT", words.map { Array($0.utf8) })
    }

    /// - Returns: Why the server cannot be used; nil if it can.
    static func failure(_ replies: [RemoteReply], _ server: RemoteServer) -> LarderError? {
      guard replies.count >= 3 else { return refusal(server, "did not answer") }
      switch replies[0] {
      // Not only an array: a connection to a free port of this machine may be one to itself, which
      // says what it was told.
      case .map(let items), .array(let items):
        guard zip(items, items.dropFirst()).contains(where: { isProto($0) && $1 == .integer(3) })
        else { return refusal(server, "does not speak RESP3") }
      case .error("NOAUTH") where server.credentials == nil:
        return refusal(server, "asks for a user and a password")
      case .error("WRONGPASS"), .error("NOAUTH"):
        return refusal(server, "refused user or password")
      case .error(let word):
        return refusal(server, "refused HELLO (\(word)): it must be Redis 6, Valkey or later")
      default: return refusal(server, "does not speak RESP3")
      }
      if case .error(let word) = replies[1] {
        return refusal(server, "refused database \(server.database) (\(word))")
      }
      if case .error(let word) = replies[2] {
        return refusal(server, "refused CLIENT TRACKING (\(word))")
      }
      return nil
    }

    private static func isProto(_ reply: RemoteReply) -> Bool {
      switch reply {
      case .bytes(let bytes): bytes.elementsEqual("proto".utf8)
      case .status(let text): text == "proto"
      default: false
      }
    }

    private static func refusal(_ server: RemoteServer, _ what: String) -> LarderError {
      LarderError(.remote, "The server \(server) \(what).")
    }
  }
#endif
