// SPDX-License-Identifier: MIT
import Foundation
import Larder
import Synchronization

/// A process in which eight workers do jobs, until it is killed.
struct QueueVictim {
  private let plan: QueuePlan

  init(_ orders: Orders) { plan = QueuePlan(orders) }

  func live() throws {
    do {
      let shop = try QueueShop(plan)
      if plan.orders.plant == .buriesTwice, let last = try shop.deadLetters.messages().last {
        try shop.deadLetters.append(last)
      }
      Acknowledgement.tellReady()
      Lanes.run(QueuePlan.workers) { _, _ in
        // When all is done, it waits to be killed.
        if try !shop.work() { usleep(1000) }
      }
    } catch {
      Acknowledgement.tell(error)
    }
  }
}

/// A queue, and what its workers do.
struct QueueShop: Sendable {
  let plan: QueuePlan
  let log: MessageLog<String>
  let deadLetters: MessageLog<DeadLetter<String>>
  let queue: LogQueue<String>
  private let witness: QueueWitness
  private let late = LateJob()

  init(_ plan: QueuePlan) throws {
    self.plan = plan
    log = try plan.openLog()
    deadLetters = try plan.openDeadLetters()
    queue = try plan.openQueue(log, deadLetters)
    witness = try QueueWitness(plan.witness)
  }

  func close() throws {
    try log.close()
    try deadLetters.close()
  }

  /// Appends a job, if there are not all, and does the next one.
  ///
  /// - Returns: Whether there was one.
  func work() throws -> Bool {
    let next = try log.statistics.nextSequence
    if next <= plan.jobs { try log.append("job") }
    guard let job = try queue.poll(leaseFor: .seconds(86_400)) else { return false }
    let sequence = job.sequence
    try witness.note(.received, sequence, attempts: job.attempts)
    if plan.fails(sequence) || (plan.failsFirst(sequence) && job.attempts == 1) {
      // First, since another worker may have it before this one could tell.
      try witness.note(.released, sequence, attempts: job.attempts)
      try expect(try queue.release(job), "job \(sequence): its lease ended")
    } else {
      try acknowledge(job)
      try witness.note(.acknowledged, sequence, attempts: job.attempts)
    }
    return true
  }

  private func acknowledge(_ job: LogJob<String>) throws {
    var job = job
    if plan.orders.plant == .earlyAcknowledgement {
      // The one before it.
      let previous = late.job.withLock { late in
        defer { late = job }
        return late
      }
      guard let previous else { return }
      job = previous
    }
    try expect(try queue.acknowledge(job), "job \(job.sequence) was done by two")
  }
}

/// A job that is acknowledged with the next one.
private final class LateJob: Sendable {
  let job = Mutex<LogJob<String>?>(nil)
}
