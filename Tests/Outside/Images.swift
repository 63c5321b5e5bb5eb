// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// A day of an image cache: addresses as keys, values of 2 to 300 KB, a limit, expirations.
enum Images {
  static let program = Program(
    name: "images", summary: "an image cache within limits, killed and reopened", run: run,
    child: child)

  /// Each part in a process of its own, so that its memory can be judged.
  private static func run(_ session: Session) throws {
    for part in ["day", "hot", "tiers", "kept"] { try session.start([part]).finish("images") }
  }

  private static func child(_ session: Session) throws {
    switch session.child[0] {
    case "day": try day(session)
    case "hot": try hotSet(session)
    case "tiers": try twoTiers(session)
    case "kept": try keptValues(session)
    default: try dayUntilKilled(session)
    }
  }

  static let addressCount = 30_000

  /// 60 to 200 bytes.
  static func address(_ id: Int) -> String {
    var address = "https://images.example.com/\(id)/"
    let count = 60 + Int(Dice.mixed(id, -1) % 141)
    var part = 0
    while address.utf8.count < count {
      address += String(Dice.mixed(id, part), radix: 36)
      part += 1
    }
    return String(address.prefix(count))
  }

  /// 2 to 300 KB, 25 KB in the mean.
  static func size(_ id: Int, _ version: Int) -> Int {
    let random = Dice.mixed(id, version)
    let octaves = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5]
    let octave = (random >> 8) % 64 == 0 ? 7 : octaves[Int(random % 16)]
    return min(300_000, (2_000 << octave) + Int(random >> 32) % (2_000 << octave))
  }

  /// How long a version lives, in seconds; nil for ever.
  static func life(_ version: Int) -> Double? {
    version % 20 == 0 ? 0.2 : version % 3 == 0 ? 3600 : nil
  }

  static func limited(_ bytes: Int) -> DiskCacheConfiguration<String, Data> {
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.sizeLimit = DataSize(bytes: bytes)
    return configuration
  }

  // MARK: - A day, with kills

  private static func day(_ session: Session) throws {
    let limit = session.isLong ? 512 << 20 : 256 << 20
    let (folder, diary) = (session.path("day"), session.path("day.diary"))
    var dice = session.dice("day")
    let deadline = session.deadline(share: 0.4)
    for kill in 0..<(session.isLong ? 20 : 2) where kill == 0 || !deadline.isOver {
      let child = try session.start(["day until killed", "\(kill)", "\(limit)"])
      let steps = dice.between(4, 16)
      for _ in 0..<steps where child.line() == nil { break }
      child.kill()
      child.wait()
      let album = try Album(
        DiskCache<String, Data>(at: .path(folder), configuration: limited(limit)), limit, diary)
      try album.checkAll("after kill \(kill)", share: 0.5)
      try album.close()
    }
    let album = try Album(
      DiskCache<String, Data>(at: .path(folder), configuration: limited(limit)), limit, diary)
    var steps = 0
    while album.written < 2 * limit || !deadline.isOver {
      try album.step(&dice)
      steps += 1
      if steps % 10_000 == 0 { try album.checkAll("after \(steps) steps", share: 0.8) }
    }
    try album.checkAll("at the end of the day", share: 0.8)
    album.sayFigures("day")
    try album.close()
  }

  /// Goes on with the day until it is killed.
  private static func dayUntilKilled(_ session: Session) throws {
    let limit = Int(session.child[2]) ?? 0
    let album = try Album(
      DiskCache<String, Data>(at: .path(session.path("day")), configuration: limited(limit)), limit,
      session.path("day.diary"))
    var dice = session.dice("child \(session.child[1])")
    while true {
      for _ in 0..<500 { try album.step(&dice) }
      say("500 steps")
    }
  }

  // MARK: - What is read often stays

  private static func hotSet(_ session: Session) throws {
    let limit = session.isLong ? 256 << 20 : 32 << 20
    let cache = try DiskCache<String, Data>(
      at: .path(session.path("hot")), configuration: limited(limit))
    var stream = Stream(limit: limit, hotCount: 300)
    try stream.fill { try cache.set($0.bytes(count: $1), forKey: address($0.id)) }
    try cache.checkpoint()
    let rate = Rate(perSecond: 20_000)
    let news = session.isLong ? 30_000 : 2_500
    var missed = 0
    for number in 0..<news {
      for read in 0..<20 {
        let id = (number * 20 + read) % stream.hotCount
        let data = try cache.value(forKey: address(id))
        if let data { stream.check(data, id) } else { missed += 1 }
      }
      try stream.next { try cache.set($0.bytes(count: $1), forKey: address($0.id)) }
      rate.wait(until: number * 20)
      if number % 256 == 0 { try Album.checkLimits(cache, limit, "hot set") }
    }
    try cache.checkpoint()
    let left = try (0..<stream.hotCount).filter { try cache.contains(address($0)) }.count
    let dropped = try cache.statistics.usesDropped
    say("hot set: \(left) of 300 left, \(missed) misses, \(dropped) uses dropped")
    expect(
      left == stream.hotCount && missed == 0, "What is read often is not evicted",
      "\(stream.hotCount - left) of 300 keys read in turn are gone, \(missed) reads missed")
    try cache.close()
  }

  // MARK: - Memory over it

  private static func twoTiers(_ session: Session) throws {
    let (limit, memory) = (session.isLong ? 512 << 20 : 128 << 20, 32 << 20)
    var configuration = CacheConfiguration<String, Data>()
    configuration.disk = limited(limit)
    configuration.memory.costLimit = memory
    configuration.memory.cost = { $1.count }
    let folder = session.path("tiers")
    var cache = try Cache<String, Data>(at: .path(folder), configuration: configuration)
    var stream = Stream(limit: limit, hotCount: 300)
    try stream.fill { try cache.set($0.bytes(count: $1), forKey: address($0.id)) }
    var (dice, peak) = (session.dice("tiers"), Peak())
    let deadline = session.deadline(share: 0.2)
    var written = 0
    while written < 3 * limit || !deadline.isOver {
      for _ in 0..<10 {
        let id = dice.below(stream.hotCount)
        if let data = try cache.value(forKey: address(id)) { stream.check(data, id) }
      }
      // A page of an older day, which the disk has, or not any more.
      let old = stream.hotCount + dice.below(stream.written.count - stream.hotCount)
      if let data = try cache.value(forKey: address(old)) { stream.check(data, old) }
      written += try stream.next { try cache.set($0.bytes(count: $1), forKey: address($0.id)) }
      guard stream.written.count % 256 == 0, let disk = cache.diskCache else { continue }
      try Album.checkLimits(disk, limit, "two tiers")
      peak.see(Machine.resident)
    }
    try cache.checkpoint()
    if let disk = cache.diskCache {
      try disk.checkpoint()
      let left = try (0..<stream.hotCount).filter { try disk.contains(address($0)) }.count
      let hits = cache.statistics.memory.hits
      expect(
        left == stream.hotCount, "What memory serves often is not evicted from disk",
        "\(stream.hotCount - left) of 300 are gone from disk; memory had \(hits) hits")
    }
    Album.checkMemory(folder, peak, limit + memory, "two tiers")
    let promotions = cache.statistics.promotions
    try cache.close()
    cache = try Cache<String, Data>(at: .path(folder), configuration: configuration)
    let left = try (0..<stream.hotCount).filter { try cache.contains(address($0)) }.count
    expect(
      left == stream.hotCount, "What memory serves often is there after reopening",
      "\(stream.hotCount - left) of 300 are gone")
    try cache.close()
    say(
      "two tiers: \(megabytes(written)) written, \(promotions) promotions, "
        + "\(left) of 300 left, resident \(megabytes(peak.most))")
  }

  // MARK: - A caller that keeps what it read

  private static func keptValues(_ session: Session) throws {
    let (limit, keptCount) = (64 << 20, 10_000)
    let folder = session.path("kept")
    let cache = try DiskCache<String, Data>(at: .path(folder), configuration: limited(limit))
    var (kept, bytes, peak) = ([Data](), 0, Peak())
    for id in 0..<keptCount {
      let data = Stamp(id: id, version: 1).bytes(count: 21_000)
      try cache.set(data, forKey: address(id))
      // Between those that are kept, others that nobody keeps.
      let other = Stamp(id: keptCount + id % 1_000, version: id)
      try cache.set(other.bytes(count: 100_000), forKey: address(other.id))
      if let value = try cache.value(forKey: address(id)) { kept.append(value) }
      bytes = kept.count * 21_000
      if id % 256 == 0 {
        try Album.checkLimits(cache, limit, "kept values")
        peak.see(Machine.resident)
      }
    }
    try cache.checkpoint()
    let wrong = kept.enumerated().filter { Stamp($1) != Stamp(id: $0, version: 1) }.count
    expect(
      wrong == 0 && kept.count == keptCount, "A value that is kept stays as it was",
      "\(wrong) of \(kept.count) are others now, of \(keptCount) that were written")
    let deleted = Machine.deletedBytes(below: folder)
    expect(
      deleted <= bytes, "Values that are kept keep no more than themselves",
      "\(megabytes(deleted)) of deleted files are mapped for \(megabytes(bytes)) of values")
    Album.checkResident(peak, limit + bytes, "kept values")
    say(
      "kept values: \(megabytes(bytes)) kept, \(megabytes(deleted)) of deleted files, "
        + "resident \(megabytes(peak.most)), descriptors \(Machine.descriptors)")
    try cache.close()
  }
}

