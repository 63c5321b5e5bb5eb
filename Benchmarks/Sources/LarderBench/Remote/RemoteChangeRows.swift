// SPDX-License-Identifier: MIT
import CRivals
import Foundation

#if HAS_REMOTE
  import Larder
  import LarderCore
  import LarderRemote
  import Synchronization

  /// Another process with a copy of a server's entry, which says when it has it and when it drops
  /// it.
  enum RemoteWatcher {
    static let key = "watched"
    private static let option = "--remote-watcher"

    static func arguments(_ port: Int) -> [String] { [option, "\(port)"] }

    /// Does what a command line asks for that has these arguments; returns for any other.
    static func runAsChild(_ arguments: [String]) throws {
      guard arguments.count == 3, arguments[1] == option, let port = Int(arguments[2]) else {
        return
      }
      let dropped = DispatchSemaphore(value: 0)
      var configuration = RemoteArea.Texts.Settings()
      configuration.memory.onRemoval = { _ in
        Watcher.say()
        dropped.signal()
      }
      let cache = try RemoteArea.cache(port, configuration)
      while true {
        // What is read while the change is still being heard is not kept.
        while cache.memoryCache.peek(forKey: key) == nil { _ = try cache.value(forKey: key) }
        Watcher.say()
        dropped.wait()
      }
    }
  }

  // The rows of what others change.
  extension RemoteArea {
    static var invalidation: Row {
      Row(
        id: "remote.invalidation",
        ours: """
          Cache.set of 100 B, until another process has dropped its copy from memory; medians of 11
          """, rival: nil, goal: .nanoseconds(5_000_000)
      ) { bench in
        let port = try bench.redis().port
        let writer = try cache(port)
        let payload = Payloads(size: 100)[0]
        try writer.set(payload, forKey: RemoteWatcher.key)
        let watcher = try Watcher(arguments: RemoteWatcher.arguments(port))
        var all: [Double] = []
        return Contest(
          ours: {
            let times = try (0..<11).map { number in
              // When it began to watch it said so; later it has read the new value.
              if !all.isEmpty || number > 0 { _ = try watcher.time() }
              // So long that all sleep again.
              usleep(300)
              let start = rivals_now_ns()
              try wait { try await writer.set(payload, forKey: RemoteWatcher.key) }
              return Double(try watcher.time() - start)
            }
            all += times
            return median(times)
          },
          remarks: {
            all.sort()
            let last = all[min(all.count - 1, all.count * 99 / 100)]
            return ["99th percentile of \(all.count): \(significant(last / 1000)) µs"]
          },
          close: { try? writer.close() })
      }
    }

    static var burst: [Row] {
      [
        burst("", "memory, over a disk that has them, too", isOverDisk: true),
        burst(".memory", "memory", isOverDisk: false),
      ]
    }

    private static func burst(_ id: String, _ place: String, isOverDisk: Bool) -> Row {
      Row(
        id: "remote.invalidation.burst\(id)",
        ours: """
          one UNLINK of 10,000 keys by others, until a Cache has dropped its copies of all of them \
          from \(place): of all, not of one
          """, rival: nil, goal: .nanoseconds(100_000_000),
        effort: Effort(fewest: 9, most: 51, seconds: 8)
      ) { bench in
        let port = try bench.redis().port
        let disk = isOverDisk ? [try DiskArea.integers(bench.freshFolder("burst"))] : []
        let cache = try RedisProcess.cache(
          port, "burst", Coder<Int>.cbor, KeyCoder<Int>.standard, over: disk)
        let other = try RedisConnection(RedisProcess.server(port))
        let keys = Keys.integers(10_000)
        let names = try keys.map {
          Array("larder:burst:".utf8) + (try KeyCoder<Int>.standard.encode($0))
        }
        let unlink = RemoteCommand("UNLINK", names)
        return Contest(
          ours: {
            try cache.fill(keys.map { ($0, 1) })
            let start = rivals_now_ns()
            _ = try wait { try await other.send([unlink], key: nil, patience: nil) }
            while try !cache.memoryCache.isEmpty || cache.diskCache?.isEmpty == false {
              usleep(100)
            }
            return Double(rivals_now_ns() - start)
          },
          close: {
            try? cache.close()
            try? wait { await other.close() }
          })
      }
    }

    static var loadOnce: Row {
      Row(
        id: "remote.load.once",
        ours: """
          Cache.value(forKey:orLoad:) async of a key that nobody has, by eight caches with \
          connections of their own at once, until all have the value, which one of them has loaded
          """, rival: nil, goal: .none
      ) { bench in
        let port = try bench.redis().port
        let caches = try (0..<8).map { _ in try cache(port) }
        let payload = Payloads(size: 100)[0]
        var next = 0
        return Contest(
          ours: {
            let keys = (next..<next + 20).map { "load \($0)" }
            next += keys.count
            let loads = Count()
            let time = try wait {
              let start = rivals_now_ns()
              for key in keys {
                try await withThrowingTaskGroup { group in
                  for cache in caches {
                    group.addTask {
                      _ = try await cache.value(forKey: key) {
                        loads.number.add(1, ordering: .relaxed)
                        return payload
                      }
                    }
                  }
                  try await group.waitForAll()
                }
              }
              return rivals_now_ns() - start
            }
            let number = loads.number.load(ordering: .relaxed)
            guard number == keys.count else {
              throw Failure(description: "\(number) loads of \(keys.count) keys")
            }
            return Double(time) / Double(keys.count)
          },
          close: { for cache in caches { try? cache.close() } })
      }
    }

    private final class Count: Sendable {
      let number = Atomic(0)
    }
  }
#endif
