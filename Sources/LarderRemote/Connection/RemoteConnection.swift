// SPDX-License-Identifier: MIT

#if Remote
  /// What a connection tells of, besides replies.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public enum RemoteEvent: Sendable, Equatable {
    /// There is a connection: the number of its epoch.
    case connected(epoch: UInt64)
    /// The keys were written, removed or evicted or have expired, or the server has forgotten who
    /// read them. Not what this connection did itself, if it asked not to be told.
    case invalidated([[UInt8]])
    /// A call is about to return what was read or written under the key at a server that does not
    /// track it: no copy may be kept.
    case untracked([UInt8])
    /// Every key may have been written: the server was flushed, or slots of a cluster moved, which
    /// is not announced key by key.
    case flushed
    /// The connection of that epoch is gone, and with it what the server had to tell.
    case lost(epoch: UInt64)
  }

  /// A connection to a server that tells which keys change: what a ``RemoteTier`` needs of a
  /// client.
  ///
  /// ``RedisConnection`` is one. Another client takes its place if it does this:
  ///
  /// - `send` writes the commands in one piece, nothing between them, and the replies are those
  ///   to them. It sends them at most once: what a server may have executed is never sent again.
  /// - In a cluster they go to the master of the key's slot, and after `MOVED` or `ASK` to the one
  ///   that is named there: a transaction as a whole. What is read or written after `ASK` cannot
  ///   be tracked, so ``RemoteEvent/untracked(_:)`` comes before `send` returns. If the owner of a
  ///   slot or its epoch changes, ``RemoteEvent/flushed`` comes.
  /// - The server is told `CLIENT TRACKING ON OPTIN` on each new connection, before any command
  ///   that is to be tracked; never with `REDIRECT`, which loses what it had to tell when one of
  ///   the two connections ends. And not with `NOLOOP`, which a tier turns on within its
  ///   transactions alone: with it nothing is told of what the server evicts or forgets to make
  ///   room for a command of the same connection.
  /// - Every push goes to the sink, one after the other. ``RemoteEvent/lost(epoch:)`` comes before
  ///   the commands under way fail, and ``RemoteEvent/connected(epoch:)`` before any command
  ///   is sent on the new connection.
  ///
  /// **Concurrency.** Called from any task, several at a time.
  public protocol RemoteConnection: Sendable {
    /// Whether an event that came before a reply on the wire is with the sink before `send` returns
    /// that reply.
    var deliversInWireOrder: Bool { get }

    /// How many connections there were; 0 before the first.
    var epoch: UInt64 { get }

    /// Has events go to a closure, one at a time. To be called once, before anything is sent.
    ///
    /// - Parameter sink: Gets the events. Must not block.
    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void)

    /// Sends commands, and waits for the reply to each.
    ///
    /// - Parameters:
    ///   - commands: The commands.
    ///   - key: The key that they are about, which says where to send them in a cluster; nil: any
    ///     server.
    ///   - patience: How long to wait for the replies; nil: until the connection's own time-out.
    ///     When it ends, the commands may still be executed.
    /// - Returns: As many replies as commands, errors of the server's among them.
    /// - Throws: `.timedOut` and `.remote`: whether the commands were executed is unknown then.
    ///   `.closed`; `CancellationError`.
    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply]

    /// One for each server that has keys of its own, for commands that are about all keys; by
    /// default this one alone. They end with this one, and are not observed.
    var masters: [any RemoteConnection] { get async throws }

    /// Ends the connection for good; what is under way fails.
    func close() async
  }

  extension RemoteConnection {
    /// This one alone.
    ///
    /// - Complexity: O(1).
    public var masters: [any RemoteConnection] { [self] }

    /// Sends commands to any server.
    func send(_ commands: [RemoteCommand], patience: Duration?) async throws -> [RemoteReply] {
      try await send(commands, key: nil, patience: patience)
    }
  }
#endif
