// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport
  import Testing

  extension RedisServer {
    static let whyNot: Comment = "There is no redis-server here: `.ci/deps remote` installs one."

    /// With time-outs that no loaded machine exceeds.
    var patient: RemoteServer {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(600)
      server.connectTimeout = .seconds(600)
      server.keepAlive = .seconds(6000)
      return server
    }
  }
#endif
