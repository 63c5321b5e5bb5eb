// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// A cache that other processes mirror by its changes, some of which are killed, and begin again
/// where their files say.
enum Mirror {
  static let program = Program(
    name: "mirror", summary: "changes followed by other processes, with kills", run: run,
    child: child)

  /// What a follower keeps, in one piece.
  private struct Kept: Codable {
    var token: ChangeToken
    var values: [Int: String]
  }

  private static func configuration(isReadOnly: Bool) -> DiskCacheConfiguration<Int, String> {
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.isReadOnly = isReadOnly
    configuration.checkpointInterval = .milliseconds(20)
    return configuration
  }

  private static func run(_ session: Session) throws {
    let path = session.path("cache")
    let cache = try DiskCache(at: .path(path), configuration: configuration(isReadOnly: false))
    var dice = session.dice("writer")
    var expected: [Int: String] = [:]
    let names = (0..<3).map { "follower \($0)" }
    // What they may lag is kept for them, also for those that are not there yet.
    for name in names { _ = try cache.changes(named: name) }
    var followers = try names.map { try session.start([path, $0]) }
    let deadline = session.deadline(share: 0.7)
    var version = 0
    while !deadline.isOver {
      for _ in 0..<200 {
        version += 1
        try write(cache, &expected, &dice, version)
      }
      let which = dice.below(8)
      guard which < followers.count else { continue }
      followers[which].kill()
      followers[which].wait()
      followers[which] = try session.start([path, names[which]])
    }
    try cache.set("the end", forKey: -1, durability: .power)
    expected[-1] = "the end"
    for (name, follower) in zip(names, followers) {
      follower.finish(name)
      let kept = load(path + "." + name)?.values ?? [:]
      expect(
        kept == expected, "A follower has what was written",
        "\(name): \(kept.count) entries in place of \(expected.count)")
    }
    say("mirror: \(version) writes")
    try cache.close()
  }

  private static func write(
    _ cache: DiskCache<Int, String>, _ expected: inout [Int: String], _ dice: inout Dice,
    _ version: Int
  ) throws {
    let key = dice.below(500)
    if dice.oneIn(2000) {
      try cache.removeAll()
      expected = [:]
    } else if dice.oneIn(5) {
      try cache.remove(forKey: key)
      expected[key] = nil
    } else {
      let value = String(repeating: "\(version) ", count: dice.below(60))
      try cache.set(value, forKey: key)
      expected[key] = value
    }
  }

  private static func load(_ file: String) -> Kept? {
    FileManager.default.contents(atPath: file).flatMap {
      try? JSONDecoder().decode(Kept.self, from: $0)
    }
  }

  private static func child(_ session: Session) throws {
    let (path, name) = (session.child[0], session.child[1])
    let cache = try DiskCache(at: .path(path), configuration: configuration(isReadOnly: true))
    let file = path + "." + name
    // One that was killed before it kept anything begins with what is there.
    var kept = try load(file) ?? snapshot(cache)
    let feed = try cache.changes(since: kept.token, named: name)
    while kept.values[-1] == nil {
      guard var event = try feed.next(timeout: .seconds(30)) else {
        return broken("A follower is told of each write", "\(name): nothing for 30 seconds")
      }
      var told = 0
      while true {
        try take(event, &kept, cache, name)
        told += 1
        guard told < 500, let next = try feed.next(timeout: .zero) else { break }
        event = next
      }
      try JSONEncoder().encode(kept).write(to: URL(fileURLWithPath: file), options: .atomic)
      try feed.acknowledge(kept.token)
    }
  }

  private static func take(
    _ event: ChangeFeed<DiskCacheChange<Int, String>>.Element, _ kept: inout Kept,
    _ cache: DiskCache<Int, String>, _ name: String
  ) throws {
    // What it had not acknowledged is told again.
    if event.version <= kept.token.version { return }
    guard case .changes(let changes) = event.kind else {
      broken("A named cursor keeps what it needs", "\(name) was told \(event.kind)")
      kept = try snapshot(cache)
      return
    }
    expect(
      event.version == kept.token.version + 1, "Each write is told, in order",
      "\(event.version) behind \(kept.token.version)")
    for change in changes { apply(change, &kept.values) }
    kept.token = event.token
  }

  private static func snapshot(_ cache: DiskCache<Int, String>) throws -> Kept {
    var values: [Int: String] = [:]
    let token = try cache.changeLog.snapshot { apply($0, &values) }
    return Kept(token: token, values: values)
  }

  private static func apply(_ change: DiskCacheChange<Int, String>, _ values: inout [Int: String]) {
    switch change {
    case .put(let key, let value): values[key] = value
    case .removed(let key): values[key] = nil
    case .removedAll: values = [:]
    }
  }
}
