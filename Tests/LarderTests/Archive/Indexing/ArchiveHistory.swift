// SPDX-License-Identifier: MIT

import Foundation
@testable import Larder
import LarderTestSupport
import Synchronization

/// A folder over the releases of a program that has it: one writes, another one reads meanwhile.
///
/// After each step every handle answers random queries by index and by scan; both have to say what
/// an array of the elements says, or why they cannot.
struct ArchiveHistory {
  /// Defects that the check has to find.
  enum Plant: CaseIterable, Sendable { case none, noSample, anySnapshot, noMarker }

  private struct Handle {
    let archive: Archive<ArchiveThing>
    let release: ArchiveRelease
  }

  private let directory: TemporaryDirectory
  private let plant: Plant
  private var generator: SeededGenerator
  /// Elements as they are stored.
  private var stored: [Int: Data] = [:]
  private var releases: [ArchiveRelease] = []
  private var path: String
  private var copies = 0
  private var writer: Handle?
  private var readers: [Handle] = []
  private(set) var log: [String] = []
  /// What did not hold.
  private(set) var failures: [String] = []
  private(set) var queriesByIndex = 0
  private(set) var refusals = 0

  init(seed: UInt64, _ plant: Plant = .none) throws {
    generator = SeededGenerator(seed: seed)
    self.plant = plant
    directory = try TemporaryDirectory()
    path = directory.file("archive-0").path
  }

  mutating func run(steps: Int) throws {
    releases = [.random(&generator)]
    try open(releases[0])
    for _ in 0..<steps where failures.isEmpty {
      try step()
      try check()
    }
  }

  private mutating func oneIn(_ count: UInt64) -> Bool { generator.next() % count == 0 }

  // MARK: - Steps

  private mutating func step() throws {
    switch generator.next() % 20 {
    case 0..<5: try write()
    case 5, 6: try delete()
    case 7, 8: try writer?.archive.checkpoint()
    case 9: try reindex()
    case 10, 11, 12: try read()
    case 13:
      log.append("killed")
      try leave()
      try open(releases[releases.count - 1])
    default: try change()
    }
  }

  private mutating func write() throws {
    guard let writer else { return }
    let things = (0..<Int(1 + generator.next() % 12)).map { _ in
      ArchiveThing(
        id: Int(generator.next() % 50), a: Int(generator.next() % 8),
        b: Int(generator.next() % 8), c: writer.release.c == nil ? 0 : Int(generator.next() % 8),
        adds: writer.release.adds)
    }
    log.append("write \(things.map(\.id))")
    try writer.archive.upsert(all: things)
    for thing in things { stored[thing.id] = try writer.release.coder.encode(thing) }
  }

  private mutating func delete() throws {
    guard let writer else { return }
    let ids = (0..<5).map { _ in Int(generator.next() % 50) }
    log.append("delete \(ids)")
    try writer.archive.delete(ids: ids)
    for id in ids { stored[id] = nil }
  }

  private mutating func reindex() throws {
    guard let writer else { return }
    let stops = oneIn(3)
    log.append(stops ? "reindex, stopped" : "reindex")
    do { try writer.archive.reindex { _, _ in !stops } } catch is CancellationError {}
  }

  /// Opens the folder for reading as some release.
  private mutating func read() throws {
    if readers.count == 3 { readers.removeFirst() }
    let release = releases[Int(generator.next() % UInt64(releases.count))]
    log.append("read as \(release)")
    let configuration = configuration(isReadOnly: true)
    guard let archive = try open(release, configuration) else { return }
    readers.append(Handle(archive: archive, release: release))
  }

  /// Goes on with another release, or an earlier one.
  private mutating func change() throws {
    var release = releases[Int(generator.next() % UInt64(releases.count))]
    if !oneIn(3) { release.change(&generator) }
    try writer?.archive.close()
    writer = nil
    releases.append(release)
    if oneIn(3) { try openAndKill(release) }
    if oneIn(4), releases.count > 1 { releases.append(releases[releases.count - 2]) }
    try open(releases[releases.count - 1])
  }

  // MARK: - Opening

  private mutating func configuration(isReadOnly: Bool) -> ArchiveConfiguration {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    // Some ten elements are a batch.
    configuration.journalCapacity = 64 << 10
    configuration.isReadOnly = isReadOnly
    configuration.undecodable = oneIn(2) ? .skip : .fail
    configuration.memorySizeLimit = oneIn(2) ? 0 : 1.megabytes
    if plant == .noSample { configuration.sampleCount = 0 }
    return configuration
  }

  private mutating func open(_ release: ArchiveRelease) throws {
    log.append("open as \(release)")
    let configuration = configuration(isReadOnly: false)
    writer = try open(release, configuration).map { Handle(archive: $0, release: release) }
  }

  /// nil if the folder was refused, and had to be.
  private mutating func open(
    _ release: ArchiveRelease, _ configuration: ArchiveConfiguration
  ) throws -> Archive<ArchiveThing>? {
    do {
      return try Archive(
        at: .path(path), coder: release.coder, indexes: release.declared,
        configuration: configuration)
    } catch let error as LarderError where error.code == .configurationMismatch {
      let isForeign = !stored.isEmpty && decoded(release).isEmpty
      expect(isForeign && configuration.undecodable == .fail, "refused: \(error)")
      refusals += 1
      return nil
    }
  }

