// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// Answers of a server: 200,000 keys that live for seconds, eight tasks, a loader that fails.
enum Requests {
  static let program = Program(
    name: "api", summary: "a cache of answers, eight tasks, short lives, a failing loader",
    run: run)

  private struct Refused: Error {}

  private static let keyCount = 200_000

  private static func key(_ id: Int) -> String { "GET /v2/users/\(id)?fields=name,email,avatar" }

  /// What the tasks counted, all together.
  private struct Counts {
    var reads: UInt64 = 0
    var loads: UInt64 = 0
    var refused: UInt64 = 0
    var hits = 0
    var late = 0.0
    var (found, loaded, set) = (Latencies(), Latencies(), Latencies())

    mutating func add(_ other: Counts) {
      reads += other.reads
      loads += other.loads
      refused += other.refused
      hits += other.hits
      late = max(late, other.late)
      found.add(other.found)
      loaded.add(other.loaded)
      set.add(other.set)
    }
  }

  private static func run(_ session: Session) async throws {
    var configuration = CacheConfiguration<String, Data>()
    configuration.memory.countLimit = 20_000
    let folder = session.path("answers")
    let cache = try Cache<String, Data>(at: .path(folder), configuration: configuration)
    let deadline = session.deadline(share: 0.8)
    let counts = try await withThrowingTaskGroup(of: Counts.self) { group in
      for task in 0..<8 {
        let dice = session.dice("task \(task)")
        group.addTask { try await work(cache, dice, deadline) }
      }
      return try await group.reduce(into: Counts()) { $0.add($1) }
    }
    try judge(cache, counts, folder)
    try await cache.close()
    try reopened(session, folder)
  }

  private static func work(
    _ cache: Cache<String, Data>, _ seeded: Dice, _ deadline: Deadline
  ) async throws -> Counts {
    var (dice, counts) = (seeded, Counts())
    while !deadline.isOver {
      for _ in 0..<50 {
        // Half of the requests ask for a hundredth of the keys.
        let id = dice.oneIn(2) ? dice.below(keyCount / 100) : dice.below(keyCount)
        switch dice.below(100) {
        case 0..<60: try await request(cache, id, &dice, &counts)
        case 60..<85: try await look(cache, id, &counts)
        case 85..<97: try await store(cache, id, &dice, &counts)
        case 97: try await cache.diskCache?.remove(prefix: "GET /v2/users/\(id)/")
        default: try await cache.remove(forKey: key(id))
        }
      }
    }
    return counts
  }

  /// When an answer expires: in one to three seconds, in microseconds since 1970. That is its
  /// version, too, so that each reader knows.
  private static func ending(_ dice: inout Dice) -> (version: Int, expiration: Expiration) {
    let version = Int(now() * 1e6) + dice.between(1_000_000, 3_000_000)
    return (version, .date(Date(timeIntervalSince1970: Double(version) / 1e6)))
  }

  private static func answer(_ id: Int, _ version: Int) -> Data {
    Stamp(id: id, version: version).bytes(count: 100 + version % 900)
  }

  private static func request(
    _ cache: Cache<String, Data>, _ id: Int, _ dice: inout Dice, _ counts: inout Counts
  ) async throws {
    let (version, expiration) = ending(&dice)
    let fails = dice.oneIn(50)
    let loads = Mutex(0)
    counts.reads += 1
    let before = now()
    do {
      let data = try await counts.loaded.time {
        try await cache.value(forKey: key(id), expiration: expiration) {
          loads.withLock { $0 += 1 }
          if fails { throw Refused() }
          return answer(id, version)
        }
      }
      check(data, id, before, &counts)
    } catch is Refused {
      counts.refused += 1
    }
    counts.loads += UInt64(loads.withLock { $0 })
  }

