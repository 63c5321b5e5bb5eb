// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// The sessions of a web site: each lives for a while after its last use, and is used far more
/// often than it changes. Beside them URLs that are longer than what the index keeps of a key.
enum Sessions {
  static let program = Program(
    name: "sessions", summary: "lives that reads prolong, and very long keys", run: run)

  private static func run(_ session: Session) throws {
    try prolong(session)
    try readAlone(session)
    try longKeys(session)
    try tooLarge(session)
  }

  /// Reads that memory answers, until the cache is closed: nothing but its disk is left of them.
  private static func prolong(_ session: Session) throws {
    let path = session.path("sessions")
    let life = Duration.seconds(4)
    let clock = ContinuousClock()
    var configuration = CacheConfiguration<String, String>()
    configuration.memory.countLimit = 1000
    let cache = try Cache(at: .path(path), configuration: configuration)
    for number in 0..<100 {
      try cache.set("user \(number)", forKey: "s\(number)", expiration: .afterAccess(life))
    }
    let start = clock.now
    var last = start
    while clock.now - start < life + .seconds(1) {
      last = clock.now
      for number in 0..<50 { _ = try cache.value(forKey: "s\(number)") }
      Thread.sleep(forTimeInterval: 0.1)
    }
    try cache.close()
    let again = try Cache(at: .path(path), configuration: configuration)
    let alive = try (0..<50).filter { try again.value(forKey: "s\($0)") != nil }.count
    // A machine that stood still says nothing.
    expect(
      alive == 50 || clock.now - last > life, "A read prolongs a life after access",
      "\(50 - alive) of 50 sessions that were read all the time are gone after closing")
    for number in 50..<100 {
      expect(
        try again.value(forKey: "s\(number)") == nil, "An expired value is never returned",
        "session \(number) was not read for \(clock.now - start), and lives \(life)")
    }
    try again.close()
  }

  /// A cache that nobody writes to any more tells its disk what is read.
  private static func readAlone(_ session: Session) throws {
    var configuration = DiskCacheConfiguration<Int, Data>()
    configuration.countLimit = 1000
    configuration.checkpointInterval = .milliseconds(100)
    let path = session.path("read")
    let cache = try DiskCache(at: .path(path), configuration: configuration)
    for key in 0..<1000 { try cache.set(Data([1]), forKey: key) }
    try cache.checkpoint()
    let before = try cache.statistics.checkpoints
    for key in 0..<100 { _ = try cache.value(forKey: key) }
    let deadline = Deadline(seconds: 30)
    while try cache.statistics.checkpoints == before, !deadline.isOver {
      Thread.sleep(forTimeInterval: 0.01)
    }
    // As after a kill: what a copy has is what is in the files.
    try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
    let copy = try DiskCache(at: .path(path + ".copy"), configuration: configuration)
    for key in 1000..<1900 { try copy.set(Data([2]), forKey: key) }
    try copy.checkpoint()
    let kept = try (0..<100).filter { try copy.contains($0) }.count
    expect(
      kept == 100, "Reads count without a write", "\(100 - kept) of 100 that were read went first")
    try copy.close()
    try cache.close()
  }

  private static func longKeys(_ session: Session) throws {
    var dice = session.dice("long keys")
    let cache = try DiskCache<String, Int>(at: .path(session.path("long")))
    let start = "https://example.org/" + String(repeating: "a/", count: 300)
    let keys = (100..<400).map { start + "\($0)" }
    for (number, key) in keys.enumerated() { try cache.set(number, forKey: key) }
    for round in 0..<20 {
      if round == 10 { try cache.checkpoint() }
      let bounds = [dice.below(300), dice.below(300)].sorted()
      let expected = Array(keys[bounds[0]..<bounds[1]])
      let found = try cache.keys(.range(keys[bounds[0]]..<keys[bounds[1]])).sorted()
      expect(
        found == expected, "A range has the keys between its bounds",
        "\(found.count) keys in place of \(expected.count)")
    }
    try cache.close()
  }

  private static func tooLarge(_ session: Session) throws {
    var configuration = DiskCacheConfiguration<Int, Data>()
    configuration.sizeLimit = 20_000_000
    let cache = try DiskCache(at: .path(session.path("large")), configuration: configuration)
    for key in 0..<150 { try cache.set(Data(count: 100_000), forKey: key) }
    try cache.set(Data(count: 25_000_000), forKey: 1000)
    try cache.checkpoint()
    let left = try cache.count
    expect(
      left == 150, "A value above the limit is evicted alone", "\(left) of 150 others are left")
    try cache.close()
  }
}
