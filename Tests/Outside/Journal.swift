// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Synchronization

/// A log with slow followers, in this and other processes, that is resized under load.
enum Journal {
  static let program = Program(
    name: "log", summary: "a log, resized under load, and slow followers", run: run,
    child: child)

  static let honest = "A follower gets every message, or is told how many it missed"

  private static func run(_ session: Session) async throws {
    let file = session.url("app.larder")
    let sizes = [2 << 20, 512 << 10, 4 << 20, 1 << 20]
    let written = Written()
    let watchers = try (0..<2).map { try session.start(["\($0)"]) }
    let deadline = session.deadline(share: 0.5)
    var (round, known) = (0, [Tally](repeating: Tally(), count: 3))
    var latencies = Latencies()
    while round < sizes.count || !deadline.isOver {
      let size = sizes[round % sizes.count]
      var configuration = MessageLogConfiguration()
      configuration.onMismatch = .adapt
      let log = try MessageLog(
        at: .url(file), capacity: DataSize(bytes: size), whenFull: .overwriteOldest, coder: .data,
        configuration: configuration)
      let statistics = try log.statistics
      expect(
        statistics.capacity == size, "A log that adapts has the size that was asked for",
        "\(statistics.capacity) of \(size)")
      written.checkAll(log, "after reopening with \(size) bytes")
      watchers.forEach { $0.tell("reopen") }
      let part = Deadline(seconds: session.seconds * 0.5 / Double(sizes.count))
      (known, latencies) = try await load(log, written, known, latencies, session, round, part)
      try await log.close()
      round += 1
    }
    say("log: append \(latencies.figures)")
    try ended(file, written, known, watchers)
  }

  /// Four tasks append, and three follow, each slower than the one before.
  private static func load(
    _ log: MessageLog<Data>, _ written: Written, _ known: [Tally], _ before: Latencies,
    _ session: Session, _ round: Int, _ deadline: Deadline
  ) async throws -> ([Tally], Latencies) {
    let followers = known.enumerated().map { number, tally in
      Task { try await follow(log, tally, written, pause: number) }
    }
    let appenders = (0..<4).map { writer in
      let dice = session.dice("appender \(writer) of \(round)")
      return Task { try await append(log, written, writer, dice, deadline) }
    }
    var latencies = before
    for appender in appenders { latencies.add(try await appender.value) }
    // Whoever follows ends when it has seen this, which nothing overwrites.
    written.note(try log.append(Written.end), Written.end)
    var tallies: [Tally] = []
    for follower in followers { tallies.append(try await follower.value) }
    checkFigures(log, tallies)
    return (tallies, latencies)
  }

  private static func append(
    _ log: MessageLog<Data>, _ written: Written, _ writer: Int, _ seeded: Dice,
    _ deadline: Deadline
  ) async throws -> Latencies {
    var (dice, latencies) = (seeded, Latencies())
    while !deadline.isOver {
      for _ in 0..<dice.between(1, 100) {
        let message = Stamp(id: writer, version: written.next(writer))
          .bytes(count: 24 + dice.below(dice.oneIn(50) ? 20_000 : 300))
        let sequence = try latencies.time { try log.append(message) }
        written.note(sequence, message)
      }
      await Task.yield()
    }
    return latencies
  }

  /// Reads until the last message of this round.
  private static func follow(
    _ log: MessageLog<Data>, _ tally: Tally, _ written: Written, pause: Int
  ) async throws -> Tally {
    var tally = tally
    for try await entry in try log.follow(from: .after(tally.last)) {
      let message = tally.take(entry)
      if let message { written.check(entry.sequence, message) }
      // Slow is who has something else to do between two messages.
      for _ in 0..<pause * 40 { await Task.yield() }
      if message == Written.end { break }
    }
    return tally
  }

  private static func checkFigures(_ log: MessageLog<Data>, _ tallies: [Tally]) {
    guard let statistics = try? log.statistics else { return }
    let parts =
      UInt64(statistics.count) + statistics.overwritten + statistics.removed + statistics.lost
      + statistics.skipped
    expect(
      parts == statistics.nextSequence - 1, "What became of all messages adds up",
      "\(parts) of \(statistics.nextSequence - 1)")
    expect(statistics.lost == 0, "Nothing is lost without damage", "\(statistics.lost) are")
    for tally in tallies {
      expect(
        tally.last == statistics.newestSequence, "A follower gets the newest message",
        "\(tally.last), and there are \(statistics.nextSequence - 1)")
    }
  }

