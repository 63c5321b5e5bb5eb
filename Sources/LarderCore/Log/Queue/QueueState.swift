// SPDX-License-Identifier: MIT

import Foundation

/// What a queue knows of the messages that it has read and that are not done, in memory: whose
/// turn it is, and what time has to pass. It reads no clock and no file.
struct QueueState {
  enum Phase: Equatable {
    case ready
    /// Given to a worker; the token tells one delivery from another.
    case leased(until: Duration, token: UInt64)
    case delayed(until: Duration)
  }

  struct Job {
    let bytes: Data
    var attempts: UInt32
    var phase: Phase
    /// When the earliest of its timers is due; nil if it has none.
    var timer: Duration?
    /// The last worker that had it could not decode it.
    var isUndecodable = false
  }

  private struct Timer: Comparable {
    let due: Duration
    let sequence: UInt64

    static func < (one: Timer, other: Timer) -> Bool {
      (one.due, one.sequence) < (other.due, other.sequence)
    }
  }

  struct Counts {
    var done: UInt64 = 0
    var dead: UInt64 = 0
    var skipped: UInt64 = 0
    var redelivered: UInt64 = 0
    var lost: UInt64 = 0
  }

  /// How far a message may be ahead of the oldest one that is not done.
  let window: UInt64
  /// The number of the last message that was read, or is known to be done with.
  private(set) var frontier: UInt64
  private(set) var lastToken: UInt64
  var counts = Counts()

  private var jobs: [UInt64: Job] = [:]
  /// The messages that were read, by number, from the oldest one that is not done on.
  private var order: [UInt64] = []
  private var first = 0
  private var ready = MinHeap<UInt64>()
  private var timers = MinHeap<Timer>()

  init(window: UInt64, watermark: UInt64, lastToken: UInt64 = 0) {
    self.window = window
    frontier = watermark
    self.lastToken = lastToken
  }

  /// Every message up to this number is done, or lost.
  var watermark: UInt64 { first < order.count ? order[first] - 1 : frontier }

  subscript(sequence: UInt64) -> Job? { jobs[sequence] }

  // MARK: - Messages

  /// Whether a message that was not read before may be added now.
  func admits(_ sequence: UInt64) -> Bool {
    first == order.count || sequence - order[first] < window
  }

  /// Adds the message that comes next, which is ready at once.
  mutating func admit(_ sequence: UInt64, _ bytes: Data, attempts: UInt32) {
    frontier = sequence
    order.append(sequence)
    jobs[sequence] = Job(bytes: bytes, attempts: attempts, phase: .ready, timer: nil)
    ready.insert(sequence)
  }

  /// Goes on without the messages up to this number, which nobody has to be given.
  mutating func skip(through sequence: UInt64) { frontier = max(frontier, sequence) }

  /// Forgets a message that is done.
  mutating func finish(_ sequence: UInt64) {
    jobs[sequence] = nil
    while first < order.count, jobs[order[first]] == nil { first += 1 }
    if first > 64, 2 * first > order.count {
      order.removeFirst(first)
      first = 0
    }
    if timers.count > 2 * jobs.count + 64 {
      let jobs = jobs
      timers.keep { jobs[$0.sequence]?.timer == $0.due }
    }
  }

  // MARK: - Turns

  /// The oldest message that is ready.
  mutating func nextReady() -> (sequence: UInt64, attempts: UInt32)? {
    while let sequence = ready.least {
      if let job = jobs[sequence], job.phase == .ready { return (sequence, job.attempts) }
      ready.removeLeast()
    }
    return nil
  }

  /// Gives a message that is ready to a worker.
  ///
  /// - Returns: The delivery's token.
  mutating func lease(_ sequence: UInt64, until due: Duration) -> UInt64 {
    lastToken += 1
    if jobs[sequence]?.attempts ?? 0 > 0 { counts.redelivered += 1 }
    jobs[sequence]?.attempts.addClamping()
    jobs[sequence]?.isUndecodable = false
    jobs[sequence]?.phase = .leased(until: due, token: lastToken)
    setTimer(sequence, due)
    return lastToken
  }

  /// Whether that delivery still has its lease.
  func isLeased(_ sequence: UInt64, _ token: UInt64, at now: Duration) -> Bool {
    guard case .leased(let due, token) = jobs[sequence]?.phase else { return false }
    return now < due
  }

  /// Changes the end of a lease that lasts.
  mutating func extend(_ sequence: UInt64, _ token: UInt64, until due: Duration) {
    jobs[sequence]?.phase = .leased(until: due, token: token)
    setTimer(sequence, due)
  }

  /// Notes of a delivery that its message cannot be decoded.
  mutating func noteUndecodable(_ sequence: UInt64, _ token: UInt64) {
    guard case .leased(_, token) = jobs[sequence]?.phase else { return }
    jobs[sequence]?.isUndecodable = true
  }

  /// Takes a message back from its worker, to be given again from then on.
  mutating func delay(_ sequence: UInt64, until due: Duration) {
    jobs[sequence]?.phase = .delayed(until: due)
    setTimer(sequence, due)
  }

  // MARK: - Time

  /// When the next lease or delay ends.
  var nextDue: Duration? { timers.least?.due }

  /// Makes ready whose lease or delay has ended: one that ends now has.
  mutating func expire(at now: Duration) {
    while let timer = timers.least, timer.due <= now {
      timers.removeLeast()
      guard var job = jobs[timer.sequence], job.timer == timer.due else { continue }
      job.timer = nil
      switch job.phase {
      case .ready: break
      case .leased(let due, _) where due > now, .delayed(let due) where due > now:
        job.timer = due
        timers.insert(Timer(due: due, sequence: timer.sequence))
      case .leased, .delayed:
        job.phase = .ready
        ready.insert(timer.sequence)
      }
      jobs[timer.sequence] = job
    }
  }

  /// A timer that comes too early is set again when it is due, so that a job which is extended
  /// again and again has one.
  private mutating func setTimer(_ sequence: UInt64, _ due: Duration) {
    if let timer = jobs[sequence]?.timer, timer <= due { return }
    jobs[sequence]?.timer = due
    timers.insert(Timer(due: due, sequence: sequence))
  }

  /// How many messages there are in each phase.
  ///
  /// - Complexity: O(messages that were read and are not done).
  var phases: (ready: Int, leased: Int, delayed: Int) {
    var result = (ready: 0, leased: 0, delayed: 0)
    for job in jobs.values {
      switch job.phase {
      case .ready: result.ready += 1
      case .leased: result.leased += 1
      case .delayed: result.delayed += 1
      }
    }
    return result
  }
}

extension UInt32 {
  fileprivate mutating func addClamping() { self = adding(clamping: 1) }
}
