// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

@testable import LarderCore

/// A defect that a shipper, or a sink, could have.
enum ShippingPlant: CaseIterable {
  /// What was not appended yet is acknowledged.
  case earlyAcknowledgement
  /// The sink appends whatever comes.
  case unconditional
  /// It goes on behind what was acknowledged, not behind what the sink has.
  case resumesFromConsumer
  /// Nobody hears of gaps.
  case silentGaps
}

/// Stands between a shipper and its sink, and behaves as if one of them had the defect.
struct PlantedSink: LogSink {
  let sink: ReferenceSink
  let consumer: LogConsumer<Data>
  let plant: ShippingPlant?

  func lastSequence() async throws -> UInt64? {
    let last = try await sink.lastSequence()
    guard plant == .resumesFromConsumer else { return last }
    return try consumer.acknowledged == 0 ? nil : consumer.acknowledged
  }

  func append(_ batch: LogBatch, after last: UInt64?) async throws {
    switch plant {
    case .earlyAcknowledgement:
      if let end = batch.records.last { try consumer.acknowledge(through: end.sequence) }
      try await sink.append(batch, after: last)
    case .unconditional, .resumesFromConsumer:
      try await sink.append(batch, after: last, isConditional: false)
    case .silentGaps:
      var rest = LogBatch()
      for record in batch.records {
        if case .message = record { rest.append(record) }
      }
      try await sink.append(rest, after: last)
    case nil: try await sink.append(batch, after: last)
    }
  }
}

/// A log that is written, shipped, overwritten or cleaned up, killed and opened again, at random;
/// and what has to hold of the sink after each record.
final class ShippingModel {
  /// What a sink was found to have, that it must not.
  private final class Findings: Sendable {
    let first = Locked<String?>(nil)
    let last = Locked<UInt64>(0)

    func note(_ text: String) { first.withLock { $0 = $0 ?? text } }
  }

  static let kept = 40
  private let directory: TemporaryDirectory
  private let refuses: Bool
  private let plant: ShippingPlant?
  private let random: Locked<SeededGenerator>
  private let findings = Findings()
  private let sink: ReferenceSink
  private let log: Locked<MessageLog<Data>>
  private var shipper: LogShipper<Data>
  private let task = Locked<Task<Void, any Error>?>(nil)

  init(seed: UInt64, refuses: Bool, plant: ShippingPlant? = nil) throws {
    directory = try TemporaryDirectory()
    self.refuses = refuses
    self.plant = plant
    random = Locked(SeededGenerator(seed: seed))
    let log = Locked(try Self.open(directory, refuses))
    self.log = log
    let (findings, refuses) = (findings, refuses)
    sink = ReferenceSink { record in
      Self.judge(record, log.withLock { $0 }, refuses, findings)
    }
    shipper = try Self.shipper(log.withLock { $0 }, sink, plant)
  }

  private static func open(
    _ directory: TemporaryDirectory, _ refuses: Bool
  ) throws -> MessageLog<Data> {
    var configuration = MessageLogConfiguration(syncInterval: nil)
    configuration.keepsTimes = true
    let bytes = MessageLog<Data>.capacity(forMessages: kept, ofSize: 24, keepsTimes: true)
    return try MessageLog(
      at: .url(directory.file("log")), capacity: bytes ?? 0,
      whenFull: refuses ? .refuse : .overwriteOldest, coder: .data, configuration: configuration)
  }

  private static func shipper(
    _ log: MessageLog<Data>, _ sink: ReferenceSink, _ plant: ShippingPlant?
  ) throws -> LogShipper<Data> {
    var configuration = LogShipperConfiguration()
    configuration.maximumBatchCount = 7
    configuration.maximumBatchBytes = 100
    configuration.timeout = nil
    configuration.clock = CacheClock(
      now: { .zero }, date: { Date() }, sleep: { _ in try Task.checkCancellation() })
    let planted = PlantedSink(
      sink: sink, consumer: try log.consumer(named: "shipper"), plant: plant)
    return try LogShipper(log, consumer: "shipper", sink: planted, configuration: configuration)
  }

  /// What message a number has.
  private static func message(_ sequence: UInt64) -> Data {
    var random = SeededGenerator(seed: 0)
    for _ in 0..<sequence % 5 { _ = random.next() }
    return Data("\(sequence) ".utf8) + random.bytes(Int(sequence % 17))
  }

