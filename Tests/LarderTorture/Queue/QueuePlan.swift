// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// How the lives of a case go: the same for the victim and for who kills it.
struct QueuePlan {
  static let workers = 8

  let orders: Orders
  /// How many jobs there are, and how often whoever does them is killed: of the environment, for a
  /// long run of one case, else drawn.
  let jobs: Int
  let kills: Int
  let maximumAttempts: Int
  private let window: Int
  private let removesDone: Bool

  init(_ orders: Orders) {
    self.orders = orders
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: 1)
    let environment = ProcessInfo.processInfo.environment
    kills = environment["LARDER_QUEUE_KILLS"].flatMap { Int($0) } ?? dice.between(2, 6)
    jobs = environment["LARDER_QUEUE_JOBS"].flatMap { Int($0) } ?? kills * dice.between(50, 400)
    maximumAttempts = dice.between(2, 5)
    window = dice.pick([8, 20, 100, 1024])
    removesDone = dice.oneIn(2)
  }

  /// How many jobs are done in a life, on average: after the last all but the rest.
  var stepsPerLife: Int { max(1, jobs / max(1, kills)) }

  private func url(_ name: String) -> URL { URL(fileURLWithPath: orders.folder + "/" + name) }

  var witness: String { url("witness").path }

  func openLog() throws -> MessageLog<String> {
    try MessageLog(
      at: .url(url("log.larder")), capacity: DataSize(bytes: jobs * 64 + 1 << 16),
      whenFull: .refuse,
      coder: .string)
  }

  func openDeadLetters() throws -> MessageLog<DeadLetter<String>> {
    try MessageLog(
      at: .url(url("dead.larder")), capacity: DataSize(bytes: jobs * 64 + 1 << 16),
      whenFull: .refuse,
      coder: .deadLetters(of: .string))
  }

  func openQueue(
    _ log: MessageLog<String>, _ deadLetters: MessageLog<DeadLetter<String>>
  ) throws -> LogQueue<String> {
    var configuration = LogQueueConfiguration<String>()
    configuration.window = window
    configuration.deadLetters = deadLetters
    configuration.maximumAttempts = maximumAttempts
    configuration.removesDone = removesDone
    return try log.queue(named: "torture", configuration: configuration)
  }

  /// A job that fails whoever does it.
  func fails(_ sequence: UInt64) -> Bool { sequence % 17 == 0 }

  /// One that goes well the second time.
  func failsFirst(_ sequence: UInt64) -> Bool { sequence % 5 == 0 }
}

/// What workers did, in a file that survives their process: a record of 16 bytes each.
struct QueueWitness {
  enum Event: UInt64 {
    /// A worker has the job.
    case received = 1
    /// Its acknowledgement returned.
    case acknowledged
    /// It is about to be given back.
    case released
  }

  struct Record {
    let event: Event
    let sequence: UInt64
    let attempts: Int
  }

  private let file: Int32

  init(_ path: String) throws {
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    if file < 0 { throw Broken("cannot open the witness") }
  }

  func note(_ event: Event, _ sequence: UInt64, attempts: Int) throws {
    let record = (sequence.littleEndian, (event.rawValue << 32 | UInt64(attempts)).littleEndian)
    let count = withUnsafeBytes(of: record) { write(file, $0.baseAddress, $0.count) }
    if count != 16 { throw Broken("cannot write to the witness") }
  }

  /// The records from an offset on.
  static func read(_ path: String, from offset: inout UInt64) throws -> [Record] {
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? handle.close() }  // It was only read.
    try handle.seek(toOffset: offset)
    let bytes = try handle.readToEnd() ?? Data()
    try expect(bytes.count % 16 == 0, "half a record in the witness")
    offset += UInt64(bytes.count)
    return try bytes.withUnsafeBytes { bytes in
      try stride(from: 0, to: bytes.count, by: 16).map { place in
        let word = bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self)
        guard let event = Event(rawValue: UInt64(littleEndian: word) >> 32) else {
          throw Broken("an unknown record in the witness")
        }
        let sequence = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        return Record(
          event: event, sequence: UInt64(littleEndian: sequence),
          attempts: Int(UInt64(littleEndian: word) & 0xFFFF_FFFF))
      }
    }
  }
}
