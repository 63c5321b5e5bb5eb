// SPDX-License-Identifier: MIT

import Foundation
import Synchronization

/// Ships the messages of a log to a ``LogSink``, each exactly once.
///
/// ```swift
/// let shipper = try LogShipper(log, consumer: "uploader", sink: sink)
/// try await shipper.run()
/// ```
///
/// Where to go on, the sink says: after any crash the shipper asks for the last number that is
/// there, and appends what follows only if that is still so. What the sink has, the shipper
/// acknowledges under the consumer's name, so that the log's owner knows what may be removed. A
/// sink that lost its end, as a server may after a failover, gets it again, as far as the log still
/// has it.
///
/// A sink that is slow or away fills up the log and nothing else: the shipper holds one batch. It
/// tries again with growing pauses. What the log overwrote or removed meanwhile is in the sink
/// as a gap, ``LogBatch/Record/gap(_:)``, so that each number from 1 on is there once, as a
/// message or in a gap. A gap is shipped with the message behind it.
///
/// A log that was opened for reading can be shipped, too, while another process writes to it.
/// Acknowledging takes the writer, so then nothing is acknowledged; nothing else changes.
///
/// A shipper ships the log that it was made for. If that is resumed and its file was gone, it
/// throws `.replaced` from then on, for the numbers are other ones: the new log takes a sink and a
/// shipper of its own, see ``MessageLog/identity()``.
///
/// **Concurrency.** Safe to use from any number of tasks; one at a time ships. Two shippers of one
/// log to one sink, in one process or in several, do no harm but slow each other down.
///
/// **Durability.** That of the sink. What it lost and the log does not have any more is gone.
public final class LogShipper<Message: Sendable>: Sendable {
  private struct State {
    var isShipping = false
    var statistics = LogShipperStatistics()
    /// What the sink was sent, as long as it is not known what came of it.
    var underWay: LogBatch?
  }

  private enum End {
    case caughtUp, closed
  }

  private let log: MessageLog<Message>
  private let consumer: LogConsumer<Message>
  private let sink: any LogSink
  private let configuration: LogShipperConfiguration
  private let state = Mutex(State())

  /// Makes a shipper, which does nothing yet.
  ///
  /// - Parameters:
  ///   - log: The log.
  ///   - name: The name of the consumer under which the shipper acknowledges: 1 to 32 bytes of
  ///     UTF-8. As ``MessageLog/consumer(named:)`` it takes a slot, unless the log was opened for
  ///     reading.
  ///   - sink: Where to.
  ///   - configuration: How; see there for the defaults.
  /// - Throws: `.invalidArgument` for a name of another length, or a configuration out of range;
  ///   `.full` if all consumer slots are taken; `.closed`.
  /// - Complexity: O(consumer slots).
  public init(
    _ log: MessageLog<Message>, consumer name: String, sink: any LogSink,
    configuration: LogShipperConfiguration = .init()
  ) throws {
    try configuration.validate()
    self.log = log
    consumer = try log.consumer(named: name)
    self.sink = sink
    self.configuration = configuration
  }

  /// The shipper's figures.
  ///
  /// - Complexity: O(1).
  public var statistics: LogShipperStatistics {
    var statistics = state.withLock { $0.statistics }
    if let next = try? log.handle.nextSequence(waits: false) {
      let newest = next.subtracting(clamping: 1)
      statistics.lag = newest.subtracting(clamping: statistics.lastSequence ?? 0)
    }
    return statistics
  }