  private static func look(
    _ cache: Cache<String, Data>, _ id: Int, _ counts: inout Counts
  ) async throws {
    counts.reads += 1
    let before = now()
    let data = try await counts.found.time { try await cache.value(forKey: key(id)) }
    if let data {
      counts.hits += 1
      check(data, id, before, &counts)
    }
  }

  private static func store(
    _ cache: Cache<String, Data>, _ id: Int, _ dice: inout Dice, _ counts: inout Counts
  ) async throws {
    let (version, expiration) = ending(&dice)
    try await counts.set.time {
      try await cache.set(answer(id, version), forKey: key(id), expiration: expiration)
    }
  }

  /// The clock is read before the call, so that a slow machine makes nothing late.
  private static func check(_ data: Data, _ id: Int, _ before: Double, _ counts: inout Counts) {
    guard let stamp = Stamp(data), stamp.id == id else {
      return broken(
        "A read returns a whole value that was stored under its key", "key \(id) has others")
    }
    let late = before - Double(stamp.version) / 1e6
    counts.late = max(counts.late, late)
    expect(
      late < lateness, "An expired value is never returned",
      "key \(id) was, \(String(format: "%.1f", late * 1000)) ms late")
  }

  private static func judge(
    _ cache: Cache<String, Data>, _ counts: Counts, _ folder: String
  ) throws {
    let (statistics, memory) = (cache.statistics, cache.statistics.memory)
    say("api: value \(counts.found.figures)")
    say("api: value or load \(counts.loaded.figures)")
    say("api: set \(counts.set.figures)")
    let disk = Machine.disk(folder)
    let (resident, descriptors) = (Machine.resident, Machine.descriptors)
    say(
      "api: \(counts.loads) loads, \(counts.refused) calls refused; disk "
        + "\(megabytes(disk.total)), resident \(megabytes(resident)), \(descriptors) descriptors")
    let added = "Statistics add up"
    expect(
      memory.hits + memory.misses == counts.reads, added,
      "\(memory.hits) hits and \(memory.misses) misses of \(counts.reads) reads")
    expect(
      statistics.loads == counts.loads, added,
      "\(statistics.loads) loads, and \(counts.loads) were made")
    expect(
      statistics.loadFailures <= counts.refused, added,
      "\(statistics.loadFailures) failed loads made \(counts.refused) calls fail")
    let tier = statistics.tiers.first
    expect(
      (tier?.hits ?? 0) + (tier?.misses ?? 0) <= memory.misses, added,
      "disk had \(tier?.hits ?? 0) hits and \(tier?.misses ?? 0) misses of \(memory.misses)")
    expect(
      statistics.failures == 0 && statistics.writeFailures == 0, "Nothing fails on a good disk",
      "\(statistics.failures) calls of a tier, \(statistics.writeFailures) writes")
    expect(
      cache.memoryCache.count <= 20_000, "Limits of memory hold whenever a call returns",
      "\(cache.memoryCache.count) entries of 20,000")
    expect(
      resident < 512 << 20 && descriptors < 200, "What a cache takes is bounded",
      "\(megabytes(resident)), \(descriptors) descriptors")
  }

  /// Nothing but whole, current answers is there, and removing the expired leaves them alone.
  private static func reopened(_ session: Session, _ folder: String) throws {
    let cache = try Cache<String, Data>(at: .path(folder))
    var (counts, there) = (Counts(), 0)
    for id in 0..<keyCount where id % 100 == 0 || id < keyCount / 100 {
      let before = now()
      guard let data = try cache.value(forKey: key(id)) else { continue }
      check(data, id, before, &counts)
      there += 1
    }
    guard let disk = cache.diskCache else { return }
    let total = try disk.count
    let removed = try disk.removeExpired()
    let rest = try disk.count
    expect(
      rest == total - removed, "Statistics add up",
      "\(total) entries, \(removed) of them expired and removed, are \(rest)")
    say("api: after reopening \(total) entries, \(removed) of them expired; \(there) read")
    try cache.close()
  }
}
