// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  @Suite(
    "Caches of several machines", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteCacheTests {
    /// As on machines of their own: each has a folder and a connection.
    private final class Machine: Sendable {
      let directory: TemporaryDirectory
      let cache: Cache<String, Int>

      init(
        _ server: RemoteServer,
        _ change: (inout CacheConfiguration<String, Int>) -> Void = { _ in },
        remote: (inout RemoteTierConfiguration) -> Void = { _ in }
      ) throws {
        directory = try TemporaryDirectory()
        var configuration = CacheConfiguration<String, Int>()
        change(&configuration)
        var remoteConfiguration = RemoteTierConfiguration()
        remoteConfiguration.localLifetime = .seconds(86_400)
        remoteConfiguration.loadLease = .seconds(86_400)
        remote(&remoteConfiguration)
        cache = try Cache(
          at: .path(directory.file("counts").path), remote: server, configuration: configuration,
          remoteConfiguration: remoteConfiguration)
      }
    }

    /// Reads until another machine's write is seen; counts nothing on time.
    private func eventually(
      _ cache: Cache<String, Int>, _ key: String, _ value: Int?
    ) async throws {
      try await until { try await cache.value(forKey: key) == value }
    }

    @Test func whatOneWritesTheOtherReads() async throws {
      let redis = try RedisServer()
      let (one, other) = (try Machine(redis.patient), try Machine(redis.patient))
      try await one.cache.set(1, forKey: "k")
      #expect(try await other.cache.value(forKey: "k") == 1)
      #expect(one.cache.remoteTier?.statistics.writes == 1)
      #expect(other.cache.remoteTier?.statistics.hits == 1)
      #expect(other.cache.memoryCache.peek(forKey: "k") == 1)
      #expect(try await other.cache.diskCache?.value(forKey: "k") == 1)
      try await one.cache.set(2, forKey: "k")
      // Whoever wrote it reads it at once.
      #expect(try await one.cache.value(forKey: "k") == 2)
      try await eventually(other.cache, "k", 2)
      try await other.cache.remove(forKey: "k")
      try await eventually(one.cache, "k", nil)
      try await one.cache.close()
      try await other.cache.close()
    }

    @Test func theBlockingCallsDoTheSame() throws {
      let redis = try RedisServer()
      let (one, other) = (try Machine(redis.patient), try Machine(redis.patient))
      try one.cache.set(1, forKey: "k")
      #expect(try other.cache.value(forKey: "k") == 1)
      #expect(try other.cache.value(forKey: "new") { 7 } == 7)
      #expect(try one.cache.value(forKey: "new") == 7)
      #expect(throws: CancellationError.self) {
        try other.cache.value(forKey: "none") { () throws -> Int in throw CancellationError() }
      }
      #expect(try one.cache.value(forKey: "none") { 8 } == 8)
    }

    /// Each machine asks for the same keys at once; each key is loaded by one of them.
    @Test func aMissingKeyIsLoadedOnceByAllMachines() async throws {
      let redis = try RedisServer()
      let machines = try (0..<8).map { _ in try Machine(redis.patient) }
      let loads = Locked<[String: Int]>([:])
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<25 {
          for machine in machines {
            group.addTask {
              let value = try await machine.cache.value(forKey: "k\(number)") {
                loads.withLock { $0["k\(number)", default: 0] += 1 }
                await Task.yield()
                return number
              }
              return value == number
            }
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(loads.withLock { $0.count } == 25)
      #expect(loads.withLock { $0.values.allSatisfy { $0 == 1 } })
    }

    @Test func aLoadThatFailsOrIsCancelledLetsAnotherLoad() async throws {
      struct Failure: Error {}
      let redis = try RedisServer()
      let (one, other) = (try Machine(redis.patient), try Machine(redis.patient))
      let (begun, end) = (Locked(false), Locked(false))
      let failing = Task {
        try await one.cache.value(forKey: "k") { () async throws -> Int in
          begun.withLock { $0 = true }
          await until { end.withLock { $0 } }
          throw Failure()
        }
      }
      await until { begun.withLock { $0 } }
      let waiting = Task { try await other.cache.value(forKey: "k") { 2 } }
      end.withLock { $0 = true }
      await #expect(throws: Failure.self) { try await failing.value }
      #expect(try await waiting.value == 2)
      begun.withLock { $0 = false }
      let cancelled = Task {
        try await one.cache.value(forKey: "l") { () async throws -> Int in
          begun.withLock { $0 = true }
          await until { Task.isCancelled }
          throw CancellationError()
        }
      }
      await until { begun.withLock { $0 } }
      cancelled.cancel()
      #expect(try await other.cache.value(forKey: "l") { 3 } == 3)
    }

    /// The removal came after the load had begun: what it loaded may be older.
    @Test(arguments: [false, true])
    func aRemovalWhileAKeyIsLoadedWins(_ replaces: Bool) async throws {
      let redis = try RedisServer()
      let (one, other) = (try Machine(redis.patient), try Machine(redis.patient))
      let (calls, end) = (Locked(0), Locked(false))
      let load = Task {
        try await one.cache.value(forKey: "k") { () async throws -> Int in
          let call = calls.withLock { calls in
            calls += 1
            return calls
          }
          while call == 1, !end.withLock({ $0 }) { await Task.yield() }
          // After a removal it may be called once more, and then what it says is new.
          return call == 1 ? 1 : 100
        }
      }
      await until { calls.withLock { $0 } > 0 }
      if replaces {
        try await other.cache.set(2, forKey: "k")
      } else {
        try await other.cache.remove(forKey: "k")
      }
      end.withLock { $0 = true }
      _ = try await load.value
      for cache in [one.cache, other.cache] {
        let found = try await cache.value(forKey: "k")
        #expect(replaces ? found == 2 : found != 1)
      }
    }

    @Test func copiesOfAnEarlierProcessAreNotTrusted() async throws {
      let redis = try RedisServer()
      let (one, other) = (try Machine(redis.patient), try Machine(redis.patient))
      try await one.cache.set(1, forKey: "k")
      try await one.cache.close()
      try await other.cache.set(2, forKey: "k")
      var remote = RemoteTierConfiguration()
      remote.localLifetime = .seconds(86_400)
      let again = try Cache<String, Int>(
        at: .path(one.directory.file("counts").path), remote: redis.patient,
        remoteConfiguration: remote)
      #expect(try await again.value(forKey: "k") == 2)
    }

    /// Frozen under load: what is local is read as ever, what is not fails or is loaded in time.
    @Test func aFrozenServerDoesNotStopReaders() async throws {
      let redis = try RedisServer()
      var server = redis.patient
      server.timeout = .milliseconds(250)
      server.connectTimeout = .milliseconds(250)
      server.openFor = .milliseconds(100)
      let machine = try Machine(
        server, remote: { $0.onDisconnect = .serveStale(for: .seconds(86_400)) })
      let cache = machine.cache
      await until { (try? await cache.set(1, forKey: "local")) != nil }
      redis.stop()
      let failed = await remoteError { try await cache.value(forKey: "missing") }
      #expect(failed?.code == .timedOut || failed?.code == .remote)
      // A connection that was lost before may have dropped it.
      for _ in 0..<1000 where cache.memoryCache.contains("local") {
        #expect(try await cache.value(forKey: "local") == 1)
      }
      #expect(try await cache.value(forKey: "loaded") { 5 } == 5)
      #expect(await remoteError { try await cache.set(2, forKey: "local") } != nil)
      // Whether that was stored is unknown, so nothing local says that it was not.
      #expect(cache.memoryCache.peek(forKey: "local") == nil)
      redis.go()
      await until { (try? await cache.set(3, forKey: "local")) != nil }
      await until { (try? await cache.value(forKey: "local")) == 3 }
    }

    @Test func aServerThatIsKilledUnderLoadIsDoneWithoutAndComesBack() async throws {
      let first = try RedisServer()
      var server = first.patient
      server.openFor = .milliseconds(100)
      let machine = try Machine(server)
      let cache = machine.cache
      let isOver = Locked(false)
      let reads = Locked(0)
      let load = Task {
        var random = SeededGenerator(seed: 5)
        while !isOver.withLock({ $0 }) {
          let number = Int.random(in: 0..<50, using: &random)
          // With a load no read ever fails.
          let value = try? await cache.value(forKey: "k\(number)") { number }
          #expect(value == number)
          reads.withLock { $0 += 1 }
          // What is in memory is found without suspending.
          await Task.yield()
        }
      }
      defer { isOver.withLock { $0 = true } }
      await until { reads.withLock { $0 } >= 500 }
      first.end()
      let then = reads.withLock { $0 }
      await until { reads.withLock { $0 } >= then + 500 }
      let second = try RedisServer(port: first.port)
      let other = try RemoteTier<String, Int>(
        name: "counts", server: second.patient, coder: .cbor, keyCoder: .string)
      try await until { try await other.entry(forKey: "k1")?.value == 1 }
      isOver.withLock { $0 = true }
      await load.value
    }

    /// From the call of a write on one machine until the other's memory is without the copy.
    @Test func anInvalidationIsQuick() async throws {
      let redis = try RedisServer()
      let (one, other) = (try Machine(redis.patient), try Machine(redis.patient))
      var times: [Duration] = []
      for round in 0..<200 {
        try await one.cache.set(round, forKey: "k")
        try await eventually(other.cache, "k", round)
        let start = ContinuousClock.now
        try await one.cache.set(round + 1, forKey: "k")
        while other.cache.memoryCache.peek(forKey: "k") == round { await Task.yield() }
        times.append(ContinuousClock.now - start)
      }
      times.sort()
      if ProcessInfo.processInfo.environment["LARDER_SHOW_TIMES"] != nil {
        print("invalidation: median \(times[100]), 99 % \(times[198])")
      }
    }
  }
#endif
