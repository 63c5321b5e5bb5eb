// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What a queue is to do, in a few lines that are slow: every message in one array.
private struct QueueModel {
  enum Phase: Equatable {
    /// Not read since the queue was opened.
    case unread
    case ready, done, dead
    case leased(until: Int, token: Int)
    case delayed(until: Int)
  }

  struct Message {
    var phase = Phase.unread
    var attempts = 0
  }

  let window: Int
  let maximumAttempts: Int
  var messages: [Message] = []
  var now = 0
  var token = 0
  var dead: [Int] = []

  private var isOutstanding: [Bool] {
    messages.map { ![.unread, .done, .dead].contains($0.phase) }
  }

  mutating func expire() {
    for index in messages.indices {
      switch messages[index].phase {
      case .leased(let due, _) where due <= now, .delayed(let due) where due <= now:
        messages[index].phase = .ready
      default: break
      }
    }
  }

  /// The index of the message that is received; nil if there is none.
  mutating func poll(lease: Int) -> Int? {
    expire()
    while true {
      var found = messages.firstIndex { $0.phase == .ready }
      if found == nil, let next = messages.firstIndex(where: { $0.phase == .unread }) {
        let oldest = isOutstanding.firstIndex(of: true) ?? next
        if next - oldest < window { found = next }
      }
      guard let index = found else { return nil }
      if messages[index].attempts >= maximumAttempts {
        bury(index)
        continue
      }
      token += 1
      messages[index].attempts += 1
      messages[index].phase = .leased(until: now + lease, token: token)
      return index
    }
  }

  mutating func bury(_ index: Int) {
    messages[index].phase = .dead
    dead.append(index)
  }

  mutating func acknowledge(_ index: Int) -> Bool {
    if [.done, .dead].contains(messages[index].phase) { return false }
    messages[index].phase = .done
    return true
  }

  private func isLeased(_ index: Int, _ token: Int) -> Bool {
    guard case .leased(let due, token) = messages[index].phase else { return false }
    return now < due
  }

  mutating func release(_ index: Int, _ token: Int, after delay: Int) -> Bool {
    guard isLeased(index, token) else { return false }
    if messages[index].attempts >= maximumAttempts {
      bury(index)
    } else {
      messages[index].phase = .delayed(until: now + delay)
    }
    return true
  }

  mutating func extend(_ index: Int, _ token: Int, by lease: Int) -> Bool {
    guard isLeased(index, token) else { return false }
    messages[index].phase = .leased(until: now + lease, token: token)
    return true
  }

  mutating func reopen() {
    for index in messages.indices where ![.done, .dead].contains(messages[index].phase) {
      messages[index].phase = .unread
    }
  }

  /// When something happens next.
  var nextDue: Int? {
    messages.compactMap { message in
      switch message.phase {
      case .leased(let due, _), .delayed(let due): due > now ? due : nil
      default: nil
      }
    }.min()
  }

  func count(_ isCounted: (Phase) -> Bool) -> Int { messages.count { isCounted($0.phase) } }
}

@Suite("Queues: a model") struct LogQueueModelTests {
  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func aQueueDoesWhatItsModelDoes(seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    // The model is slow, so it begins again and again.
    for round in 0..<effort(8, long: 25) {
      try run(&dice, operations: 1000, "seed \(dice.seed), round \(round)")
    }
  }

  private func run(_ dice: inout SeededGenerator, operations: Int, _ comment: String) throws {
    let fixture = try QueueFixture()
    let window = Int.random(in: 1...12, using: &dice)
    let most = Int.random(in: 1...5, using: &dice)
    fixture.configuration.window = window
    let dead = try fixture.bury(after: most)
    var queue = try fixture.queue()
    var model = QueueModel(window: window, maximumAttempts: most)
    var jobs: [(job: LogJob<String>, token: Int)] = []

    for step in 0..<operations {
      let comment = Comment("\(comment), step \(step)")
      let time = Int.random(in: 1...20, using: &dice)
      let pick = jobs.randomElement(using: &dice)
      switch Int.random(in: 0..<100, using: &dice) {
      case 0..<20:
        model.messages.append(.init())
        try fixture.log.append("\(model.messages.count)")
      case 20..<50:
        let job = try queue.poll(leaseFor: .milliseconds(time))
        let index = model.poll(lease: time)
        #expect(job.map { Int($0.sequence) - 1 } == index, comment)
        guard let job, let index else { break }
        #expect(job.attempts == model.messages[index].attempts, comment)
        #expect(try job.message == "\(index + 1)", comment)
        jobs.append((job, model.token))
        if jobs.count > 2 * window { jobs.removeFirst() }
      case 50..<65:
        guard let (job, _) = pick else { break }
        let isDone = model.acknowledge(Int(job.sequence) - 1)
        #expect(try queue.acknowledge(job) == isDone, comment)
      case 65..<75:
        guard let (job, token) = pick else { break }
        let delay = time % 4 == 0 ? 0 : time
        let isBack = model.release(Int(job.sequence) - 1, token, after: delay)
        #expect(try queue.release(job, after: .milliseconds(delay)) == isBack, comment)
      case 75..<82:
        guard let (job, token) = pick else { break }
        let lasts = model.extend(Int(job.sequence) - 1, token, by: time)
        #expect(try queue.extendLease(of: job, for: .milliseconds(time)) == lasts, comment)
      case 82..<96:
        // To the moment at which something happens, and to the one before.
        let left = (model.nextDue ?? model.now + time) - model.now
        let by = max(0, left - time % 2)
        model.now += by
        fixture.time.advance(Double(by) / 1000)
      case 96..<98:
        queue = try fixture.reopen()
        model.reopen()
        jobs = []
      default:
        try fixture.log.suspend()
        try fixture.log.resume()
        model.reopen()
      }
      if step % 10 == 0 { try compare(queue, &model, comment) }
    }
    #expect(try dead.messages().map { Int($0.sequence) - 1 } == model.dead, "\(comment)")
    #expect(try dead.messages().allSatisfy { $0.attempts == most }, "\(comment)")
  }

  private func compare(
    _ queue: LogQueue<String>, _ model: inout QueueModel, _ comment: Comment
  ) throws {
    model.expire()
    let figures = try queue.statistics
    #expect(figures.ready == model.count { $0 == .ready || $0 == .unread }, comment)
    #expect(
      figures.leased == model.count { if case .leased = $0 { true } else { false } }, comment)
    #expect(
      figures.delayed == model.count { if case .delayed = $0 { true } else { false } }, comment)
    #expect(figures.lost == 0, comment)
  }
}
