// SPDX-License-Identifier: MIT

import Foundation
import Synchronization

/// What all queues of one name of a log share: who waits, and the session.
///
/// Whoever waits registers with the log's signal, and looks again afterwards; whoever changes what
/// there is to receive does so first, and notifies afterwards. See ``ChangeSignal``.
final class QueueCore<Message: Sendable>: HeldQueue {
  private struct Place: ~Copyable {
    var session: QueueSession<Message>?
    var recovery = LogQueueRecovery()
    var lastToken: UInt64 = 0
    /// The log is suspended, or about to be.
    var isHeld: Bool
    /// How often that ended.
    var unholdCount: UInt64 = 0
    var isClosed = false
    /// Changes with what there may be to receive.
    var version: UInt64 = 0
    /// Wakes those who wait when the next lease or delay ends.
    var alarm: (due: Duration, task: Task<Void, Never>)?
  }

  /// What there was when there was nothing to receive.
  struct Seen {
    fileprivate let next: UInt64
    fileprivate let version: UInt64
  }

  enum Look {
    case delivery(QueueDelivery)
    case nothing(Seen)
  }

  let name: String
  let log: MessageLog<Message>
  let configuration: LogQueueConfiguration<Message>
  private let place: Mutex<Place>

  init(
    name: String, log: MessageLog<Message>, configuration: LogQueueConfiguration<Message>,
    isHeld: Bool
  ) {
    self.name = name
    self.log = log
    self.configuration = configuration
    place = Mutex(Place(isHeld: isHeld))
  }

  deinit { place.withLock { $0.alarm?.task.cancel() } }

  var now: Duration { configuration.clock.now }
  var removesDone: Bool { configuration.removesDone }
  private var suspension: SuspendableHandle { log.handle.suspension }

  // MARK: - Calls

  /// Runs a call, in a session.
  private func call<R: Sendable>(
    _ body: @Sendable (QueueSession<Message>, inout Place) throws -> R
  ) throws -> R {
    try place.withLock { place in
      if place.isClosed || suspension.isClosed { throw closedFailure() }
      if place.isHeld { throw LarderError(.suspended, "The log of queue \(name) is suspended.") }
      return try body(try session(&place), &place)
    }
  }

  private func session(_ place: inout Place) throws -> QueueSession<Message> {
    if let session = place.session { return session }
    let opened = try QueueOpening(name, of: log, window: configuration.window)
    let session = try QueueSession(
      name: name, log: log, configuration: configuration, opened: opened,
      lastToken: place.lastToken)
    place.recovery = opened.recovery
    place.session = session
    return session
  }

  fileprivate var isHeld: Bool { place.withLock { $0.isHeld } }

  /// Whether the log is closed, or about to be; not that of the dead letters.
  var isClosed: Bool { place.withLock { $0.isClosed } || suspension.isClosed }

  /// Changes with each step of a resumption: the log's comes first, and then the queue's.
  fileprivate var resumptionSteps: UInt64 {
    suspension.resumptionCount &+ place.withLock { $0.unholdCount }
  }

  /// Opens the queue's file, unless it is open.
  func open() throws { try call { _, _ in } }

  var recovery: LogQueueRecovery {
    get throws { try call { _, place in place.recovery } }
  }

  func statistics() throws -> LogQueueStatistics {
    let now = now
    return try call { session, _ in try session.statistics(at: now) }
  }

  func poll(leaseFor lease: Duration) throws -> QueueDelivery? {
    let now = now
    return try call { session, _ in try session.poll(leaseFor: lease, at: now) }
  }

  /// As ``poll(leaseFor:)``, for who will wait if there is nothing.
  func look(leaseFor lease: Duration) throws -> Look {
    let now = now
    return try call { session, place in
      let seen = Seen(next: try log.handle.nextSequence(waits: false), version: place.version)
      if let delivery = try session.poll(leaseFor: lease, at: now) { return .delivery(delivery) }
      setAlarm(&place, session.nextDue)
      return .nothing(seen)
    }
  }

  func hasChanged(since seen: Seen) -> Bool {
    // A log that cannot say is closed or suspended: looking again finds that out.
    (try? log.handle.nextSequence(waits: false)) != seen.next
      || place.withLock { $0.version } != seen.version
  }

  func acknowledge(_ job: LogJob<Message>) throws -> Bool {
    let attempts = UInt32(clamping: job.attempts)
    return try change { session, place in
      guard session.file.header.logCreated == job.created else {
        throw log.handle.opener.anotherLog("acknowledge message \(job.sequence) of queue \(name)")
      }
      let isDone = try session.acknowledge(job.sequence, attempts: attempts)
      // Older messages that are done make room for newer ones.
      return (isDone, session.isBlocked)
    }
  }

