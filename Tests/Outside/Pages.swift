// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Pages of three values each; snapshots of them that are kept while they change.
enum Pages {
  static let program = Program(
    name: "entries", summary: "entries of three values, with snapshots that are kept", run: run)

  private static let keyCount = 2_000

  private static func key(_ id: Int) -> String { "/articles/\(id)?lang=en" }

  /// One of the three values of a version.
  private static func value(_ id: Int, _ version: Int, _ index: Int) -> Data {
    let random = Int(Dice.mixed(id, version * 3 + index) >> 1)
    let size = [30, 800, 6_000][index] << (random % 5)
    return Stamp(id: id, version: version).bytes(count: size)
  }

  /// What is kept of an entry: the version of each value.
  private typealias Entry = [Int]

  private struct Counts {
    var (written, removed, hits, misses) = (0, 0, 0, 0)
  }

  private static func run(_ session: Session) throws {
    let folder = session.path("pages")
    var cache = try EntryCache<String>(at: .path(folder), valueCount: 3, version: 1)
    try beforeAnyCheckpoint(cache)
    try cache.close()
    cache = try EntryCache<String>(at: .path(folder), valueCount: 3, version: 1)
    let count = try cache.count
    expect(count == 70, "Counts are right", "\(count) of 70 after reopening")
    try cache.removeAll()
    try cache.close()
    cache = try EntryCache<String>(at: .path(folder), valueCount: 3, version: 1)
    try use(cache, session, folder)
    try cache.close()
  }

  /// 120 entries, 50 of which are removed: the figures are right at once.
  private static func beforeAnyCheckpoint(_ cache: EntryCache<String>) throws {
    func figures(_ moment: String, _ count: Int, _ removed: UInt64, _ ids: Range<Int>) throws {
      let statistics = try cache.statistics
      let bytes = ids.reduce(0) { sum, id in
        (0..<3).reduce(sum) { $0 + value(id, 1, $1).count }
      }
      let (found, size) = (try cache.count, try cache.size.bytes)
      expect(found == count, "Counts are right", "\(moment): \(found) of \(count)")
      expect(size == bytes, "Counts are right", "\(moment): \(size) of \(bytes) bytes")
      expect(
        statistics.written == 120 && statistics.removed == removed, "Statistics add up",
        "\(moment): \(statistics.written) written of 120, \(statistics.removed) removed of "
          + "\(removed)")
      expect(
        statistics.count == count, "Statistics add up",
        "\(moment): \(statistics.count) entries of \(count)")
    }
    for id in 0..<120 { try cache.setValues((0..<3).map { value(id, 1, $0) }, forKey: key(id)) }
    try figures("before a checkpoint", 120, 0, 0..<120)
    for id in 0..<50 {
      expect(try cache.remove(forKey: key(id)), "remove says whether there was one", "\(id)")
    }
    expect(try !cache.remove(forKey: key(0)), "remove says whether there was one", "0 twice")
    try figures("removed before a checkpoint", 70, 50, 50..<120)
    try cache.checkpoint()
    try figures("after a checkpoint", 70, 50, 50..<120)
  }

  private static func use(
    _ cache: EntryCache<String>, _ session: Session, _ folder: String
  ) throws {
    var (model, kept): ([Int: Entry], [(id: Int, entry: Entry, snapshot: EntrySnapshot)]) =
      ([:], [])
    var (dice, counts, version) = (session.dice("pages"), Counts(), 0)
    var (reads, writes, peak) = (Latencies(), Latencies(), Peak())
    let deadline = session.deadline(share: 0.8)
    while version < 5_000 || !deadline.isOver {
      let id = dice.below(keyCount)
      version += 1
      if dice.oneIn(2) {
        let snapshot = try reads.time { try cache.snapshot(forKey: key(id)) }
        if snapshot == nil { counts.misses += 1 } else { counts.hits += 1 }
        check(snapshot, id, model[id])
        if let snapshot, let entry = model[id], dice.oneIn(8) {
          kept.append((id, entry, snapshot))
        }
      } else {
        try writes.time { try change(cache, id, version, &dice, &model, &counts) }
      }
      if kept.count > 300 {
        // Of many rewrites before.
        let old = kept.remove(at: dice.below(100))
        check(old.snapshot, old.id, old.entry)
      }
      if version % 1_000 == 0 { peak.see(Machine.resident) }
    }
    say("entries: snapshots \(reads.figures)")
    say("entries: changes \(writes.figures)")
    try judge(cache, model, counts, folder, peak)
    try cache.close()
    for old in kept { check(old.snapshot, old.id, old.entry) }
  }

