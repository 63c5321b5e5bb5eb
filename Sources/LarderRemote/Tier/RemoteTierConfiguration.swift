// SPDX-License-Identifier: MIT

#if Remote
  public import LarderCore

  /// How a ``RemoteTier`` is made: everything has a default.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteTierConfiguration: Sendable {
    /// What every key on the server begins with; nil, the default: `larder:` and the tier's name,
    /// and a colon. Tiers with the same one share their entries.
    public var keyPrefix: String?

    /// How long copies in memory and on disk live at most, and how long it is remembered that there
    /// is nothing under a key; 60 s by default.
    ///
    /// The server tells what changes, so copies are dropped long before. This is the bound if it
    /// does not: because of a defect, or of a proxy between. Copies on disk live on with
    /// ``RemoteDisconnection/revalidate``, and are confirmed when they are that old.
    public var localLifetime = Duration.seconds(60)

    /// What becomes of copies when the connection is lost; ``RemoteDisconnection/drop`` by default.
    public var onDisconnect = RemoteDisconnection.drop

    /// How long a read waits for the server if stale copies are allowed by ``onDisconnect``; 50 ms
    /// by default. Otherwise it waits as long as ``RemoteServer/timeout`` says.
    public var softTimeout = Duration.milliseconds(50)

    /// How long entries live on the server that are stored without an expiration; for ever by
    /// default. After a last access is after the last write there.
    public var expiration = Expiration.never

    /// The largest encoded value that is sent to the server; 1 MiB by default. A larger one stays
    /// in memory and on disk of the machine that wrote or loaded it, and others find nothing. They
    /// are told of it, and it ends when one of them replaces or removes it, as any value: the
    /// server has 17 bytes that stand in for it.
    ///
    /// Less than ``RemoteServer/maximumReplyBytes``, by 1,024 at least.
    public var maximumValueBytes = 1 << 20

    /// How long one machine may load what the server has not while the others wait for it; 30 s by
    /// default. 0: they all load.
    ///
    /// What takes longer is returned to who asked for it, and not stored.
    public var loadLease = Duration.seconds(30)

    /// Of how many keys it is remembered that the server has nothing; 10,000 by default.
    public var absentCountLimit = 10_000

    /// Of one in how many entries that are read it is measured how stale copies of them become:
    /// once in their life the version is compared with the server's. 0, the default: of none.
    ///
    /// Costs a small command each. What it finds is in ``RemoteTierStatistics``.
    public var stalenessSampling = 0

    /// The time, for expirations.
    public var clock = CacheClock.system

    /// The defaults.
    ///
    /// - Complexity: O(1).
    public init() {}
  }

  /// What becomes of copies of a server's entries when it can no longer tell which of them change.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteDisconnection: Sendable, Hashable {
    /// nil: at once.
    let graceTime: Duration?
    var confirmsCopies = false

    /// They are dropped at once: no read finds one that may be stale.
    public static let drop = RemoteDisconnection(graceTime: nil)

    /// Those in memory are dropped at once. Those on disk stay, also over a restart of the
    /// process, when the server is flushed and when slots of a cluster move, and each is confirmed
    /// before it is used again: the server is asked for 16 bytes, which say whether it still has
    /// the same. As long as it does not answer no read finds them.
    ///
    /// Nor do copies on disk end with ``RemoteTierConfiguration/localLifetime``, but with the
    /// entry; those that are that old are confirmed. Each takes some 350 bytes more on disk.
    public static let revalidate = RemoteDisconnection(graceTime: nil, confirmsCopies: true)

    /// They are kept for so long, and dropped when the server is there again, or when that time
    /// ends.
    ///
    /// - Parameter duration: How long.
    /// - Returns: That.
    /// - Complexity: O(1).
    public static func serveStale(for duration: Duration) -> RemoteDisconnection {
      RemoteDisconnection(graceTime: duration)
    }
  }
#endif
