// SPDX-License-Identifier: MIT
import CRivals
import Foundation

#if HAS_REMOTE
  import Larder
  import LarderCore

  // The rows of single reads and writes.
  extension RemoteArea {
    typealias Texts = Cache<String, Data>

    private static let keyCount = 10_000
    /// A sample takes a tenth of a second and more: the rival is a program that has to start.
    private static let effort = Effort(fewest: 9, most: 101, seconds: 12)
    private static let reads = 2000
    private static let payload = Payloads(size: 100)[0]
    /// As redis-benchmark makes them.
    private static let keys = (0..<keyCount).map { number in
      let digits = String(number)
      return String(repeating: "0", count: 12 - digits.count) + digits
    }

    static func cache(_ port: Int, _ configuration: Texts.Settings = .init()) throws -> Texts {
      try RedisProcess.cache(port, "bench", .data, .string, configuration)
    }

    static var get: Row {
      row(
        "get",
        """
        Cache<String, Data>.value(forKey:) async, memory over a server, 100 B; of 10,000 keys in \
        random order that only the server has; read, remaining life and tracking in one round trip
        """, rival: ["GET", "larder:bench:__rand_int__"], goal: .ratio(2)
      ) { cache, keys in
        cache.memoryCache.removeAll()
        return try wait {
          let start = rivals_now_ns()
          for key in keys {
            guard try await cache.value(forKey: key) != nil else { throw missing }
          }
          return rivals_now_ns() - start
        }
      }
    }

    static var getBlocking: Row {
      row(
        "get.blocking", "as remote.get, with the blocking value(forKey:)",
        rival: ["GET", "larder:bench:__rand_int__"], goal: .none
      ) { cache, keys in
        cache.memoryCache.removeAll()
        let start = rivals_now_ns()
        for key in keys {
          guard try cache.value(forKey: key) != nil else { throw missing }
        }
        return rivals_now_ns() - start
      }
    }

    static var set: Row {
      row(
        "set",
        """
        Cache<String, Data>.set async, memory over a server, write-through, 100 B; of 10,000 keys \
        in random order that are there
        """, rival: ["SET", "other:__rand_int__", String(repeating: "x", count: 118)], goal: .none
      ) { cache, keys in
        try wait {
          let start = rivals_now_ns()
          for key in keys { try await cache.set(payload, forKey: key) }
          return rivals_now_ns() - start
        }
      }
    }

    private static let missing = Failure(description: "a value is missing")

    private static func row(
      _ id: String, _ ours: String, rival command: [String], goal: Goal,
      _ sample: @escaping (Texts, ArraySlice<String>) throws -> UInt64
    ) -> Row {
      Row(
        id: "remote.\(id)", ours: ours,
        rival: Rival(
          name: "redis-benchmark -c 1",
          settings: """
            \(command[0]) of as many bytes and keys on the same server; its requests per second, \
            inverted
            """),
        goal: goal, effort: effort
      ) { bench in
        let redis = try bench.redis()
        let cache = try cache(redis.port)
        try cache.fill(keys.map { ($0, payload) })
        let order = Keys.shuffled(keys)
        var next = 0
        return Contest(
          ours: {
            let part = order[next..<next + reads]
            next = (next + reads) % order.count
            return Double(try sample(cache, part)) / Double(reads)
          },
          rival: { try redis.benchmark(command, count: 2 * reads, keys: keyCount) },
          close: { try? cache.close() })  // The server goes with it.
      }
    }

    static var near: Row {
      Row(
        id: "remote.near",
        ours: """
          Cache<Int, Int>.value(forKey:), memory over a server, 100,000 entries that are in \
          memory, in random order
          """,
        rival: Rival(
          name: "ours, no server",
          settings: """
            the same without a tier, entries expire in an hour as copies of a server's do
            """),
        goal: .ratio(1.1)
      ) { bench in
        let keys = Keys.integers(100_000)
        let cache = try RedisProcess.cache(
          bench.redis().port, "near", Coder<Int>.cbor, KeyCoder<Int>.standard)
        var configuration = CacheConfiguration<Int, Int>()
        configuration.expiration = .seconds(3600)
        let alone = Cache<Int, Int>(name: "alone", tiers: [], configuration: configuration)
        for cache in [cache, alone] { try cache.fill(keys.map { ($0, value(of: $0)) }) }
        let order = Keys.shuffled(keys)
        let ourRounds = Rounds(reading: order, size: DiskArea.piece)
        let theirRounds = Rounds(reading: order, size: DiskArea.piece)
        return Contest(
          ours: { try bench.read(ourRounds, in: cache) },
          rival: { try bench.read(theirRounds, in: alone) },
          close: { try? cache.close() })
      }
    }
  }

  extension Cache {
    typealias Settings = CacheConfiguration<Key, Value>
  }
#endif
