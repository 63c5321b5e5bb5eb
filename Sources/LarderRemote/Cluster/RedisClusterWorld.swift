// SPDX-License-Identifier: MIT

#if Remote
  package import NIOCore
  import NIOPosix

  /// What the connections to a cluster take from outside: tests put a simulation in its place.
  package struct RedisClusterWorld: Sendable {
    /// On which the map changes, and the sinks of all connections are called.
    package var loop: any EventLoop
    package var now: @Sendable () -> ContinuousClock.Instant
    /// Makes a connection to one server, which closes when nobody has it any more.
    package var connect: @Sendable (RemoteServer) throws -> any RemoteConnection

    package init(
      loop: any EventLoop, now: @escaping @Sendable () -> ContinuousClock.Instant,
      connect: @escaping @Sendable (RemoteServer) throws -> any RemoteConnection
    ) {
      (self.loop, self.now, self.connect) = (loop, now, connect)
    }

    /// The real one. Reads the files of the server's security once, for all servers.
    package init(_ server: RemoteServer) throws {
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let security = try RedisSecurity(server)
      self.init(
        loop: loop, now: { .now },
        connect: { RedisConnection($0, loop, try RedisSecurity($0, security)) })
    }
  }
#endif
