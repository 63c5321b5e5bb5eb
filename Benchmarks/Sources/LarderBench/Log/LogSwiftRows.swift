// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import LarderCore
import Synchronization

// The rows of `MessageLog`, as a Swift program uses it.
extension LogArea {
  static var appendRaw: Row {
    Row(
      id: "log.append.raw",
      ours: "MessageLog<Data>.append, coder .data, 100 B, 1 MiB overwriting ring, defaults",
      rival: Rival(
        name: "write(2)",
        settings: "one write(2) of 104 B a message over the bytes of a 1 MiB file, in turn"),
      goal: .ratio(0.15)
    ) { bench in
      let log = try rawLog(
        bench, capacity: smallCapacity, whenFull: .overwriteOldest)
      let file = try WrittenFile(bench.fresh("written"), message: payload)
      let count = 20_000
      let writes = 2_000
      return Contest(
        ours: {
          try append(payload, to: log, oneLap)
          return try bench.time(count, loop: .swift) { try append(payload, to: log, count) }
        },
        rival: {
          try file.append(count: writes, synced: false)
          return try bench.time(writes, loop: .c) { try file.append(count: writes, synced: false) }
        },
        close: { closeQuietly(log) })
    }
  }

  static var appendRawSQLite: Row {
    Row(
      id: "log.append.raw.sqlite",
      ours: "MessageLog<Data>.append, coder .data, 100 B, 1 MiB overwriting ring, defaults",
      rival: Rival(
        name: "SQLite insert",
        settings: """
          SQLite \(SQLiteRival.version), \(SQLiteSettings.text()), NOMUTEX; one prepared INSERT \
          and one transaction a message; the table is emptied between samples and its pages are \
          used again
          """,
        absence: SQLiteRival.absence),
      goal: .ratio(0.008)
    ) { bench in
      let log = try rawLog(
        bench, capacity: smallCapacity, whenFull: .overwriteOldest)
      let sqlite = try SQLiteRival(bench.fresh("sqlite.db"))
      let count = 20_000
      let inserts = 10_000  // Enough for a checkpoint of its log.
      return Contest(
        ours: {
          try append(payload, to: log, oneLap)
          return try bench.time(count, loop: .swift) { try append(payload, to: log, count) }
        },
        rival: {
          try sqlite.clear()
          return try bench.time(inserts, loop: .swift) {
            try sqlite.append(payload, count: inserts)
          }
        },
        close: { closeQuietly(log) })
    }
  }

  static var appendCodable: Row {
    Row(
      id: "log.append.codable",
      ours: """
        MessageLog<Event>.append with its default coder, a struct of five fields (id, level, text, \
        date, duration), 1 MiB overwriting ring
        """,
      rival: Rival(
        name: "JSONEncoder alone",
        settings: "one JSONEncoder with default settings, the same struct; nothing is stored"),
      goal: .ratio(0.25)
    ) { bench in
      let log = try MessageLog<Event>(
        at: .path(bench.fresh("ring")), capacity: smallCapacity,
        whenFull: .overwriteOldest)
      let encoder = JSONEncoder()
      let count = 400
      return Contest(
        ours: { try bench.time(count, loop: .swift) { try append(.sample, to: log, count) } },
        rival: {
          try bench.time(count, loop: .swift) { try encode(.sample, with: encoder, count) }
        },
        close: { closeQuietly(log) })
    }
  }

  static var appendPowerTasks: Row {
    Row(
      id: "log.append.power.1000tasks",
      ours: """
        1,000 tasks, MessageLog<Data>.append(durability: .power) with await, 100 B, once each, \
        1 MiB overwriting ring; wall time, a message
        """,
      rival: Rival(name: "ours, one task", settings: "the same messages by one task, in turn"),
      goal: .ratio(0.01)
    ) { bench in
      let log = try rawLog(
        bench, capacity: smallCapacity, whenFull: .overwriteOldest)
      let few = 20
      return Contest(
        ours: {
          try bench.time(1000, loop: .none) { try appendByTasks(log, tasks: 1000, each: 1) }
        },
        rival: { try bench.time(few, loop: .none) { try appendByTasks(log, tasks: 1, each: few) } },
        close: { closeQuietly(log) })
    }
  }

