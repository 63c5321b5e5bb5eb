// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// An archive with four indexes: queries beside updates, in this and another process.
enum Library {
  static let program = Program(
    name: "archive", summary: "elements with four indexes, queries beside updates", run: run,
    child: child)

  struct Track: Codable, Identifiable, Sendable, Equatable {
    var id: Int
    var version: Int
    var title: String
    var year: Int
    var rating: Double
    var genre: String?
    var plays: Int

    /// All that is in it follows from these two.
    init(_ id: Int, _ version: Int) {
      let random = Int(Dice.mixed(id, version) >> 1)
      (self.id, self.version) = (id, version)
      title = "\(["Ballad", "Étude", "Fugue", "Rondo", "Waltz"][random % 5]) \(random % 9973)"
      year = 1700 + random / 5 % 320
      rating = Double(random / 7 % 1000) / 100
      genre = random % 10 == 0 ? nil : "genre \(random / 11 % 40)"
      plays = random / 13 % 5000
    }
  }

  static let indexes = [
    ArchiveIndex<Track>("title", \.title), ArchiveIndex("year", \.year),
    ArchiveIndex("rating", \.rating), ArchiveIndex("genre", \.genre),
  ]

  /// Those of a fourth are never changed.
  static func isSettled(_ id: Int) -> Bool { id % 4 == 0 }

  private static func run(_ session: Session) throws {
    let folder = session.path("tracks")
    let count = session.isLong ? 100_000 : 30_000
    let archive = try Archive<Track>(at: .path(folder), indexes: indexes)
    let model = TrackModel(count: count)
    var inserting = Latencies()
    for start in stride(from: 0, to: count, by: 10_000) {
      let tracks = model.tracks(start..<start + 10_000)
      try inserting.time { try archive.upsert(all: tracks) }
    }
    say("archive: 10,000 elements inserted: \(inserting.figures)")
    let reader = try session.start(["\(count)"])
    expect(reader.line() == "open", "Another process reads meanwhile", "it does not")
    try together(archive, model, session, "four indexes")
    try archive.close()
    // The rest of the time is with an index more, which the reader knows nothing of.
    let more = indexes + [ArchiveIndex("plays", \.plays)]
    var opening = Latencies()
    let again = try opening.time { try Archive<Track>(at: .path(folder), indexes: more) }
    say("archive: opened with another index: \(opening.figures)")
    try together(again, model, session, "five indexes")
    try checkAll(again, model)
    reader.finish("archive: another process")
    let disk = Machine.disk(folder)
    let (resident, descriptors) = (Machine.resident, Machine.descriptors)
    say(
      "archive: disk \(megabytes(disk.total)), \(megabytes(disk.index)) of it index; resident "
        + "\(megabytes(resident)), \(descriptors) descriptors")
    expect(
      resident < 1 << 30 && descriptors < 200, "What an archive takes is bounded",
      "\(megabytes(resident)), \(descriptors) descriptors")
    try again.close()
  }

  /// Queries beside a thread that updates.
  private static func together(
    _ archive: Archive<Track>, _ model: TrackModel, _ session: Session, _ what: String
  ) throws {
    let updates = Updates(archive, model, session.dice("updates \(what)"))
    var (dice, latencies) = (session.dice("queries \(what)"), Latencies())
    let deadline = session.deadline(share: 0.25)
    repeat {
      let question = Question(&dice)
      let before = model.state
      let found = try latencies.time { try question.ask(archive) }
      question.check(found, before, model.state)
    } while !deadline.isOver
    say("archive: \(what): queries beside \(updates.end()) updates: \(latencies.figures)")
  }

  /// Without updates beside it.
  private static func checkAll(_ archive: Archive<Track>, _ model: TrackModel) throws {
    let state = model.state
    let expected = state.tracks.compactMap { $0 }
    expect(
      try archive.elements() == expected, "An archive holds what was recorded",
      "\(expected.count) elements should be there")
    let count = try archive.count
    expect(count == expected.count, "Counts are right", "\(count) of \(expected.count)")
    let report = try archive.verify()
    expect(report.isIntact, "An archive that nobody damaged is intact", "\(report)")
  }

