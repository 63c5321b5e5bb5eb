// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// A message on its way to a worker.
struct QueueDelivery: Sendable {
  let sequence: UInt64
  let attempts: UInt32
  let token: UInt64
  /// The log that the number is of.
  let created: Int64
  let bytes: Data
}

/// A queue while its log is open: what it knows, its file, and its position in the log.
///
/// Belongs to who holds the lock of its core. Nothing it does waits for the log to be resumed.
final class QueueSession<Message: Sendable> {
  private let name: String
  private let log: MessageLog<Message>
  private let configuration: LogQueueConfiguration<Message>
  let file: QueueFile
  private let cursor: LogCursor
  private var state: QueueState
  /// What the file said of messages that were not read yet.
  private var recovered: [UInt64: QueueSlot]
  /// The next message, which the window does not admit yet.
  private var peeked: (sequence: UInt64, bytes: Data)?
  /// What the log has as the queue's watermark.
  private var acknowledged: UInt64
  /// Nobody knows what was there before the first message that a new queue reads.
  private var countsLost: Bool
  /// Numbers that no message ever had.
  private let skipped: Range<UInt64>

  init(
    name: String, log: MessageLog<Message>, configuration: LogQueueConfiguration<Message>,
    opened: QueueOpening, lastToken: UInt64
  ) throws {
    self.name = name
    self.log = log
    self.configuration = configuration
    file = opened.file
    acknowledged = opened.acknowledged
    recovered = opened.slots
    skipped = opened.skipped
    countsLost = opened.watermark > 0 || !opened.slots.isEmpty
    state = QueueState(
      window: UInt64(file.header.window), watermark: opened.watermark, lastToken: lastToken)
    cursor = try LogCursor(log.handle, waits: false)
    if opened.watermark > 0 {
      try cursor.seek(to: opened.watermark.adding(clamping: 1), waits: false)
    }
    if let deadLetters = configuration.deadLetters {
      try buryAgain(from: deadLetters)
    }
  }

  var lastToken: UInt64 { state.lastToken }
  var nextDue: Duration? { state.nextDue }
  /// Whether the next message waits for older ones.
  var isBlocked: Bool { peeked != nil }

  // MARK: - Receiving

  func poll(leaseFor lease: Duration, at now: Duration) throws -> QueueDelivery? {
    state.expire(at: now)
    while let (sequence, attempts) = try nextReady() {
      guard let job = state[sequence] else { return nil }
      if try retire(sequence, job) { continue }
      // Before the worker has it: it may end the process.
      try file.write(QueueSlot(sequence, .pending, attempts: attempts.adding(clamping: 1)))
      let token = state.lease(sequence, until: now.after(lease))
      return QueueDelivery(
        sequence: sequence, attempts: attempts.adding(clamping: 1), token: token,
        created: file.header.logCreated, bytes: job.bytes)
    }
    return nil
  }

  /// What was delivered before comes first: the window moves with the oldest.
  private func nextReady() throws -> (sequence: UInt64, attempts: UInt32)? {
    while true {
      if let next = state.nextReady() { return next }
      if peeked == nil {
        peeked = try cursor.next(waits: false).map { ($0.sequence, Data(copying: $0.bytes)) }
      }
      guard let (sequence, bytes) = peeked, state.admits(sequence) else { return nil }
      peeked = nil
      let slot = recovered.removeValue(forKey: sequence)
      let isFirst = !countsLost
      skip(to: sequence)
      switch slot?.state {
      case .done, .dead: state.skip(through: sequence)
      case .pending, nil: state.admit(sequence, bytes, attempts: slot?.attempts ?? 0)
      }
      // From here on what is missing is lost, also after a restart.
      if isFirst { try advance() }
    }
  }

  /// Counts the numbers before this one that no message has any more.
  private func skip(to sequence: UInt64) {
    if sequence > state.frontier.adding(clamping: 1) {
      let known = recovered.filter { $0.key < sequence }
      for number in known.keys { recovered[number] = nil }
      let finished = known.values.count { $0.state != .pending }
      if countsLost {
        state.counts.lost += unread(before: sequence).subtracting(clamping: UInt64(finished))
      }
      state.skip(through: sequence - 1)
    }
    countsLost = true
  }

  /// How many numbers between the last message that was read and this one were given to messages.
  private func unread(before sequence: UInt64) -> UInt64 {
    let first = min(state.frontier.adding(clamping: 1), sequence)
    return sequence - first - UInt64(skipped.clamped(to: first..<sequence).count)
  }

  // MARK: - Finishing

  /// - Returns: Whether it was not done before.
  func acknowledge(_ sequence: UInt64, attempts: UInt32) throws -> Bool {
    try checkPlace()
    let slot = QueueSlot(sequence, .done, attempts: attempts)
    if sequence > state.frontier {
      // Delivered before the log was suspended, and not read again since.
      let distance = sequence - state.watermark
      guard distance <= state.window, recovered[sequence]?.state ?? .pending == .pending else {
        return false
      }
      try file.write(slot)
      recovered[sequence] = slot
    } else {
      guard state[sequence] != nil else { return false }
      try file.write(slot)
      state.finish(sequence)
    }
    state.counts.done += 1
    try advance()
    return true
  }