  /// Runs the tasks, and waits for them on a thread that runs none.
  private static func appendByTasks(_ log: MessageLog<Data>, tasks: Int, each: Int) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Task {
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<tasks {
            group.addTask {
              for _ in 0..<each { try await log.append(payload, durability: .power) }
            }
          }
          try await group.waitForAll()
        }
      } catch {
        failure.withLock { $0 = error }
      }
      done.signal()
    }
    done.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  static var readRaw: Row {
    read(
      id: "log.read.raw",
      ours: "log.forEachMessageBytes, in place",
      theirs: "in place (sqlite3_column_blob)",
      goal: .ratio(0.25), readOurs: readInPlace, readTheirs: { try $0.readInPlace() })
  }

  /// The same with a `Data` for each message on both sides, which is most of what it costs.
  static var readRawData: Row {
    read(
      id: "log.read.raw.data",
      ours: "for entry in log.entries, each made a Data",
      theirs: "each made a Data",
      goal: .ratio(0.6), readOurs: readAll, readTheirs: { try $0.readAll() })
  }

  private typealias Tally = (count: Int, bytes: Int)

  private static func read(
    id: String, ours: String, theirs: String, goal: Goal,
    readOurs: @escaping (MessageLog<Data>) throws -> Tally,
    readTheirs: @escaping (SQLiteRival) throws -> Tally
  ) -> Row {
    Row(
      id: id,
      ours: "\(ours): 100,000 of 100 B in a MessageLog<Data>, checksums verified",
      rival: Rival(
        name: "SQLite select",
        settings: """
          SQLite \(SQLiteRival.version), \(SQLiteSettings.text(mapsFile: true)), NOMUTEX, one \
          prepared SELECT over the same 100,000 blobs in order, \(theirs)
          """,
        absence: SQLiteRival.absence),
      goal: goal
    ) { bench in
      let count = 100_000
      let capacity = MessageLog<Data>.capacity(forMessages: count, ofSize: payload.count)
      let log = try rawLog(bench, capacity: capacity ?? 0, whenFull: .refuse)
      try append(payload, to: log, count)
      let sqlite = try SQLiteRival(bench.fresh("sqlite.db"), mapsFile: true)
      try sqlite.append(payload, count: count, oneTransaction: true)
      try sqlite.checkpoint()
      func expectAll(_ read: Tally) throws {
        guard read == (count, count * payload.count) else {
          throw Failure(description: "\(read.count) messages, \(read.bytes) bytes read")
        }
      }
      return Contest(
        ours: { try bench.time(count, loop: .swift) { try expectAll(readOurs(log)) } },
        rival: { try bench.time(count, loop: .swift) { try expectAll(readTheirs(sqlite)) } },
        close: { closeQuietly(log) })
    }
  }

  private static func rawLog(
    _ bench: Bench, capacity: DataSize, whenFull: OverflowPolicy
  ) throws -> MessageLog<Data> {
    try MessageLog(
      at: .path(bench.fresh("ring")), capacity: capacity,
      whenFull: whenFull, coder: .data)
  }

  /// The files are thrown away: how their last sync went does not matter.
  static func closeQuietly<Message>(_ log: MessageLog<Message>) { try? log.close() }
}

@inline(never)
private func append<Message>(_ message: Message, to log: MessageLog<Message>, _ count: Int) throws {
  for _ in 0..<count { try log.append(message) }
}

@inline(never)
private func encode(_ event: Event, with encoder: JSONEncoder, _ count: Int) throws {
  var bytes = 0
  for _ in 0..<count { bytes += try encoder.encode(event).count }
  precondition(bytes > 0 || count == 0)
}

@inline(never)
private func readAll(of log: MessageLog<Data>) throws -> (count: Int, bytes: Int) {
  var count = 0
  var total = 0
  for entry in log.entries {
    let message = try entry.message
    count += 1
    total += message.count
  }
  return (count, total)
}

private func readInPlace(of log: MessageLog<Data>) throws -> (count: Int, bytes: Int) {
  var count = 0
  var total = 0
  try log.forEachMessageBytes { _, bytes in
    count += 1
    total += bytes.count
  }
  return (count, total)
}