  /// Ships what the log holds and what is appended later, until the log is closed.
  ///
  /// While the log is suspended it waits.
  ///
  /// - Throws: `CancellationError` when the task is cancelled; what cannot succeed later, as
  ///   ``LogSink/append(_:after:)`` says; `.configurationMismatch` if the sink has numbers that the
  ///   log has not given yet, and so is that of another log or of a newer copy; `.busy` if the
  ///   shipper ships already; the last failure after
  ///   ``LogShipperConfiguration/failuresToGiveUp``; `.replaced` if the log was deleted or
  ///   replaced, once all of it was shipped, or was resumed and its file was gone; `.io` if the
  ///   log cannot be read.
  /// - Complexity: O(bytes) in time, and of one batch in memory. One call of the sink for each
  ///   batch, and one more at the start and after each failure.
  public func run() async throws { try await ship(endsWhenCaughtUp: false) }

  /// Ships what the log holds, and returns when the sink has all of it.
  ///
  /// - Throws: As ``run()``; `.closed` if the log is closed before.
  /// - Complexity: As ``run()``.
  public func shipAll() async throws { try await ship(endsWhenCaughtUp: true) }

  // MARK: - Shipping

  private func ship(endsWhenCaughtUp: Bool) async throws {
    let isBusy = state.withLock { state in
      defer { state.isShipping = true }
      return state.isShipping
    }
    if isBusy { throw LarderError(.busy, "The shipper ships already.") }
    defer { state.withLock { $0.isShipping = false } }
    while true {
      do {
        let end = try await shipUntilFailure(endsWhenCaughtUp: endsWhenCaughtUp)
        guard endsWhenCaughtUp, case .closed = end else { return }
        throw LarderError(.closed, "The log was closed before all of it was shipped.")
      } catch let failure as SinkFailure {
        try Task.checkCancellation()
        let count = note(failure.error)
        guard !failure.isFinal, count < configuration.failuresToGiveUp ?? .max else {
          throw failure.error
        }
        configuration.onFailure?(failure.error)
        try await configuration.clock.sleep(for: configuration.pause(after: count))
      }
    }
  }

  /// - Throws: ``SinkFailure`` for what the sink threw.
  private func shipUntilFailure(endsWhenCaughtUp: Bool) async throws -> End {
    var idle = Idleness()
    do {
      let place = ShippingPlace(after: try await findPlace(), ofLog: consumer.logCreated)
      while true {
        try Task.checkCancellation()
        let batch = try await log.handle.suspension.retryingWhenResumed(always: true) {
          try place.read(log.handle, configuration)
        }
        if let batch {
          try await append(batch, after: place.last)
          place.advance(batch)
          continue
        }
        state.withLock { $0.statistics.failuresInARow = 0 }
        if endsWhenCaughtUp {
          return .caughtUp
        } else {
          try await log.handle.suspension.retryingWhenResumed(always: true) {
            try await idle.wait(for: log)
          }
        }
      }
    } catch let error as LarderError where error.code == .closed {
      return .closed
    }
  }

  /// The last number that the sink has; 0 if it has nothing.
  private func findPlace() async throws -> UInt64 {
    let sink = sink
    let last = try await limited { try await sink.lastSequence() }
    let next = try await log.handle.suspension.retryingWhenResumed(always: true) {
      try log.handle.nextSequence(waits: false)
    }
    guard log.handle.opener.created == consumer.logCreated else {
      throw log.handle.opener.anotherLog("ship \(log.fileURL.path) any further")
    }
    if let last, last >= next {
      throw SinkFailure(
        LarderError(
          .configurationMismatch,
          "The sink has message \(last), and the next one of \(log.fileURL.path) is \(next): "
            + "it is the sink of another log, or this is an older copy."))
    }
    // A sink that answers and refuses all the same has not recovered.
    let before = state.withLock { $0.statistics.lastSequence }
    try confirm(through: last, recovers: last ?? 0 > before ?? .max)
    return last ?? 0
  }

  private func append(_ batch: LogBatch, after last: UInt64) async throws {
    guard let end = batch.records.last?.sequence else { return }
    state.withLock { $0.underWay = batch }
    let sink = sink
    try await limited { try await sink.append(batch, after: last == 0 ? nil : last) }
    try confirm(through: end, recovers: true)
  }

