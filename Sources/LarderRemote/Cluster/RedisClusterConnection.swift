// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import Synchronization

  /// Connections to the masters of a Redis or Valkey Cluster, one to each.
  ///
  /// Commands go to the master that owns the slot of their key. A server that does not own it names
  /// another one, which is asked then, five times at most: a transaction is sent there as a whole.
  /// Each master is asked at intervals which slots it owns. If that has changed, the
  /// sink gets ``RemoteEvent/flushed``, as servers do not announce what moves with a slot.
  ///
  /// When one master cannot be reached, commands about its slots fail as those of a
  /// ``RedisConnection`` do, and the sink gets ``RemoteEvent/lost(epoch:)``. The other slots go on.
  ///
  /// **Concurrency.** Safe to use from any number of tasks at a time. Events come on a thread of
  /// its own.
  public final class RedisClusterConnection: RemoteConnection {
    let core: RedisClusterCore

    /// Prepares connections; nothing is sent yet.
    ///
    /// - Parameter server: A server of the cluster, and in ``RemoteServer/cluster`` how to find the
    ///   others.
    /// - Throws: `.invalidArgument` if a setting makes no sense, files of `security` cannot be
    ///   read, or the database is not 0, the only one that a cluster has.
    /// - Complexity: O(bytes of the files that `security` names).
    public convenience init(_ server: RemoteServer) throws {
      try self.init(server, RedisClusterWorld(server))
    }

    /// - Parameter world: What is simulated, for tests.
    package init(_ server: RemoteServer, _ world: RedisClusterWorld) throws {
      guard server.database == 0 else {
        throw LarderError(
          .invalidArgument, "A cluster has no database \(server.database), only number 0.")
      }
      core = RedisClusterCore(server, world)
    }

    deinit { Task.detached { [core] in await core.close() } }

    /// Yes: events are delivered as they are read, and replies after them.
    public var deliversInWireOrder: Bool { true }

    /// How many connections there were, to all masters together; 0 before the first.
    public var epoch: UInt64 { core.state.withLock { $0.epoch } }

    /// Has events go to a closure, one at a time.
    ///
    /// - Parameter sink: Gets the events. Must not block.
    /// - Complexity: O(1).
    public func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {
      core.state.withLock { $0.sink = sink }
    }

    /// Sends commands in one piece to the master that owns the key, and waits for the replies.
    ///
    /// - Parameters:
    ///   - commands: The commands, all of them about keys of the same slot; none is no call.
    ///   - key: One of the keys; nil: any master.
    ///   - patience: How long to wait for the replies; nil: ``RemoteServer/timeout``, which is the
    ///     longest in any case, however often the call is redirected.
    /// - Returns: As many replies as commands, errors of the server's among them: `CROSSSLOT` for
    ///   keys of different slots, `TRYAGAIN` for several keys while their slot moves,
    ///   `CLUSTERDOWN`, `LOADING`.
    /// - Throws: `.timedOut` and `.remote`: whether the commands were executed is unknown then.
    ///   `.busy` if ``RemoteServer/maximumWaiting`` calls wait for the master; `.closed`;
    ///   `CancellationError`.
    /// - Complexity: One round trip; one more for each redirection.
    public func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      try await core.send(commands, key, to: nil, patience)
    }

    /// One for each master that there is now: all are asked first.
    ///
    /// - Throws: `.timedOut`, `.remote`; `.closed`; `CancellationError`.
    /// - Complexity: One round trip to each.
    public var masters: [any RemoteConnection] {
      get async throws {
        try await core.currentMasters().map { RedisMaster(core: core, address: $0) }
      }
    }

    /// Ends the connections for good; what is under way fails.
    ///
    /// - Complexity: O(calls that wait).
    public func close() async { await core.close() }
  }

  /// One master of a cluster. What has moved away from it is followed.
  private struct RedisMaster: RemoteConnection {
    let core: RedisClusterCore
    let address: RemoteAddress

    var deliversInWireOrder: Bool { true }
    var epoch: UInt64 { core.state.withLock { $0.epoch } }
    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {}
    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      try await core.send(commands, key, to: address, patience)
    }
    func close() async {}
  }
#endif
