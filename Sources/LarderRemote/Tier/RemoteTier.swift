// SPDX-License-Identifier: MIT

#if Remote
  public import Larder
  public import LarderCore
  import Synchronization

  /// A Redis or Valkey server that many machines share, as the tier behind memory and disk.
  ///
  /// ```swift
  /// let server = RemoteServer(host: "cache.internal")
  /// let shared = try RemoteTier<String, User>(
  ///   name: "users", server: server, coder: .cbor, keyCoder: .string)
  /// var configuration = CacheConfiguration<String, User>()
  /// configuration.furtherTiers = [shared]
  /// let users = try Cache(at: .path(folder), configuration: configuration)
  /// ```
  ///
  /// Each `Cache` keeps copies of what it reads in its memory and on its disk, and the server tells
  /// it when one of them changes: then they are dropped. The page "Beyond one machine" says what
  /// that promises and what not. Make one tier for each cache: what it writes itself is not told.
  ///
  /// A key is its bytes behind ``RemoteTierConfiguration/keyPrefix``. Values have a header of 18
  /// bytes and more, with a version, the cost and extended data.
  ///
  /// **Concurrency.** Safe to use from any number of tasks at a time.
  ///
  /// **Durability.** That of the server: by default it may lose the last second of writes, and a
  /// failover those that the other server had not got.
  public final class RemoteTier<Key: Hashable & Sendable, Value: Sendable>: CacheTier {
    /// A name for people, and in keys unless the configuration has another prefix.
    public let name: String

    let connection: any RemoteConnection
    let coder: Coder<Value>
    let keyCoder: KeyCoder<Key>
    let configuration: RemoteTierConfiguration
    let prefix: [UInt8]
    let state: Mutex<RemoteTierStatistics>
    let events: RemoteTierEvents<Key>

    /// Prepares a tier over a server; it is connected to when it is first used.
    ///
    /// - Parameters:
    ///   - name: A name for people and in keys: not empty.
    ///   - server: The server.
    ///   - coder: Makes bytes of values. All machines must have the same one.
    ///   - keyCoder: Makes bytes of keys. All machines must have the same one.
    ///   - configuration: Everything else; see there for the defaults.
    /// - Throws: `.invalidArgument` if the name or the prefix is empty, a setting makes no sense,
    ///   certificates cannot be used, or values may become larger than replies of the server.
    /// - Complexity: O(1).
    public convenience init(
      name: String, server: RemoteServer, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
      configuration: RemoteTierConfiguration = .init()
    ) throws {
      // With room for what goes with the value.
      guard configuration.maximumValueBytes <= max(0, server.maximumReplyBytes) - 1024 else {
        throw LarderError(
          .invalidArgument,
          """
          Values of \(configuration.maximumValueBytes) bytes could be written to \(server) and not \
          be read: maximumValueBytes has to be smaller than maximumReplyBytes by 1,024.
          """)
      }
      let connection: any RemoteConnection =
        server.cluster == nil ? try RedisConnection(server) : try RedisClusterConnection(server)
      try self.init(
        name: name, connection: connection, coder: coder, keyCoder: keyCoder,
        configuration: configuration)
    }

    /// Prepares a tier over a connection of your own, which it closes in the end.
    ///
    /// - Parameters:
    ///   - name: A name for people and in keys: not empty.
    ///   - connection: The connection, which nobody observes yet.
    ///   - coder: Makes bytes of values. All machines must have the same one.
    ///   - keyCoder: Makes bytes of keys. All machines must have the same one.
    ///   - configuration: Everything else; see there for the defaults.
    /// - Throws: `.invalidArgument` if the name or the prefix is empty, or a setting is negative.
    /// - Complexity: O(1).
    public init(
      name: String, connection: any RemoteConnection, coder: Coder<Value>,
      keyCoder: KeyCoder<Key>, configuration: RemoteTierConfiguration = .init()
    ) throws {
      guard !name.isEmpty, configuration.keyPrefix != "" else {
        throw LarderError(
          .invalidArgument,
          "A remote tier needs a name and a prefix: all keys with that prefix are its own.")
      }
      try configuration.check()
      self.name = name
      self.connection = connection
      self.coder = coder
      self.keyCoder = keyCoder
      self.configuration = configuration
      prefix = Array((configuration.keyPrefix ?? "larder:\(name):").utf8)
      state = Mutex(RemoteTierStatistics())
      events = RemoteTierEvents(prefix, keyCoder, configuration)
      connection.observe { [events] in events.receive($0) }
    }

    deinit {
      events.finish()
      let connection = connection
      Task.detached { await connection.close() }
    }

    /// What the tier did since it was made.
    ///
    /// - Complexity: O(1).
    public var statistics: RemoteTierStatistics {
      events.add(to: state.withLock { $0 })
    }

    // MARK: - What a cache asks of it

    /// How long copies live, or are good: ``RemoteTierConfiguration/localLifetime``.
    ///
    /// - Complexity: O(1).
    public var copyLifetime: Duration? { configuration.localLifetime }

    /// Whether ``RemoteTierConfiguration/onDisconnect`` is ``RemoteDisconnection/revalidate``.
    ///
    /// - Complexity: O(1).
    public var confirmsCopies: Bool { configuration.onDisconnect.confirmsCopies }

    /// Begins to tell what others change, to one more cache.
    ///
    /// - Returns: A stream that ends when the tier is closed.
    /// - Complexity: O(1).
    public func invalidations() -> AsyncStream<CacheInvalidation<Key>>? { events.stream() }

    /// Ends the connection. Later calls throw `.closed`.
    ///
    /// - Complexity: O(calls under way).
    public func close() async {
      await connection.close()
      events.finish()
    }

    // MARK: - Calls

    /// A key as the server has it.
    func remoteKey(_ key: Key) throws -> [UInt8] { prefix + (try keyCoder.encode(key)) }

    /// Sends commands, and counts what fails.
    ///
    /// - Parameters:
    ///   - key: The key that they are about; nil: none.
    ///   - server: Where to send them; nil: wherever the key is.
    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration? = nil,
      to server: (any RemoteConnection)? = nil
    ) async throws -> [RemoteReply] {
      do {
        let replies = try await (server ?? connection).send(
          commands, key: key, patience: patience)
        guard replies.count == commands.count else { throw unexpected(replies.last) }
        return replies
      } catch {
        fail(error)
        throw error
      }
    }

    /// Sends commands as one transaction of the server's, which tracks their keys for us, and does
    /// not announce to us what they do.
    ///
    /// What we write ourselves is no longer tracked, so a write must end in a read.
    ///
    /// - Parameter needsRoom: Whether the commands write. A server whose memory is full has no
    ///   transactions, but executes others without, and then tracks nothing.
    /// - Returns: The replies to them.
    func transact(
      _ commands: [RemoteCommand], key: [UInt8], needsRoom: Bool = true, patience: Duration? = nil
    ) async throws -> [RemoteReply] {
      let caching = [RemoteCommand("CLIENT", "CACHING", "YES")]
      let replies = try await send(
        caching + Self.unannounced(commands), key: key, patience: patience)
      if !needsRoom, replies.contains(Self.isFull) {
        events.wrote(key)
        let replies = try await send(commands, key: key, patience: patience)
        for reply in replies { try check(reply) }
        return replies
      }
      // The first error is why the others are.
      for reply in replies { try check(reply) }
      guard case .array(let results) = replies.last, results.count == commands.count + 2 else {
        throw failed(unexpected(replies.last))
      }
      for result in results { try check(result) }
      return Array(results.dropFirst().dropLast())
    }

    /// What a server without room says to what may need some, and to everything in a transaction.
    static var isFull: RemoteReply { .error("OOM") }

    /// A transaction that announces to others alone that its commands write keys, or find that
    /// they have expired.
    ///
    /// That is asked for within it, so that it holds for nothing else: a server without room evicts
    /// entries, and forgets who has read what, before it executes a command, and whoever sent that
    /// must be told.
    static func unannounced(_ commands: [RemoteCommand]) -> [RemoteCommand] {
      [RemoteCommand("MULTI"), RedisHandshake.tracking(announcesOwn: false)] + commands
        + [RedisHandshake.tracking(announcesOwn: true), RemoteCommand("EXEC")]
    }

    func check(_ reply: RemoteReply) throws {
      guard case .error(let text) = reply else { return }
      let word = text.prefix { $0 != " " }
      let why =
        switch word {
        case "MOVED", "ASK": ": it is part of a cluster, so RemoteServer.cluster has to be set"
        case "CLUSTERDOWN": ": its cluster has no server for some slots"
        case "CROSSSLOT": ": keys of different slots of a cluster do not go together"
        case "OOM": ": its memory is full, and its maxmemory-policy removes nothing"
        case "NOPERM": ": its user may not do that; see Beyond one machine for what is needed"
        case "TRYAGAIN": ": the slot of several keys is being moved"
        case "LOADING": ": it has started, and still loads its data"
        default: ""
        }
      throw failed(LarderError(.remote, "The server of tier \(name) answered \(word)\(why)."))
    }

    func unexpected(_ reply: RemoteReply?) -> LarderError {
      LarderError(
        .remote,
        "The server of tier \(name) answered \(reply?.description ?? "nothing"), not as it should.")
    }

    /// Counts a failure.
    func failed(_ error: LarderError) -> LarderError {
      fail(error)
      return error
    }

    private func fail(_ error: any Error) {
      // Who cancels a call knows.
      if error is CancellationError { return }
      state.withLock { state in
        state.failures += 1
        if (error as? LarderError)?.code == .timedOut { state.timeouts += 1 }
      }
    }

    func count(
      _ figure: any WritableKeyPath<RemoteTierStatistics, UInt64> & Sendable, _ by: Int = 1
    ) {
      state.withLock { $0[keyPath: figure] += UInt64(clamping: by) }
    }
  }
#endif