  private static func ended(
    _ file: URL, _ written: Written, _ known: [Tally], _ watchers: [Child]
  ) throws {
    let count = written.count
    for (number, watcher) in watchers.enumerated() {
      watcher.tell("end \(count)")
      watcher.finish("log: process \(number)")
    }
    let rates = known.map { "\($0.received) read and \($0.lost) missed" }
    say(
      "log: \(count) messages; \(rates.joined(separator: ", ")); resident "
        + "\(megabytes(Machine.resident)), descriptors \(Machine.descriptors)")
    let log = try MessageLog(readingFrom: .url(file), coder: .data)
    written.checkAll(log, "at the end")
    let report = try log.verify()
    expect(report.isIntact, "A log that nobody damaged is intact", "\(report)")
    expect(Machine.descriptors < 100, "Descriptors are given back", "\(Machine.descriptors)")
  }

  // MARK: - Another process

  /// Follows the log until it is told that there is another file, and then that one.
  private static func child(_ session: Session) async throws {
    let pause = (Int(session.child[0]) ?? 0) * 40
    var tally = Tally()
    var order = Child.order(milliseconds: -1)
    while order == "reopen" {
      let log = try MessageLog(readingFrom: .url(session.url("app.larder")), coder: .data)
      for try await entry in try log.follow(from: .after(tally.last)) {
        let message = tally.take(entry)
        if let message, message != Written.end, Stamp(message) == nil {
          broken("A message is read as it was appended", "number \(entry.sequence) is not whole")
        }
        for _ in 0..<pause { await Task.yield() }
        if message == Written.end { break }
      }
      order = Child.order(milliseconds: -1)
    }
    say("\(tally.received) read, \(tally.lost) missed")
    expect(
      order == "end \(tally.last)", "A follower gets the newest message",
      "\(order ?? "none") of another process, which has seen \(tally.last)")
  }
}

/// What one reader got.
private struct Tally {
  var (received, lost, last): (UInt64, UInt64, UInt64) = (0, 0, 0)
  /// The number of the newest message of each appender.
  private var newest = [Int: Int]()

  /// The message, if it is one. Nothing is skipped without a word, and nothing comes twice.
  mutating func take(_ entry: LogEntry<Data>) -> Data? {
    expect(
      entry.sequence == last + entry.lost + 1, Journal.honest,
      "number \(entry.sequence) comes after \(last), and \(entry.lost) are said to be missing")
    (received, lost, last) = (received + 1, lost + entry.lost, entry.sequence)
    do {
      let message = try entry.message
      if let stamp = Stamp(message) {
        expect(
          stamp.version > newest[stamp.id, default: 0], "Messages of one thread keep their order",
          "\(stamp.version) of \(stamp.id) comes after \(newest[stamp.id, default: 0])")
        newest[stamp.id] = stamp.version
      }
      return message
    } catch {
      broken("A message is read as it was appended", "number \(entry.sequence): \(error)")
      return nil
    }
  }
}

/// Every message, under the number that it got.
private final class Written: Sendable {
  static let end = Data("end".utf8)

  private struct State {
    /// As a hash: there are many. 0 is not known yet.
    var hashes: [UInt64] = [0]
    var counts = [0, 0, 0, 0]
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.hashes.count - 1 } }

  /// The version of an appender's next message.
  func next(_ writer: Int) -> Int {
    state.withLock { state in
      state.counts[writer] += 1
      return state.counts[writer]
    }
  }

  /// Of what makes a message: all else follows from the head, as `Stamp` has it.
  private static func hash(_ message: Data) -> UInt64 {
    guard let stamp = Stamp(message) else { return message == end ? 1 : 2 }
    return Dice.mixed(stamp.id, stamp.version) ^ UInt64(message.count) | 4
  }

  func note(_ sequence: UInt64, _ message: Data) {
    let (hash, place) = (Self.hash(message), Int(sequence))
    state.withLock { state in
      while state.hashes.count <= place { state.hashes.append(0) }
      expect(
        state.hashes[place] == 0, "A number is never used again", "\(sequence) is")
      state.hashes[place] = hash
    }
  }

  /// A message may be read before its appender has noted it.
  func check(_ sequence: UInt64, _ message: Data) {
    let known = state.withLock { state in
      state.hashes.indices.contains(Int(sequence)) ? state.hashes[Int(sequence)] : 0
    }
    expect(
      known == 0 || known == Self.hash(message), "A message is read as it was appended",
      "number \(sequence) is another")
  }

  /// What is left of the log is its newest part, without a hole.
  func checkAll(_ log: MessageLog<Data>, _ moment: String) {
    var (previous, newest) = (UInt64(0), UInt64(count))
    for entry in log.entries {
      expect(
        previous == 0 || entry.sequence == previous + 1, "A log that is resized has no holes",
        "\(moment): \(entry.sequence) comes after \(previous)")
      previous = entry.sequence
      if let message = try? entry.message { check(entry.sequence, message) }
    }
    if newest == 0 { newest = previous }
    expect(
      previous == newest, "The newest messages are kept", "\(moment): \(previous) of \(newest)")
  }
}
