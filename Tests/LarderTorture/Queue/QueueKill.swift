// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Kills whoever does a queue's jobs, and looks at what was done: each job at least once, none
/// again that was acknowledged, repeats for no more than the leases that a kill ended, and each
/// letter once.
enum QueueKillFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      var orders = run.orders
      orders.caseIndex = run.caseIndex
      orders.folder = try Workplace.fresh("case", in: run.folder)
      try FileManager.default.createDirectory(
        atPath: orders.folder, withIntermediateDirectories: true)
      let plan = QueuePlan(orders)
      var model = QueueKillModel(plan)
      var holds = true
      for life in 0..<plan.kills where holds {
        orders.life = life
        holds = run.trial("life \(life)") {
          let heard = try Killing.kill(
            orders, lanes: QueuePlan.workers, &dice, most: 2 * plan.stepsPerLife)
          run.note("life \(life), killed after \(heard.total) steps")
          try model.check(isKilled: true)
        }
      }
      if holds {
        run.trial("the end, after \(plan.kills) kills") {
          try model.finish { run.note("the end, \($0) done") }
        }
      }
      if run.orders.isOnlyCase || plan.jobs >= 100_000 { run.tell(model.summary) }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: orders.folder)) }
    }
  }
}

/// What there has to be after a life.
private struct QueueKillModel {
  private struct Job {
    var received = 0
    var attempts = 0
    var isAcknowledged = false
    /// A worker has it, as far as the witness says.
    var isHeld = false
  }

  private let plan: QueuePlan
  private var offset: UInt64 = 0
  private var jobs: [UInt64: Job] = [:]
  private var kills = 0
  private var releases = 0
  private var repeats = 0
  /// Attempts that were counted, and of which no worker told.
  private var untold = 0

  init(_ plan: QueuePlan) { self.plan = plan }

  var summary: String {
    """
    queue: \(jobs.count) jobs, \(kills) kills, \(repeats) deliveries of jobs that a kill had \
    taken from a worker, \(releases) releases
    """
  }

  mutating func check(isKilled: Bool) throws {
    guard FileManager.default.fileExists(atPath: plan.witness) else { return }
    for record in try QueueWitness.read(plan.witness, from: &offset) {
      var job = jobs[record.sequence] ?? Job()
      let name = "job \(record.sequence)"
      switch record.event {
      case .received:
        try expect(!job.isAcknowledged, "\(name) came again after it was acknowledged")
        try expect(!job.isHeld, "\(name) was given to two workers")
        try expect(
          record.attempts > job.attempts && record.attempts <= plan.maximumAttempts,
          "\(name): attempt \(record.attempts) after \(job.attempts)")
        untold += record.attempts - job.attempts - 1
        job.received += 1
        job.attempts = record.attempts
        job.isHeld = true
      case .acknowledged:
        try expect(job.isHeld, "\(name) was acknowledged by nobody")
        job.isAcknowledged = true
        job.isHeld = false
      case .released:
        releases += 1
        job.isHeld = false
      }
      jobs[record.sequence] = job
    }
    if isKilled { kills += 1 }
    let held = jobs.filter { $0.value.isHeld }
    try expect(
      held.count <= QueuePlan.workers, "\(held.count) leases of \(QueuePlan.workers) workers")
    repeats += held.count
    for number in held.keys { jobs[number]?.isHeld = false }
    try expect(
      untold <= kills * QueuePlan.workers,
      "\(untold) attempts that no worker made, after \(kills) kills")
  }

  /// Does what is left, and looks at everything.
  ///
  /// - Parameter progress: Told every few seconds how many jobs were done.
  mutating func finish(_ progress: (UInt64) -> Void) throws {
    let shop = try QueueShop(plan)
    let failures = Failures()
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<QueuePlan.workers {
      Thread.detachNewThread {
        do { while try shop.work() {} } catch { failures.add(error) }
        done.signal()
      }
    }
    for _ in 0..<QueuePlan.workers {
      while done.wait(timeout: .now() + 5) == .timedOut {
        progress(try shop.queue.statistics.done)
      }
    }
    if let failure = failures.first { throw failure }
    // A worker that found nothing may have missed what another one gave back.
    while try shop.work() {}
    try check(isKilled: false)
    let figures = try shop.queue.statistics
    let newest = try shop.log.statistics.nextSequence - 1
    try expect(
      figures.ready == 0 && figures.leased == 0 && figures.delayed == 0 && figures.lost == 0
        && figures.acknowledged == newest, "not everything is done: \(figures)")
    try expect(newest >= plan.jobs, "\(newest) jobs of \(plan.jobs)")
    try checkLetters(shop, newest)
    try expect(try shop.log.verify().isIntact, "verify found damage in the log")
    try shop.close()
  }

  private func checkLetters(_ shop: QueueShop, _ newest: UInt64) throws {
    var dead: Set<UInt64> = []
    for letter in try shop.deadLetters.messages() {
      let name = "job \(letter.sequence)"
      try expect(dead.insert(letter.sequence).inserted, "\(name) died twice")
      try expect(letter.attempts == plan.maximumAttempts, "\(name): \(letter.attempts) attempts")
      try expect(
        jobs[letter.sequence]?.isAcknowledged != true, "\(name) is done and dead")
    }
    var unknown = 0
    for number in 1...newest {
      guard let job = jobs[number] else {
        // Each delivery ended a worker before it could tell.
        try expect(dead.contains(number), "job \(number) was never received")
        continue
      }
      if job.isAcknowledged || dead.contains(number) { continue }
      // Killed between the acknowledgement and the record of it.
      unknown += 1
      try expect(!plan.fails(number), "job \(number) failed, and is not dead")
    }
    try expect(
      unknown <= kills * QueuePlan.workers, "\(unknown) jobs that nobody acknowledged")
  }
}

/// What threads threw.
private final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var errors: [any Error] = []

  var first: (any Error)? { lock.withLock { errors.first } }

  func add(_ error: any Error) { lock.withLock { errors.append(error) } }
}
