// SPDX-License-Identifier: MIT

#if Remote
  /// How a ``RedisStreamSink`` is made: everything has a default.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RedisStreamConfiguration: Sendable {
    /// What has to have a message before it counts as shipped.
    public enum Confirmation: Sendable, Hashable {
      /// The server, in memory: what it loses in a crash or a failover the log ships again, as long
      /// as it has it.
      case memory
      /// So many of its replicas, too, within a time: `WAIT`. Shorter than
      /// ``RemoteServer/timeout``, and nothing else goes over the connection meanwhile.
      case replicas(Int, within: Duration)
      /// The server's append-only file, and those of so many replicas, within a time: `WAITAOF`,
      /// of Redis 7.2 and Valkey 8 or later, with `appendonly yes`. As for replicas.
      case disk(replicas: Int = 0, within: Duration)
    }

    /// About how many entries the stream keeps, by `MAXLEN ~`; nil, the default: all.
    public var maximumLength: Int?

    /// What has to have a message before it counts as shipped; the server's memory by default.
    public var confirmation = Confirmation.memory

    /// The defaults.
    ///
    /// - Complexity: O(1).
    public init() {}
  }
#endif
