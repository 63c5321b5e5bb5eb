// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// 50,000 random calls in all, 100,000 in a long run, each compared with what an array does.
@Suite("Ring: against a model")
struct RingModelTests {
  struct Plan: CustomStringConvertible, Sendable {
    var seed: UInt64
    var data: UInt64
    var longest: Int
    var overwrite: Bool

    var description: String { "seed \(seed), \(data) bytes, \(overwrite ? "overwrite" : "refuse")" }
  }

  static let plans: [Plan] = [
    Plan(seed: 1, data: 16, longest: 0, overwrite: true),
    Plan(seed: 2, data: 24, longest: 8, overwrite: false),
    Plan(seed: 3, data: 200, longest: 184, overwrite: true),
    Plan(seed: 4, data: 1000, longest: 60, overwrite: false),
    Plan(seed: 5, data: 1016, longest: 1000, overwrite: true),
    Plan(seed: 6, data: 4096, longest: 500, overwrite: false),
    Plan(seed: 7, data: 4088, longest: 300, overwrite: true),
    Plan(seed: 8, data: 20_000, longest: 40, overwrite: true),
    Plan(seed: 9, data: 70_000, longest: 69_984, overwrite: true),
    Plan(seed: 10, data: 300_000, longest: 9000, overwrite: true),
  ]

  /// A difference between ring and model.
  struct Difference: Error, CustomStringConvertible {
    var description: String
  }

  @Test(arguments: plans)
  func aRingDoesWhatAnArrayDoes(plan: Plan) throws {
    let directory = try TemporaryDirectory()
    var work = try Work(plan, directory.file("ring"))
    for step in 0..<effort(5_000, long: 10_000) {
      do {
        try work.step()
        // 2,000 times in all, and then now and then.
        if work.mutations <= 200 || step % 100 == 0 { try work.compare() }
      } catch {
        Issue.record("\(plan), started with \(work.generator.seed), step \(step): \(error)")
        return
      }
    }
  }

  private struct Work {
    let plan: Plan
    let url: URL
    var generator: SeededGenerator
    var ring: Ring
    var reader: RingReader
    var model: RingModel
    var mutations = 0

    init(_ plan: Plan, _ url: URL) throws {
      self.plan = plan
      self.url = url
      generator = SeededGenerator(seed: plan.seed)
      ring = try Ring(url, data: plan.data, overwrite: plan.overwrite)
      reader = try RingReader(ring)
      model = RingModel(dataBytes: plan.data, overwrites: plan.overwrite)
    }

    private mutating func random(_ range: ClosedRange<Int>) -> Int {
      Int.random(in: range, using: &generator)
    }

    private func expect(_ isRight: Bool, _ comment: @autoclosure () -> String) throws {
      if !isRight { throw Difference(description: comment()) }
    }

    mutating func step() throws {
      mutations += 1
      switch random(0...999) {
      case 0..<550: try append()
      case 550..<610: try remove()
      case 610..<640: try abort()
      case 640..<650: try ring.sync()
      case 650..<656: try reopen()
      default:
        mutations -= 1
        try read()
      }
    }

    private mutating func randomLength() -> Int {
      random(0...30) == 0
        ? max(0, Int(plan.data) - 16 - random(-9...9)) : random(0...plan.longest)
    }

