// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderRemote
  import LarderTestSupport

  /// A server that is gone for a minute under load, once frozen and once killed: what is in memory
  /// is read all the while, what is not fails within the time-out, and afterwards all is as before,
  /// by itself.
  struct OutageFamily {
    private let options: RemoteOptions

    init(_ options: RemoteOptions) { self.options = options }

    func run() throws -> Int32 {
      let folder = try makeWorkplace("larder-torture")
      defer { try? FileManager.default.removeItem(at: folder) }
      // Both, and as much again for what is before and after.
      let seconds = (options.seconds ?? 60) / 4
      var failures = 0
      for isKilled in [false, true] {
        let place = folder.appendingPathComponent(isKilled ? "killed" : "frozen")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
        let outage = try Outage(
          in: place.path, seconds, isKilled: isKilled, isShort: options.isShort, options.plant)
        let (report, complaints) = try outage.run()
        say("outage     \(isKilled ? "killed" : "frozen") \(report)")
        for complaint in complaints { say("FAILED outage: \(complaint)") }
        failures += complaints.count
      }
      return failures > 0 ? 1 : 0
    }
  }

  /// One of them.
  private final class Outage {
    private static let hotKeys = 1000
    private static let missers = 8

    private let folder: String
    private let seconds: Double
    private let isKilled: Bool
    /// Then times are told and not judged, for other work may be under way.
    private let isShort: Bool
    private let port: Int
    private var redis: RedisServer
    private let cache: Cache<Int, Stamped>
    private let load = Load()

    init(
      in folder: String, _ seconds: Double, isKilled: Bool, isShort: Bool, _ plant: RemotePlant?
    ) throws {
      (self.folder, self.seconds) = (folder, seconds)
      (self.isKilled, self.isShort) = (isKilled, isShort)
      redis = try RedisServer(in: folder)
      port = redis.port
      // All else as users have it.
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      var remote = RemoteTierConfiguration()
      remote.localLifetime = .seconds(3600)
      remote.onDisconnect = .serveStale(for: .seconds(3600))
      if plant == .endlessPatience {
        (server.timeout, server.connectTimeout) = (.seconds(600), .seconds(600))
        (server.keepAlive, remote.softTimeout) = (.seconds(600), .seconds(600))
      }
      cache = try Cache(
        at: .path(folder + "/cache"), remote: server, coder: Stamped.coder,
        keyCoder: Stamped.keyCoder,
        remoteConfiguration: remote)
    }

    func run() throws -> (report: String, complaints: [String]) {
      for key in 0..<Self.hotKeys { try cache.set(Stamped(key: key, id: 1), forKey: key) }
      Thread { [load, cache] in load.hit(cache, Self.hotKeys) }.start()
      for number in 0..<Self.missers {
        Task.detached { [load, cache] in
          await load.miss(cache, beginningAt: number << 40 | 1 << 30)
        }
      }
      let before = load.watch(for: max(1, seconds / 3))
      if isKilled { redis.end() } else { redis.stop() }
      let during = load.watch(for: seconds)
      if isKilled { redis = try RedisServer(in: folder, port: port) } else { redis.go() }
      let recovery = try recover()
      let after = load.watch(for: max(1, seconds / 3))
      load.end()
      let report = """
        for \(Int(seconds)) s: hits \(before.hits) before, \(during.hits) meanwhile; misses \
        \(before.misses) before, \(during.misses) meanwhile, \(after.misses) after; \
        answered again after \(recovery.map { "\($0) ms" } ?? "never")
        """
      return (report, complaints(before, during, after, recovery))
    }

    /// - Returns: After how many milliseconds a write was stored; nil: never.
    private func recover() throws -> Int? {
      let start = monotonicTime()
      while monotonicTime() - start < 30_000_000_000 {
        do {
          try cache.set(Stamped(key: Self.hotKeys, id: 2), forKey: Self.hotKeys)
          return Int((monotonicTime() - start) / 1_000_000)
        } catch {
          usleep(10_000)
        }
      }
      return nil
    }

    private func complaints(
      _ before: Load.Phase, _ during: Load.Phase, _ after: Load.Phase, _ recovery: Int?
    ) -> [String] {
      var complaints: [String] = []
      if during.hits.failures + before.hits.failures > 0 {
        complaints.append("a read of what is in memory did not find it")
      }
      // One that waited until the server was there again ended afterwards.
      let longest = Double(max(during.misses.longest, after.misses.longest)) / 1e9
      if longest >= max(5, seconds) {
        complaints.append("a read took \(Int(longest)) s, as long as the server was gone")
      }
      if recovery == nil { complaints.append("30 s after it was there again nothing was stored") }
      if after.misses.failures == after.misses.count {
        complaints.append("no read was answered after the server was there again")
      }
      if isShort { return complaints }
      // With room for a thread that has to wait for a processor.
      let limit = 250.0 + 50
      if during.misses.p99 > limit * 1e6 {
        complaints.append("p99 of misses was \(Int(during.misses.p99 / 1e6)) ms, not 250")
      }
      if during.hits.median > 2 * before.hits.median {
        complaints.append("hits took \(during.hits.median) ns, not \(before.hits.median)")
      }
      return complaints
    }
  }
#endif