  /// Counts and acknowledges what the sink has.
  private func confirm(through last: UInt64?, recovers: Bool) throws {
    state.withLock { state in
      if let batch = state.underWay { state.statistics.confirm(batch, through: last ?? 0) }
      state.underWay = nil
      state.statistics.lastSequence = last
      if recovers { state.statistics.failuresInARow = 0 }
    }
    guard let last, !log.isReader else { return }
    do {
      try consumer.acknowledge(through: last)
    } catch let error as LarderError where error.code == .suspended {
      // The next one says it, too.
    }
  }

  private func note(_ error: any Error) -> Int {
    state.withLock { state in
      // What is found there is another shipper's.
      if (error as? LarderError)?.code == .conflict { state.underWay = nil }
      state.statistics.failures += 1
      state.statistics.failuresInARow += 1
      state.statistics.lastError = error
      return state.statistics.failuresInARow
    }
  }

  /// A call of the sink, for so long at most.
  private func limited<Result: Sendable>(
    _ call: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    do {
      guard let timeout = configuration.timeout else { return try await call() }
      let clock = configuration.clock
      return try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask { try await call() }
        group.addTask {
          try await clock.sleep(for: timeout)
          throw LarderError(.timedOut, "The sink did not answer within \(timeout).")
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
      }
    } catch {
      throw SinkFailure(error)
    }
  }
}

/// What a sink threw, apart from what the log did.
private struct SinkFailure: Error {
  private static let finalCodes: Set<LarderError.Code> = [
    .configurationMismatch, .invalidArgument, .tooLarge, .incompatibleVersion, .closed,
  ]

  let error: any Error

  init(_ error: any Error) { self.error = error }

  /// Whether it would be the same later.
  var isFinal: Bool { (error as? LarderError).map { Self.finalCodes.contains($0.code) } ?? false }
}

/// How far a log was shipped. Belongs to one task.
private final class ShippingPlace {
  /// The last number that the sink has.
  private(set) var last: UInt64
  /// Behind that; nil if it has to be found first.
  private var cursor: LogCursor?
  /// The log that the numbers are of.
  private let created: Int64

  init(after last: UInt64, ofLog created: Int64) {
    self.last = last
    self.created = created
  }

  /// Reads what comes next: nil if there is nothing at present.
  func read(
    _ handle: borrowing RingHandle, _ limits: LogShipperConfiguration
  ) throws(LarderError) -> LogBatch? {
    let cursor: LogCursor
    if let current = self.cursor {
      cursor = current
    } else {
      cursor = try LogCursor(handle, ofLog: created, waits: false)
      try cursor.seek(to: last.adding(clamping: 1), waits: false)
      self.cursor = cursor
    }
    var batch = LogBatch()
    var next = last.adding(clamping: 1)
    while batch.messageCount < limits.maximumBatchCount,
      batch.byteCount < limits.maximumBatchBytes,
      let raw = try read(cursor, isFirst: batch.records.isEmpty)
    {
      if raw.sequence > next { batch.append(.gap(next...raw.sequence - 1)) }
      batch.append(
        .message(
          LogBatch.Message(
            sequence: raw.sequence, bytes: .init(copying: raw.bytes),
            time: raw.time == 0 ? nil : raw.time, isPartial: raw.isPartial)))
      next = raw.sequence.adding(clamping: 1)
    }
    return batch.records.isEmpty ? nil : batch
  }

  /// - Parameter isFirst: Else the end of a log that was replaced is told by the next batch.
  private func read(_ cursor: LogCursor, isFirst: Bool) throws(LarderError) -> RawEntry? {
    do {
      return try cursor.next(waits: false)
    } catch {
      // What was read is read again.
      self.cursor = nil
      if error.code == .replaced, !isFirst { return nil }
      throw error
    }
  }

  /// The sink has the batch that was read last.
  func advance(_ batch: LogBatch) { last = batch.records.last?.sequence ?? last }
}
