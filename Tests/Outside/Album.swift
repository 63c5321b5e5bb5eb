// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// A cache of images beside a model of it.
final class Album {
  private struct Picture {
    /// Of the last write or removal that returned; 0 for none there.
    var version = 0
    /// Of the write that a kill interrupted; nil for none.
    var attempt: Int?
    var deadline = Double.infinity
    var use = 0

    var isThere: Bool { version > 0 }
  }

  private let cache: DiskCache<String, Data>
  private let limit: Int
  private let diary: Diary
  private var pictures = [Picture](repeating: Picture(), count: Images.addressCount)
  private var clock = 0
  private var lastVersion = 0
  /// Bytes.
  private(set) var written = 0
  private var (gets, sets) = (Latencies(), Latencies())
  private var (cost, disk, memory) = (Peak(), Peak(), Peak())

  /// Replays what was done to it before.
  init(_ cache: DiskCache<String, Data>, _ limit: Int, _ path: String) throws {
    (self.cache, self.limit) = (cache, limit)
    let lines = Diary.lines(path)
    diary = Diary(path)
    for line in lines {
      clock += 1
      lastVersion = max(lastVersion, line.version)
      if line.isDone {
        pictures[line.id].attempt = nil
        note(line.id, line.version)
      } else {
        pictures[line.id].attempt = line.version
      }
    }
    // Nobody can say when a process that is gone wrote what was to expire soon.
    for id in pictures.indices where Images.life(pictures[id].version).map({ $0 < 60 }) == true {
      pictures[id].deadline = 0
    }
  }

  private func note(_ id: Int, _ version: Int) {
    let deadline = Images.life(version).map { now() + $0 } ?? .infinity
    pictures[id] = Picture(version: version, deadline: deadline, use: clock)
  }

  /// Reads, and loads what is missing; stores something new; or removes something.
  func step(_ dice: inout Dice) throws {
    clock += 1
    // Half of the calls go to a tenth of the keys.
    let count = Images.addressCount
    let id = dice.oneIn(2) ? dice.below(count / 10) : dice.below(count)
    switch dice.below(100) {
    case 0..<60: if try !read(id) { try write(id) }
    case 60..<97: try write(id)
    default: try remove(id)
    }
    if clock % 500 == 0 { try watch() }
  }

  private func read(_ id: Int) throws -> Bool {
    let before = now()
    let data = try gets.time { try cache.value(forKey: Images.address(id)) }
    guard let data else { return false }
    check(data, id)
    let late = before - pictures[id].deadline
    expect(
      late < lateness || !pictures[id].deadline.isNormal, "An expired value is never returned",
      "key \(id) was, \(Int(late * 1000)) ms late")
    pictures[id].use = clock
    return true
  }

  private func check(_ data: Data, _ id: Int) {
    let (stamp, picture) = (Stamp(data), pictures[id])
    if let attempt = picture.attempt, stamp == Stamp(id: id, version: attempt) {
      note(id, attempt)
    }
    expect(
      stamp == Stamp(id: id, version: pictures[id].version), "A read returns what was stored",
      "key \(id) has \(data.count) bytes of \(stamp.map { "\($0)" } ?? "nothing whole"), and "
        + "version \(picture.version) was stored")
    pictures[id].attempt = nil
  }

  private func write(_ id: Int) throws {
    lastVersion += 1
    let version = lastVersion
    let data = Stamp(id: id, version: version).bytes(count: Images.size(id, version))
    let expiration = Images.life(version).map { Expiration.seconds($0) }
    try diary.around(id, version) {
      try sets.time {
        try cache.set(data, forKey: Images.address(id), expiration: expiration)
      }
    }
    note(id, version)
    written += data.count
  }

  private func remove(_ id: Int) throws {
    try diary.around(id, 0) { try cache.remove(forKey: Images.address(id)) }
    pictures[id] = Picture()
  }

  // MARK: - Promises

  private func watch() throws {
    cost.see(try cache.size.bytes)
    let used = Machine.disk(cache.path)
    disk.see(used.total - used.index)
    memory.see(Machine.resident)
    try Self.checkLimits(cache, limit, "day")
  }

