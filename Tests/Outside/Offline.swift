// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// Pages of an origin that is away at times, for an app that is to work without it: entity tags,
/// lives, and what may be shown when these are over, over restarts, beside a model.
enum Offline {
  static let program = Program(
    name: "offline", summary: "pages with entity tags, of an origin that is away at times",
    run: run)

  private static let (life, grace) = (100.0, 300.0)

  private struct Away: Error {}

  /// What a page is: its version, and since when that is known to be the newest.
  private struct Known {
    var version: Int
    var since: Double
    var hasTag: Bool
  }

  /// The clock, and the server; counts what it is asked for.
  private final class Origin: Sendable {
    private struct State {
      var now = 0.0
      var isAway = false
      var versions: [Int: Int] = [:]
      var asked: [OldValue<Data>?] = []
    }

    private let state = Mutex(State())

    var now: Double { state.withLock(\.now) }
    var isAway: Bool { state.withLock(\.isAway) }

    func version(_ page: Int) -> Int { state.withLock { $0.versions[page, default: 1] } }
    func changes(_ page: Int) { state.withLock { $0.versions[page, default: 1] += 1 } }
    func comesOrGoes() { state.withLock { $0.isAway.toggle() } }
    func passes(_ seconds: Double) { state.withLock { $0.now += seconds } }

    /// What it was asked since the last time.
    func asked() -> [OldValue<Data>?] {
      state.withLock { state in
        defer { state.asked = [] }
        return state.asked
      }
    }

    func load(_ page: Int, _ old: OldValue<Data>?) throws -> LoadedValue<Data> {
      let (version, isAway) = state.withLock { state in
        state.asked.append(old)
        return (state.versions[page, default: 1], state.isAway)
      }
      if isAway { throw Away() }
      let tag = Data("\"\(version)\"".utf8)
      if let old, old.extendedData == tag { return old.unchanged() }
      return LoadedValue(Offline.body(page, version), extendedData: tag)
    }
  }

  private static func body(_ page: Int, _ version: Int) -> Data {
    Stamp(id: page, version: version).bytes(count: 24 + (page * 131 + version * 7919) % 60_000)
  }

  private static func open(_ path: String, _ origin: Origin) throws -> Cache<Int, Data> {
    var configuration = CacheConfiguration<Int, Data>()
    configuration.memory.countLimit = 15
    configuration.memory.staleIfError = .seconds(grace)
    configuration.expiration = .seconds(life)
    configuration.keepsHotKeys = true
    configuration.clock = CacheClock(
      now: { .seconds(origin.now) },
      date: { Date(timeIntervalSince1970: 1_800_000_000 + origin.now) })
    return try Cache(at: .path(path), configuration: configuration)
  }

  private static func run(_ session: Session) async throws {
    try await Leaving.run(session)
    let origin = Origin()
    var dice = session.dice("offline")
    var cache: Cache? = try open(session.path("pages"), origin)
    var model: [Int: Known] = [:]
    var (reads, restarts) = (0, 0)
    let deadline = session.deadline(share: 0.9)
    while !deadline.isOver {
      let page = Int.random(in: 0..<40, using: &dice)
      switch Int.random(in: 0..<100, using: &dice) {
      case 0..<20: origin.passes(Double(Int.random(in: 0...30, using: &dice)) + 0.5)
      case 20..<30: origin.changes(page)
      case 30..<33: origin.comesOrGoes()
      case 33:
        try await cache?.remove(forKey: page)
        model[page] = nil
      case 34..<36:
        // Written by the app itself, without a tag.
        let version = Int.random(in: 1000..<2000, using: &dice)
        try await cache?.set(body(page, version), forKey: page)
        model[page] = Known(version: version, since: origin.now, hasTag: false)
      case 36..<38:
        // Closed, or only released: what was used with `await` can be opened again at once.
        if Bool.random(using: &dice) { try await cache?.close() }
        cache = nil
        cache = try open(session.path("pages"), origin)
        restarts += 1
      default:
        guard let cache else { continue }
        try await read(page, cache, origin, &model)
        reads += 1
      }
    }
    try await cache?.close()
    say("offline: \(reads) pages were read, over \(restarts) restarts")
  }

  private static func read(
    _ page: Int, _ cache: Cache<Int, Data>, _ origin: Origin, _ model: inout [Int: Known]
  ) async throws {
    let (known, isAway, newest) = (model[page], origin.isAway, origin.version(page))
    let age = known.map { origin.now - $0.since } ?? .infinity
    _ = origin.asked()
    var found: Data?
    do {
      found = try await cache.value(forKey: page) { old in
        // The page is asked for elsewhere.
        await Task.yield()
        return try origin.load(page, old)
      }
    } catch is Away {}
    let shown = found.flatMap { Stamp($0)?.version }
    let asked = origin.asked()
    let what = "page \(page) of age \(age), \(isAway ? "away" : "there"): \(shown ?? 0)"
    let isKept = age < life || (isAway && age < life + grace)
    let wanted = isKept ? known?.version : isAway ? nil : newest
    expect(shown == wanted, "A page is what it was told to be", "\(what), not \(wanted ?? 0)")
    expect(
      asked.count == (age < life ? 0 : 1), "A page is asked for when it is due, once",
      "\(what), asked \(asked.count) times")
    for old in asked {
      let version = age < life + grace ? known?.version : nil
      let hasTag = version != nil && known?.hasTag == true
      expect(
        old.flatMap { Stamp($0.value)?.version } == version
          && (old?.extendedData != nil) == hasTag,
        "A load is given the old page and its tag", what)
    }
    if age >= life, !isAway {
      model[page] = Known(version: newest, since: origin.now, hasTag: true)
    }
  }
}