  func release(
    _ sequence: UInt64, _ token: UInt64, after delay: Duration, at now: Duration
  ) throws -> Bool {
    guard state.isLeased(sequence, token, at: now), let job = state[sequence] else { return false }
    state.delay(sequence, until: now.after(delay))
    try retire(sequence, job)
    return true
  }

  func noteUndecodable(_ sequence: UInt64, _ token: UInt64) {
    state.noteUndecodable(sequence, token)
  }

  func extend(_ sequence: UInt64, _ token: UInt64, by lease: Duration, at now: Duration) -> Bool {
    guard state.isLeased(sequence, token, at: now) else { return false }
    state.extend(sequence, token, until: now.after(lease))
    return true
  }

  func statistics(at now: Duration) throws(LarderError) -> LogQueueStatistics {
    state.expire(at: now)
    let phases = state.phases
    let raw = try log.handle.rawStatistics(waits: false)
    // Of a log that has lost messages there are no more than it holds.
    let unread = min(unread(before: raw.next_sequence), raw.count)
    let finished = recovered.values.count { $0.state != .pending }
    return LogQueueStatistics(
      ready: phases.ready + Int(clamping: unread) - min(finished, Int(clamping: unread)),
      leased: phases.leased, delayed: phases.delayed, done: state.counts.done,
      dead: state.counts.dead, skipped: state.counts.skipped,
      redelivered: state.counts.redelivered, lost: state.counts.lost,
      acknowledged: state.watermark)
  }

  /// Tells the log how far the queue is.
  private func advance() throws {
    let watermark = state.watermark
    if watermark <= acknowledged { return }
    do {
      try log.handle.acknowledge(name, through: watermark)
    } catch {
      throw log.appendFailure(error)
    }
    acknowledged = watermark
    try log.removeDone()
  }

  /// What is done with is to be found by the next opening; else it would be forgotten.
  private func checkPlace() throws(LarderError) {
    try file.checkPlace()
    try log.handle.checkPlace()
  }

  // MARK: - Dead letters

  /// Buries a message that was delivered as often as it may be, or gives it up.
  ///
  /// - Returns: Whether it was, and is not delivered again for that.
  @discardableResult
  private func retire(_ sequence: UInt64, _ job: QueueState.Job) throws -> Bool {
    guard Int(clamping: job.attempts) >= configuration.maximumAttempts else { return false }
    if configuration.deadLetters == nil {
      // Another attempt may do what this one did not; but not with bytes that are no message.
      if job.isUndecodable { try giveUp(sequence, job) }
      return job.isUndecodable
    }
    do {
      try bury(sequence, job)
    } catch let error as LarderError where error.code == .tooLarge {
      try giveUp(sequence, job)
    }
    return true
  }

  /// Goes on without a message: else it would hold back all others once the window is full.
  private func giveUp(_ sequence: UInt64, _ job: QueueState.Job) throws {
    try checkPlace()
    try file.write(QueueSlot(sequence, .done, attempts: job.attempts))
    state.finish(sequence)
    state.counts.skipped += 1
    try advance()
  }

  /// Moves a message to the dead-letter log. It is there once: if we crash before the slot is
  /// written, the next opening finds the letter.
  private func bury(_ sequence: UInt64, _ job: QueueState.Job) throws {
    guard let deadLetters = configuration.deadLetters else { return }
    try checkPlace()
    try deadLetters.handle.checkPlace()
    let head = DeadLetterHead(
      logCreated: file.header.logCreated, sequence: sequence, attempts: job.attempts, queue: name)
    let letter = try deadLetters.appendBytes(head.bytes + job.bytes)
    state.finish(sequence)
    state.counts.dead += 1
    // The letter first: a message whose slot survived a power cut and whose letter did not would
    // be lost.
    if deadLetters.durability == .power { try deadLetters.handle.sync(through: letter) }
    try file.write(QueueSlot(sequence, .dead, attempts: job.attempts))
    try advance()
  }

  /// Finds the letters whose slots were not written, or were damaged.
  private func buryAgain(from deadLetters: MessageLog<DeadLetter<Message>>) throws {
    let cursor = try LogCursor(deadLetters.handle, waits: false)
    try cursor.seek(to: .max, waits: false)
    while let raw = try cursor.previous() {
      guard let (head, _) = DeadLetterHead.read(raw.bytes), head.queue == name,
        head.logCreated == file.header.logCreated
      else { continue }
      // All before it were written when the watermark was lower, and were within the window.
      if head.sequence.adding(clamping: state.window) <= state.watermark { break }
      if head.sequence > state.watermark, head.sequence - state.watermark <= state.window {
        recovered[head.sequence] = QueueSlot(head.sequence, .dead, attempts: head.attempts)
      }
    }
  }
}

extension MessageLog {
  /// Appends a message that is encoded already, and waits for nothing.
  fileprivate func appendBytes(_ bytes: Data) throws -> UInt64 {
    let sequence: UInt64
    do {
      sequence = try bytes.withUnsafeBytes { bytes throws(LarderError) in
        try handle.append(bytes, waits: false)
      }
    } catch {
      throw appendFailure(error)
    }
    signal.notify()
    return sequence
  }
}

extension Duration {
  /// So much later, 34,000 years at most: a sum that cannot trap.
  fileprivate func after(_ delay: Duration) -> Duration {
    self + min(max(delay, .zero), .seconds(1 << 40))
  }
}
