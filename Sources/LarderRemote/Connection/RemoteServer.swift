// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore

  /// A Redis or Valkey server: where it is, and how to talk to it.
  ///
  /// ```swift
  /// var server = RemoteServer(host: "cache.internal")
  /// server.credentials = RemoteCredentials(user: "users-cache", password: password)
  /// ```
  ///
  /// Redis 6 or Valkey, or later.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteServer: Sendable {
    /// Its name or address.
    public var host: String
    /// Its port; 6379 by default.
    public var port: Int
    /// Who to be there; nil, the default, if it does not ask.
    public var credentials: RemoteCredentials?
    /// Whether what is sent is encrypted: by TLS, and the server's certificate verified, by
    /// default.
    public var security = RemoteSecurity.tls()
    /// The number of its database; 0 by default.
    public var database = 0
    /// The cluster that it is part of; nil, the default, if it is not.
    public var cluster: RemoteCluster?
    /// The name it shows in its list of clients: ASCII without spaces.
    public var clientName = "larder"

    /// How long a connection may take to be there: with TLS and the first replies. 1 s by default.
    public var connectTimeout = Duration.seconds(1)
    /// How long a command may take, the time to connect included; 250 ms by default. A connection
    /// with a command that took longer is given up.
    public var timeout = Duration.milliseconds(250)
    /// After how long a silence the server is asked whether it is there; 2 s by default. If it does
    /// not answer within ``timeout``, the connection is given up.
    public var keepAlive = Duration.seconds(2)
    /// After how many failures in a row commands fail at once; 5 by default.
    public var failuresToOpen = 5
    /// How long they do, until a single one tries again; 2 s by default.
    public var openFor = Duration.seconds(2)
    /// The longest wait between two attempts to connect; 2 s by default. The first is about 50 ms,
    /// and each is about twice as long as the one before.
    public var maximumBackoff = Duration.seconds(2)
    /// How many bytes a reply may have; 8 MiB by default.
    public var maximumReplyBytes = 8 << 20
    /// How many calls may wait for replies at a time; 16,384 by default. One more fails.
    public var maximumWaiting = 16_384

    /// Names a server.
    ///
    /// - Parameters:
    ///   - host: Its name or address.
    ///   - port: Its port.
    /// - Complexity: O(1).
    public init(host: String, port: Int = 6379) {
      self.host = host
      self.port = port
    }
  }

  extension RemoteServer {
    /// Throws `.invalidArgument` for settings with which no server can be used.
    func check() throws(LarderError) {
      let wrong: String? =
        if !(1...65_535).contains(port) {
          "There is no port \(port)."
        } else if min(timeout, connectTimeout, keepAlive, cluster?.pollInterval ?? timeout) <= .zero
        {
          "Time-outs, keepAlive and pollInterval of \(self) have to be above 0."
        } else if maximumWaiting < 1 || maximumReplyBytes < 1 {
          "At least one call has to be able to wait for \(self), for a reply of at least one byte."
        } else if database < 0 {
          "There is no database \(database)."
        } else if !clientName.utf8.allSatisfy({ (33...126).contains($0) }) {
          "The name of a client is of letters, digits and signs of ASCII, without spaces."
        } else {
          nil
        }
      if let wrong { throw LarderError(.invalidArgument, wrong) }
    }
  }

  extension RemoteServer: CustomStringConvertible {
    /// Host and port.
    public var description: String { "\(host):\(port)" }
  }

  /// A user and a password, which no description of them shows.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteCredentials: Sendable {
    /// The user; `default` is the one that servers have without users of their own.
    public let user: String
    let password: String

    /// Keeps both.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - password: The password.
    /// - Complexity: O(1).
    public init(user: String = "default", password: String) {
      self.user = user
      self.password = password
    }
  }

  extension RemoteCredentials: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
  {
    /// Neither user nor password.
    public var description: String { "RemoteCredentials(…)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
  }

  /// Whether what is sent to a server is encrypted.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteSecurity: Sendable {
    enum Kind: Sendable {
      case plaintext
      case tls(RemoteTLS)
    }

    let kind: Kind

    /// Whether it is.
    ///
    /// - Complexity: O(1).
    public var isEncrypted: Bool { if case .tls = kind { true } else { false } }

    /// Nothing is encrypted: for a server on the same machine, or in a network that is trusted.
    public static let plaintext = RemoteSecurity(kind: .plaintext)

    /// TLS 1.2 or later.
    ///
    /// - Parameters:
    ///   - authorities: A file of certificates (PEM) that the server's must come from; nil: the
    ///     system's.
    ///   - certificate: A file with the client's own certificates (PEM); nil for none.
    ///   - privateKey: The file of its key (PEM).
    ///   - name: The name that the server's certificate must have; nil: its host.
    ///   - verifies: Whether the server's certificate is verified. Without that anybody on the way
    ///     can read and change everything.
    /// - Returns: That.
    /// - Complexity: O(1).
    public static func tls(
      authorities: String? = nil, certificate: String? = nil, privateKey: String? = nil,
      name: String? = nil, verifies: Bool = true
    ) -> RemoteSecurity {
      RemoteSecurity(
        kind: .tls(
          RemoteTLS(
            authorities: authorities, certificate: certificate, privateKey: privateKey, name: name,
            verifies: verifies)))
    }
  }

  struct RemoteTLS: Sendable {
    let authorities: String?
    let certificate: String?
    let privateKey: String?
    let name: String?
    let verifies: Bool
  }
#endif
