// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Synchronization

  /// A connection to one Redis or Valkey server that is made when it is needed, and made again
  /// when it is lost.
  ///
  /// Commands of different tasks share it, each sent at once, without waiting for the replies to
  /// those before (pipelining). When the server does not answer in time, or what it answers makes
  /// no sense, the connection is given up: all that is under way fails, the sink is told, and
  /// the next attempts to connect follow by themselves, at growing intervals. After several
  /// failures in a row calls fail at once, until the server is there again.
  ///
  /// **Concurrency.** Safe to use from any number of tasks at a time. Events come on a thread of
  /// its own.
  public final class RedisConnection: RemoteConnection {
    private let core: RedisCore

    /// Prepares a connection; nothing is sent yet.
    ///
    /// - Parameter server: The server.
    /// - Throws: `.invalidArgument` if a setting makes no sense, or files of `security` cannot be
    ///   read.
    /// - Complexity: O(bytes of the files that `security` names).
    public convenience init(_ server: RemoteServer) throws {
      self.init(server, MultiThreadedEventLoopGroup.singleton.next(), try RedisSecurity(server))
    }

    init(_ server: RemoteServer, _ loop: any EventLoop, _ security: RedisSecurity) {
      core = RedisCore(server, loop, security)
    }

    deinit { core.onLoop { $0.close() } }

    /// Yes: events are delivered as they are read, and replies after them.
    public var deliversInWireOrder: Bool { true }

    /// How many connections there were; 0 before the first.
    public var epoch: UInt64 { core.epoch.load(ordering: .acquiring) }

    /// Has events go to a closure, one at a time.
    ///
    /// - Parameter sink: Gets the events. Must not block.
    /// - Complexity: O(1).
    public func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {
      core.onLoop { $0.sink = sink }
    }

    /// Sends commands in one piece, and waits for the reply to each.
    ///
    /// - Parameters:
    ///   - commands: The commands; none is no call.
    ///   - key: Ignored: there is one server.
    ///   - patience: How long to wait for the replies; nil: ``RemoteServer/timeout``, which is the
    ///     longest in any case.
    /// - Returns: As many replies as commands, errors of the server's among them.
    /// - Throws: `.timedOut` and `.remote`: whether the commands were executed is unknown then.
    ///   `.busy` if ``RemoteServer/maximumWaiting`` calls wait; `.closed`; `CancellationError`.
    /// - Complexity: One round trip.
    public func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      if commands.isEmpty { return [] }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(commands.reduce(0) { $0 + $1.size })
      for command in commands { command.encode(into: &bytes) }
      let buffer = ByteBuffer(bytes: bytes)
      let id = core.nextRequest.add(1, ordering: .relaxed).newValue
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          core.onLoop { core in
            let request = RedisRequest(id, commands.count, buffer) { continuation.resume(with: $0) }
            core.submit(request, patience)
          }
          // If it was cancelled before, that was heard before there was a call to abandon.
          if Task.isCancelled { core.onLoop { $0.abandon(id, CancellationError()) } }
        }
      } onCancel: {
        core.onLoop { $0.abandon(id, CancellationError()) }
      }
    }

    /// Ends the connection for good; what is under way fails.
    ///
    /// - Complexity: O(calls that wait).
    public func close() async {
      await withCheckedContinuation { continuation in
        core.onLoop { core in
          core.close()
          continuation.resume()
        }
      }
    }
  }

  /// What encrypts a connection; nothing for one in plain text.
  struct RedisSecurity: Sendable {
    let context: NIOSSLContext?
    /// The name that the certificate must have; nil if the server is named by its address.
    let name: String?

    /// - Parameter shared: What was made for another server, with the same files.
    init(_ server: RemoteServer, _ shared: RedisSecurity? = nil) throws {
      try server.check()
      guard case .tls(let tls) = server.security.kind else {
        (context, name) = (nil, nil)
        return
      }
      let name = tls.name ?? server.host
      let isAddress = (try? SocketAddress(ipAddress: name, port: server.port)) != nil
      self.name = isAddress ? nil : name
      if let shared {
        context = shared.context
        return
      }
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      if !tls.verifies { configuration.certificateVerification = .none }
      do {
        if let file = tls.authorities {
          configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
        }
        if let file = tls.certificate {
          configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file)
            .map { .certificate($0) }
        }
        if let file = tls.privateKey {
          configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
        }
        context = try NIOSSLContext(configuration: configuration)
      } catch {
        throw LarderError(
          .invalidArgument, "Could not use the certificates for \(server).", cause: error)
      }
    }
  }
#endif