    private mutating func append() throws {
      let length = randomLength()
      let isPartial = random(0...3) == 0
      let message = payload(model.nextSequence, min(length, 1 << 17))
      let flags = isPartial ? UInt32(LARDER_MESSAGE_PARTIAL) : 0
      let expected = model.nextSequence
      var sequence: UInt64 = 0
      var status: larder_status
      var isMarked = isPartial
      switch random(0...2) {
      case 0:
        isMarked = false
        status = larder_ring_append(ring.raw, message, message.count, &sequence)
      case 1:
        status = message.withUnsafeBytes { bytes in
          let payload = larder_bytes(data: bytes.baseAddress, length: bytes.count)
          let batch = [larder_message(payload: payload, flags: flags)]
          return larder_ring_append_batch(ring.raw, batch, 1, nil, &sequence)
        }
      default:
        var reservation = larder_reservation()
        status = larder_ring_reserve(ring.raw, message.count, &reservation)
        if status == LARDER_OK {
          reservation.bytes?.copyMemory(from: message, byteCount: message.count)
          status = larder_ring_commit(ring.raw, &reservation, message.count, flags, &sequence)
        }
      }
      let should = model.append(message.count, isPartial: isMarked)
      try expect(status == should, "append of \(message.count) bytes: \(status), not \(should)")
      try expect(sequence == (should == LARDER_OK ? expected : 0), "number \(sequence)")
    }

    private mutating func remove() throws {
      let oldest = model.nextSequence - UInt64(model.count)
      let sequence = random(0...3) == 0 ? .max : oldest + UInt64(random(0...model.count))
      let removed = try ring.remove(through: sequence)
      let should = model.remove(through: sequence)
      try expect(removed == should, "removed \(removed) through \(sequence), not \(should)")
    }

    private mutating func abort() throws {
      let length = randomLength()
      var reservation = larder_reservation()
      let status = larder_ring_reserve(ring.raw, length, &reservation)
      if status == LARDER_OK {
        reservation.bytes?.initializeMemory(as: UInt8.self, repeating: 0xAB, count: length)
        larder_ring_abort(ring.raw, &reservation)
      }
      let should = model.abort(length)
      try expect(status == should, "reservation of \(length) bytes: \(status), not \(should)")
    }

    private mutating func reopen() throws {
      ring.close()
      let isKilled = random(0...1) == 0
      if isKilled { try url.patch([0, 0, 0, 0], at: 124) }
      ring = try Ring(url)
      reader = try RingReader(ring)
      let report = try ring.recovery
      try expect(report.was_closed == (isKilled ? 0 : 1), "closed \(report.was_closed)")
      try expect(report.lost == 0 && report.cut == 0, "\(report)")
      try compare()
    }

    /// Goes to a place and from there a dozen steps to and fro.
    private mutating func read() throws {
      let oldest = model.nextSequence - UInt64(model.count)
      let sequence =
        switch random(0...9) {
        case 0: UInt64(0)
        case 1: UInt64.max
        default: oldest + UInt64(random(0...model.count + 1))
        }
      try reader.seek(sequence)
      var index = sequence == .max ? model.count : model.index(of: sequence)
      var isForward = Bool.random(using: &generator)
      for _ in 0..<12 {
        if random(0...3) == 0 { isForward.toggle() }
        let message = try isForward ? reader.next() : reader.previous()
        let place = isForward ? index : index - 1
        guard place >= 0, place < model.count else {
          try expect(message == nil, "\(String(describing: message)) beyond the end")
          continue
        }
        let should = model[place]
        try expect(
          message?.sequence == should.sequence && message?.isPartial == should.isPartial
            && message?.payload.count == should.length && message?.isRight == true
            && message?.lost == 0,
          "seek \(sequence): \(String(describing: message)), not \(should)")
        index += isForward ? 1 : -1
      }
    }

    /// The ring's figures, and whether every byte agrees with every other.
    func compare() throws {
      let now = try ring.statistics
      try expect(
        now.count == UInt64(model.count) && now.next_sequence == model.nextSequence
          && now.overwritten == model.overwritten && now.removed == model.removed
          && now.lost == 0 && now.used_bytes == model.usedBytes,
        "\(now), not \(model.count) messages, \(model.usedBytes) bytes")
      if !model.isEmpty {
        try expect(now.oldest_sequence == model[0].sequence, "oldest \(now.oldest_sequence)")
      }
      let (status, report) = ring.verify()
      try expect(status == LARDER_OK, "check: \(status), \(report)")
    }
  }
}