  /// Opens with a release, and dies on the way.
  private mutating func openAndKill(_ release: ArchiveRelease) throws {
    var configuration = configuration(isReadOnly: false)
    configuration.undecodable = .skip
    let copy = nextPath()
    let (from, calls) = (path, Locked(Int(generator.next() % 4)))
    configuration.openingProgress = { _, _ in
      calls.withLock { calls in
        calls -= 1
        if calls >= 0 { return true }
        // As a kill leaves it.
        try? FileManager.default.copyItem(atPath: from, toPath: copy)
        return false
      }
    }
    do {
      _ = try Archive(
        at: .path(path), coder: release.coder, indexes: release.declared,
        configuration: configuration)
    } catch is CancellationError {
      log.append("killed while opening as \(release)")
      move(to: copy)
    }
  }

  /// Goes on with what a kill of the writer leaves.
  private mutating func leave() throws {
    let copy = nextPath()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    writer = nil
    move(to: copy)
  }

  private mutating func nextPath() -> String {
    copies += 1
    return directory.file("archive-\(copies)").path
  }

  private mutating func move(to copy: String) {
    readers = []
    path = copy
  }

  // MARK: - Checks

  private func decoded(_ release: ArchiveRelease) -> [ArchiveThing] {
    stored.sorted { $0.key < $1.key }.compactMap { try? release.thing($0.value) }
  }

  private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { failures.append(what()) }
  }

  private mutating func check() throws {
    for handle in [writer].compactMap(\.self) + readers {
      switch plant {
      case .anySnapshot where handle.archive.isReadOnly:
        handle.archive.store.indexFormat.store(0, ordering: .relaxed)
      case .noMarker: handle.archive.indexState.haveUnindexed.store(false, ordering: .relaxed)
      default: break
      }
      let things = decoded(handle.release)
      for _ in 0..<6 { try ask(handle, things) }
    }
    guard let writer else { return }
    expect(try writer.archive.ids() == stored.keys.sorted(), "ids")
    if oneIn(3) {
      let report = try writer.archive.verify()
      expect(report.isIntact && report.differing + report.unindexed == 0, "\(report)")
      expect(report.undecodable == stored.count - decoded(writer.release).count, "\(report)")
    }
  }

  /// One random query of these things.
  private mutating func ask(_ handle: Handle, _ things: [ArchiveThing]) throws {
    let name = ["a", "b", "c", "sum"][Int(generator.next() % 4)]
    let property = ArchiveThing.keyPath(name)
    let lower = Int(generator.next() % 12) - 2
    let upper = lower + Int(generator.next() % 6)
    let isSorted = oneIn(2)
    // Without a sort an index has an order of its own, and a limit leaves out others.
    let limit = isSorted && oneIn(3) ? Int(generator.next() % 5) : 100
    func inOrder(_ things: [ArchiveThing]) -> [ArchiveThing] {
      isSorted ? things : things.sorted { $0.id < $1.id }
    }
    let isFiltered = !isSorted || oneIn(2)

    var query = handle.archive.query
    if isFiltered { query = query.find(name, lower, upper) }
    if isSorted { query = query.sorted(by: property) }
    query = query.limit(limit)
    // Behind a limit no index is used.
    var scan = handle.archive.limit(.max)
    if isFiltered {
      scan = scan.filter { (lower...upper).contains($0[keyPath: property]) }
    }
    if isSorted { scan = scan.sorted(by: property) }
    scan = scan.limit(limit)
    var expected = things
    if isFiltered { expected = expected.filter { (lower...upper).contains($0[keyPath: property]) } }
    if isSorted {
      expected = expected.enumerated().sorted {
        ($0.element[keyPath: property], $0.offset) < ($1.element[keyPath: property], $1.offset)
      }.map(\.element)
    }
    expected = Array(expected.prefix(limit))

    let isWhole = stored.count == things.count
    let what = """
      \(handle.archive.isReadOnly ? "reader" : "writer") \(handle.release), \
      \(name) \(isFiltered ? "\(lower)...\(upper)" : "all")\(isSorted ? " sorted" : "") \(limit)
      """
    if let plan = try? query.explain(), plan.index != nil { queriesByIndex += 1 }
    for (way, query) in [("by index", query), ("by scan", scan)] {
      do {
        let found = inOrder(try query.results())
        expect(found == expected, "\(what) \(way): \(found.map(\.id)), not \(expected.map(\.id))")
        let last = try query.last()
        let isLast = isSorted ? last == expected.last : (last == nil) == expected.isEmpty
        expect(isLast, "\(what) \(way): last")
        // Without filters no element is looked at to count them.
        let count = try query.count()
        expect(!isWhole && !isFiltered || count == expected.count, "\(what) \(way): count")
        let pages = inOrder(try query.allPages(of: 3).flatMap(\.self))
        expect(pages == expected, "\(what) \(way): pages")
      } catch let error as LarderError where error.code == .decoding {
        expect(!isWhole && handle.archive.undecodable == .fail, "\(what) \(way): \(error)")
        expect(error.message.contains("primary key"), "\(error)")
      }
    }
  }
}

extension ArchiveQuery<ArchiveThing> {
  fileprivate func find(_ name: String, _ lower: Int, _ upper: Int) -> ArchiveQuery {
    self.where { thing in
      switch name {
      case "a": thing.a.within(lower...upper)
      case "b": thing.b.within(lower...upper)
      case "c": thing.c.within(lower...upper)
      default: thing.sum.within(lower...upper)
      }
    }
  }

  fileprivate func allPages(of size: Int) throws -> [[ArchiveThing]] {
    var pages = pages(of: size)
    var all: [[ArchiveThing]] = []
    while let page = try pages.next() { all.append(page) }
    return all
  }
}