/// Addresses that are new, one after the other, behind some that are read all the time.
private struct Stream {
  let limit: Int
  let hotCount: Int
  /// The size of each that was written.
  private(set) var written: [Int] = []

  init(limit: Int, hotCount: Int) { (self.limit, self.hotCount) = (limit, hotCount) }

  /// Writes until the cache is nearly full.
  mutating func fill(_ write: (Stamp, Int) throws -> Void) throws {
    var sum = 0
    while sum < limit / 10 * 9 { sum += try next(write) }
  }

  /// Writes the next one, and says how many bytes that were.
  @discardableResult
  mutating func next(_ write: (Stamp, Int) throws -> Void) throws -> Int {
    let id = written.count
    let size = Images.size(id, 1)
    try write(Stamp(id: id, version: 1), size)
    written.append(size)
    return size
  }

  func check(_ data: Data, _ id: Int) {
    expect(
      Stamp(data) == Stamp(id: id, version: 1), "A read returns what was stored",
      "\(data.count) bytes under key \(id) are not those")
  }
}

/// No more than so many of something in a second.
private struct Rate {
  let perSecond: Double
  private let start = ContinuousClock.now

  init(perSecond: Double) { self.perSecond = perSecond }

  func wait(until count: Int) {
    let ahead = start + .seconds(Double(count) / perSecond) - ContinuousClock.now
    if ahead > .zero { usleep(UInt32(clamping: Int64(ahead / .microseconds(1)))) }
  }
}