  /// A record arrives at the sink.
  private static func judge(
    _ record: LogBatch.Record, _ log: MessageLog<Data>, _ refuses: Bool, _ findings: Findings
  ) {
    let last = findings.last.withLock { last in
      defer { last = max(last, record.sequence) }
      return last
    }
    switch record {
    case .message(let message):
      if message.sequence != last + 1 { findings.note("\(message.sequence) came after \(last)") }
      if message.bytes != Self.message(message.sequence) {
        findings.note("\(message.sequence) has other bytes")
      }
      if message.time == nil { findings.note("\(message.sequence) has no time") }
    case .gap(let numbers):
      if numbers.lowerBound != last + 1 { findings.note("gap \(numbers) came after \(last)") }
      if refuses { findings.note("gap \(numbers) in a log that loses nothing") }
      let oldest = (try? log.statistics.oldestSequence) ?? .max
      if numbers.upperBound >= oldest { findings.note("gap \(numbers), but \(oldest) is there") }
    }
  }

  // MARK: - Running

  /// - Returns: What was wrong; nil if nothing was.
  func run(operations: Int) async throws -> String? {
    await sink.fail(faults())
    for _ in 0..<operations {
      try await step(random.withLock { Int.random(in: 0..<100, using: &$0) })
      if let finding = findings.first.withLock({ $0 }) { return finding }
    }
    await sink.fail(nil)
    await sink.arrive(isConditional: plant != .unconditional)
    try await shipper.shipAll()
    let newest = try log.withLock { try $0.statistics.nextSequence - 1 }
    let last = findings.last.withLock { $0 }
    if last != newest { findings.note("\(last) is the last of \(newest)") }
    return findings.first.withLock { $0 }
  }

  /// - Parameter look: Called at each call of the sink.
  private func faults(
    _ look: @escaping @Sendable () -> Void = {}
  ) -> @Sendable () -> ReferenceSink.Fault? {
    { [random, log] in
      look()
      let dice = random.withLock { Int.random(in: 0..<100, using: &$0) }
      // Others write while a batch is on its way.
      if dice % 5 == 0 { try? Self.append(1 + dice / 10, to: log.withLock { $0 }) }
      return Self.fault(dice)
    }
  }

  private static func fault(_ dice: Int) -> ReferenceSink.Fault? {
    switch dice {
    case 0..<8: .refused
    case 8..<16: .lostReply
    case 16..<24: .partial(dice % 4)
    case 24..<32: .late
    default: nil
    }
  }

  private func step(_ dice: Int) async throws {
    switch dice {
    case 0..<55: try Self.append(1 + dice / 4, to: log.withLock { $0 })
    case 55..<75: try await ship(isKilled: false)
    case 75..<83: try await ship(isKilled: true)
    case 83..<88: await sink.arrive(isConditional: plant != .unconditional)
    case 88..<96:
      // As the owner of a log that refuses makes room.
      let log = log.withLock { $0 }
      if refuses { try log.remove(through: log.consumer(named: "shipper").acknowledged) }
    default:
      try log.withLock { log in
        try log.close()
        log = try Self.open(directory, refuses)
        shipper = try Self.shipper(log, sink, plant)
      }
    }
  }

  private static func append(_ count: Int, to log: MessageLog<Data>) throws {
    for _ in 0..<count {
      do {
        try log.append(message(log.statistics.nextSequence))
      } catch let error as LarderError where error.code == .full {
        return
      }
    }
  }

  /// - Parameter isKilled: Whether it ends in the middle of some call of the sink, and another one
  ///   goes on.
  private func ship(isKilled: Bool) async throws {
    let (shipper, task, random) = (shipper, task, random)
    if isKilled {
      let calls = Locked(random.withLock { Int.random(in: 0..<6, using: &$0) })
      await sink.fail(
        faults {
          let isLast = calls.withLock { calls in
            calls -= 1
            return calls < 0
          }
          if isLast { task.withLock { $0?.cancel() } }
        })
    }
    let running = Task { try await shipper.shipAll() }
    task.withLock { $0 = running }
    switch await running.result {
    case .success: break
    case .failure(let error): if !isKilled || !(error is CancellationError) { throw error }
    }
    guard isKilled else { return }
    await sink.fail(faults())
    self.shipper = try log.withLock { try Self.shipper($0, sink, plant) }
  }
}