  func release(_ job: LogJob<Message>, after delay: Duration) throws -> Bool {
    let now = now
    return try change { session, _ in
      (try session.release(job.sequence, job.token, after: delay, at: now), true)
    }
  }

  func extend(_ job: LogJob<Message>, by lease: Duration) throws -> Bool {
    let now = now
    return try call { session, _ in session.extend(job.sequence, job.token, by: lease, at: now) }
  }

  /// The coder, which is not called while others wait for the queue, has refused a message.
  func noteUndecodable(_ delivery: QueueDelivery) {
    place.withLock { $0.session?.noteUndecodable(delivery.sequence, delivery.token) }
  }

  /// Makes what was acknowledged survive a power cut.
  func sync() throws {
    // What is closed or suspended meanwhile is synced by that.
    let file = place.withLock { $0.session?.file }
    try file?.sync()
  }

  /// Runs a call that may change what there is to receive.
  private func change(
    _ body: @Sendable (QueueSession<Message>, inout Place) throws -> (result: Bool, wakes: Bool)
  ) throws -> Bool {
    let (result, wakes) = try call { session, place in
      let (result, wakes) = try body(session, &place)
      if wakes { place.version += 1 }
      return (result, wakes)
    }
    if wakes { log.signal.notify() }
    return result
  }

  // MARK: - Time

  private func setAlarm(_ place: inout Place, _ due: Duration?) {
    guard let due else { return }
    if let alarm = place.alarm, alarm.due <= due { return }
    place.alarm?.task.cancel()
    let clock = configuration.clock
    let task = Task { [weak self] in
      do { try await clock.sleep(for: due - clock.now) } catch { return }
      self?.alarm(at: due)
    }
    place.alarm = (due, task)
  }

  private func alarm(at due: Duration) {
    place.withLock { place in
      if place.alarm?.due == due { place.alarm = nil }
      place.version += 1
    }
    log.signal.notify()
  }

  // MARK: - Suspending and closing

  func hold() throws(LarderError) {
    let session = end { $0.isHeld = true }
    try session?.sync()
  }

  func unhold() {
    place.withLock { place in
      place.isHeld = false
      place.unholdCount += 1
      place.version += 1
    }
  }

  func close(syncs: Bool) throws(LarderError) {
    let session = end { $0.isClosed = true }
    if syncs { try session?.sync() }
  }

  private func end(_ change: @Sendable (inout Place) -> Void) -> QueueFile? {
    place.withLock { place in
      change(&place)
      place.version += 1
      place.alarm?.task.cancel()
      place.alarm = nil
      guard let session = place.session else { return nil }
      place.lastToken = session.lastToken
      place.session = nil
      return session.file
    }
  }

  func closedFailure() -> LarderError {
    LarderError(.closed, "The log of queue \(name) is closed.")
  }
}

// MARK: - Waiting for a resumption

extension QueueCore {
  /// Runs a call again when the log was resumed.
  ///
  /// - Parameter always: Also where calls of a suspended log fail.
  func retrying<R>(always: Bool = false, _ body: () throws -> R) throws -> R {
    let suspension = log.handle.suspension
    while true {
      let steps = resumptionSteps
      do {
        return try body()
      } catch let error as LarderError where error.code == .suspended {
        guard isOurs(error, since: steps) else { throw error }
        if always {
          log.signal.block { !suspension.isSuspended }
        } else if try !suspension.waitForResumption() {
          throw closedFailure()
        }
      }
    }
  }

  /// The same for a task.
  nonisolated(nonsending) func retrying<R: Sendable>(
    always: Bool = false, _ body: @Sendable @escaping () throws -> R
  ) async throws -> R {
    let suspension = log.handle.suspension
    while true {
      let steps = resumptionSteps
      do {
        return try await offloading(body)
      } catch let error as LarderError where error.code == .suspended {
        guard isOurs(error, since: steps) else { throw error }
        if suspension.isSuspended {
          try await suspension.untilResumed(always: always)
        } else {
          // Between the two steps of a suspension, or of a resumption.
          await Task.yield()
        }
      }
    }
  }

  /// Whether it was this log that is suspended, and not that of the dead letters.
  private func isOurs(_ error: LarderError, since steps: UInt64) -> Bool {
    isHeld || log.handle.suspension.isSuspended || resumptionSteps != steps
  }

  /// What may wait for the device runs on a thread that no other task needs.
  private nonisolated(nonsending) func offloading<R: Sendable>(
    _ body: @Sendable @escaping () throws -> R
  ) async throws -> R {
    guard log.durability == .power || configuration.deadLetters?.durability == .power else {
      return try body()
    }
    return try await DispatchQueue(label: "larder.queue", qos: .userInitiated).run(body)
  }
}

extension CacheClock {
  private static let start = ContinuousClock.now

  /// Time since some beginning.
  fileprivate var now: Duration { customNow?() ?? Self.start.duration(to: .now) }
}