  /// All that is there is right, and all that was used lately is there: within so much of the
  /// limit. A kill loses reads, so then it is less.
  func checkAll(_ moment: String, share: Double) throws {
    try cache.checkpoint()
    var there = Set<Int>()
    for id in pictures.indices {
      guard let data = try cache.peek(forKey: Images.address(id)) else { continue }
      there.insert(id)
      check(data, id)
    }
    checkOrder(there, moment, Int(Double(limit) * share))
    for id in pictures.indices where !there.contains(id) { pictures[id] = Picture() }
    let cost = try cache.size.bytes
    expect(
      cost <= limit, "flush() evicts what exceeds a limit", "\(moment): \(cost) of \(limit)")
    Self.checkMemory(cache.path, memory, limit, "day")
  }

  /// An LRU of the same limit has everything whose last use has less than the limit behind it.
  /// Less than that is asked for, because a checkpoint evicts by the reads that it knows of.
  private func checkOrder(_ there: Set<Int>, _ moment: String, _ bytes: Int) {
    let recent = pictures.indices.filter { pictures[$0].isThere }
      .sorted { pictures[$0].use > pictures[$1].use }
    var (sum, missing, count) = (0, 0, 0)
    for id in recent where sum < bytes {
      sum += Images.size(id, pictures[id].version)
      if pictures[id].deadline < now() + 5 || pictures[id].attempt != nil { continue }
      count += 1
      if !there.contains(id) { missing += 1 }
    }
    expect(
      missing * 100 <= count, "The least recently used is evicted first",
      "\(moment): of the \(count) used last, of \(megabytes(bytes)), \(missing) are gone")
  }

  /// A limit may be exceeded until the next checkpoint, but not by much.
  static func checkLimits(
    _ cache: DiskCache<String, Data>, _ limit: Int, _ what: String
  ) throws {
    let cost = try cache.size.bytes
    expect(
      cost <= limit + max(limit / 10, 32 << 20), "The cost stays near its limit",
      "\(what): \(megabytes(cost)) at a limit of \(megabytes(limit))")
    var disk = Machine.disk(cache.path)
    // Where what a small cost may be exceeded by is more than the limit, that counts.
    let most = max(limit, limit < 256 << 20 ? limit + (32 << 20) : 0)
    // While much is written on a busy machine: what may wait, 4 MiB and a segment come on top.
    let waiting = max(limit / 10, 32 << 20) + (4 << 20) + max(limit / 64, 1 << 20)
    // Each record has a key of up to 200 bytes and 75 of its own.
    let records = try cache.count * 275
    let written = (limit + records) / 10 * 12 + waiting
    let log = max((most + records) / 10 * 13, written)
    // Who is stopped in the middle of a read keeps what is evicted until it goes on: eight segments
    // were, for 50 ms, beside eight busy processes.
    for _ in 0..<500 where disk.total > log + disk.index {
      usleep(20_000)
      disk = Machine.disk(cache.path)
    }
    expect(
      disk.total <= log + disk.index,
      "The disk that is taken stays near the limit",
      "\(what): \(megabytes(disk.total)), \(megabytes(disk.index)) of it index, at a limit of "
        + megabytes(limit))
  }

  /// After a checkpoint, and with nothing kept that was read.
  static func checkMemory(_ folder: String, _ peak: Peak, _ limit: Int, _ what: String) {
    let deleted = Machine.deletedBytes(below: folder)
    expect(
      deleted == 0, "Deleted files are not kept mapped",
      "\(what): \(megabytes(deleted)) of them are")
    checkResident(peak, limit, what)
  }

  /// The documentation's 128 MiB of a checkpoint, and as much for the program.
  static func checkResident(_ peak: Peak, _ limit: Int, _ what: String) {
    expect(
      peak.most <= limit / 2 * 3 + (256 << 20), "Memory stays near the limits",
      "\(what): \(megabytes(peak.most)) are resident at limits of \(megabytes(limit))")
  }

  func sayFigures(_ what: String) {
    say("\(what): reads \(gets.figures)")
    say("\(what): writes \(sets.figures)")
    say(
      "\(what): most cost \(megabytes(cost.most)), log \(megabytes(disk.most)), "
        + "resident \(megabytes(memory.most)) at a limit of \(megabytes(limit))")
  }

  func close() throws { try cache.close() }
}