  /// Reads until it is told to end.
  private static func child(_ session: Session) throws {
    var configuration = ArchiveConfiguration()
    configuration.isReadOnly = true
    let archive = try Archive<Track>(
      at: .path(session.path("tracks")), indexes: indexes, configuration: configuration)
    say("open")
    let model = TrackModel(count: Int(session.child[0]) ?? 0, onlySettled: true)
    var (dice, latencies) = (session.dice("reader"), Latencies())
    while Child.order(milliseconds: 0) == nil {
      let question = Question(&dice)
      do {
        let found = try latencies.time { try question.ask(archive) }
        question.check(found, model.state, model.state, onlySettled: true)
      } catch let error as LarderError where error.code == .busy {
        // The writer overtook it: it has to be asked again.
      }
    }
    say("queries \(latencies.figures)")
    try archive.close()
  }
}

/// What was recorded.
final class TrackModel: Sendable {
  struct State {
    /// Those whose recording returned; nil for those deleted.
    var tracks: [Library.Track?]
    /// How often each was changed, the change that is under way included.
    var begun: [Int]
    /// And without it.
    var done: [Int]
  }

  private let current: Mutex<State>

  init(count: Int, onlySettled: Bool = false) {
    let tracks = (0..<count).map { id in
      onlySettled && !Library.isSettled(id) ? nil : Library.Track(id, 0)
    }
    let zeros = [Int](repeating: 0, count: count)
    current = Mutex(State(tracks: tracks, begun: zeros, done: zeros))
  }

  var state: State { current.withLock { $0 } }

  func tracks(_ ids: Range<Int>) -> [Library.Track] {
    current.withLock { $0.tracks[ids].compactMap { $0 } }
  }

  /// Notes the next change of each before and after it is made.
  func change(_ ids: [Int], _ body: ([Library.Track]) throws -> Void, deletes: Bool) rethrows {
    let versions = current.withLock { state in
      ids.map { id in
        state.begun[id] += 1
        return state.begun[id]
      }
    }
    let tracks = zip(ids, versions).map { Library.Track($0, $1) }
    try body(tracks)
    current.withLock { state in
      for track in tracks {
        state.done[track.id] = track.version
        state.tracks[track.id] = deletes ? nil : track
      }
    }
  }
}

/// A thread that records and deletes until it is told to end.
private final class Updates: Sendable {
  private let isOver = Atomic(false)
  private let count = Atomic(0)
  private let ended = DispatchSemaphore(value: 0)

  init(_ archive: Archive<Library.Track>, _ model: TrackModel, _ seeded: Dice) {
    let total = model.state.tracks.count
    Thread.detachNewThread { [self] in
      var dice = seeded
      while !isOver.load(ordering: .relaxed) {
        do {
          try Self.step(archive, model, total, &dice)
          count.add(1, ordering: .relaxed)
        } catch {
          broken("Updates succeed beside queries", "\(error)")
        }
      }
      ended.signal()
    }
  }

  private static func step(
    _ archive: Archive<Library.Track>, _ model: TrackModel, _ total: Int, _ dice: inout Dice
  ) throws {
    func changing() -> Int { dice.below(total / 4) * 4 + dice.between(1, 3) }
    let id = changing()
    switch dice.below(10) {
    case 0: try model.change([id], { _ in try archive.delete(id: id) }, deletes: true)
    case 1:
      let ids = Set((0..<20).map { _ in changing() }).sorted()
      try model.change(ids, { try archive.upsert(all: $0) }, deletes: false)
    default: try model.change([id], { try archive.upsert($0[0]) }, deletes: false)
    }
  }

  /// How many there were.
  func end() -> Int {
    isOver.store(true, ordering: .relaxed)
    ended.wait()
    return count.load(ordering: .relaxed)
  }
}