  private static func change(
    _ cache: EntryCache<String>, _ id: Int, _ version: Int, _ dice: inout Dice,
    _ model: inout [Int: Entry], _ counts: inout Counts
  ) throws {
    let (key, old) = (key(id), model[id])
    switch dice.below(10) {
    case 0..<4:
      try cache.setValues((0..<3).map { value(id, version, $0) }, forKey: key)
      model[id] = [version, version, version]
      counts.written += 1
    case 4..<7:
      guard let old else { return }
      let index = dice.below(3)
      try cache.update([index: value(id, version, index)], forKey: key)
      model[id] = old.enumerated().map { $0 == index ? version : $1 }
      counts.written += 1
    case 7..<9:
      guard let editor = try cache.edit(key) else {
        return broken("An edit begins unless there is another", "there is none of key \(id)")
      }
      for index in 0..<3 {
        let writer = try editor.writer(at: index)
        let bytes = value(id, version, index)
        try writer.write(bytes.prefix(bytes.count / 2))
        try writer.write(bytes.suffix(bytes.count - bytes.count / 2))
      }
      if dice.oneIn(4) {
        try editor.abort()
      } else {
        try editor.commit()
        model[id] = [version, version, version]
        counts.written += 1
      }
    default:
      let was = try cache.remove(forKey: key)
      expect(was == (old != nil), "remove says whether there was one", "\(was) of key \(id)")
      if was { counts.removed += 1 }
      model[id] = nil
    }
  }

  private static func check(_ snapshot: EntrySnapshot?, _ id: Int, _ entry: Entry?) {
    guard let snapshot, let entry else {
      return expect(
        (snapshot == nil) == (entry == nil), "A snapshot shows what was stored",
        "key \(id) is \(entry == nil ? "removed" : "stored")")
    }
    for index in 0..<3 {
      let data = try? snapshot.data(at: index)
      expect(
        data == value(id, entry[index], index), "A snapshot shows what was stored",
        "value \(index) of key \(id), of version \(entry[index]), is another")
    }
  }

  private static func judge(
    _ cache: EntryCache<String>, _ model: [Int: Entry], _ counts: Counts, _ folder: String,
    _ peak: Peak
  ) throws {
    let bytes = model.reduce(0) { sum, entry in
      (0..<3).reduce(sum) { $0 + value(entry.key, entry.value[$1], $1).count }
    }
    let (count, size, statistics) = (try cache.count, try cache.size.bytes, try cache.statistics)
    expect(count == model.count, "Counts are right", "\(count) of \(model.count)")
    expect(size == bytes, "Counts are right", "\(size) of \(bytes) bytes")
    expect(
      statistics.written == counts.written && statistics.removed == counts.removed,
      "Statistics add up",
      "\(statistics.written) written of \(counts.written), \(statistics.removed) removed of "
        + "\(counts.removed)")
    expect(
      statistics.hits == counts.hits && statistics.misses == counts.misses, "Statistics add up",
      "\(statistics.hits) hits of \(counts.hits), \(statistics.misses) misses of \(counts.misses)")
    expect(try cache.verify().isIntact, "A cache that nobody damaged is intact", "it is not")
    let disk = Machine.disk(folder)
    say(
      "entries: \(count) of \(megabytes(size)); disk \(megabytes(disk.total)), resident at most "
        + "\(megabytes(peak.most)), descriptors \(Machine.descriptors)")
    expect(
      disk.total < size * 2 + (640 << 20) && peak.most < size * 2 + (1 << 30),
      "What entries and kept snapshots take is bounded",
      "disk \(megabytes(disk.total)), memory \(megabytes(peak.most))")
  }
}
