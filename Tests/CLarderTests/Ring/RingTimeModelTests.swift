// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// Rings that keep times, compared with a plain array after random calls.
@Suite("Ring: times against a model")
struct RingTimeModelTests {
  struct Plan: CustomStringConvertible, Sendable {
    var seed: UInt64
    var data: UInt64
    var longest: Int
    var overwrite: Bool
    /// 0: none is removed for its age.
    var age: Int64

    var description: String {
      "seed \(seed), \(data) bytes, \(overwrite ? "overwrite" : "refuse"), age \(age)"
    }
  }

  static let plans: [Plan] = [
    Plan(seed: 1, data: 24, longest: 0, overwrite: true, age: 0),
    Plan(seed: 2, data: 40, longest: 8, overwrite: false, age: 20),
    Plan(seed: 3, data: 200, longest: 176, overwrite: true, age: 0),
    Plan(seed: 4, data: 1000, longest: 60, overwrite: false, age: 0),
    Plan(seed: 5, data: 4096, longest: 500, overwrite: false, age: 100),
    Plan(seed: 6, data: 4088, longest: 30, overwrite: true, age: 0),
    Plan(seed: 7, data: 20_000, longest: 40, overwrite: true, age: 400),
    Plan(seed: 8, data: 70_000, longest: 30_000, overwrite: true, age: 0),
    Plan(seed: 9, data: 300_000, longest: 3000, overwrite: true, age: 1000),
  ]

  @Test(arguments: plans)
  func aRingDoesWhatAnArrayDoes(plan: Plan) throws {
    let directory = try TemporaryDirectory()
    var work = try Work(plan, directory.file("ring"))
    for step in 0..<4000 {
      do {
        try work.step()
        if step < 300 || step % 50 == 0 { try work.compare() }
      } catch {
        Issue.record("\(plan), step \(step): \(error)")
        return
      }
    }
  }

  private struct Work {
    let plan: Plan
    let url: URL
    let clock = RingClock(1000)
    var generator: SeededGenerator
    var ring: Ring
    /// Knows what has to go for room; a time is part of the length for it.
    var model: RingModel
    /// Of all messages ever appended: the first has number 1.
    var times: [Int64] = []

    init(_ plan: Plan, _ url: URL) throws {
      self.plan = plan
      self.url = url
      generator = SeededGenerator(seed: plan.seed)
      ring = try Self.open(plan, url, clock, capacity: capacity(data: plan.data))
      model = RingModel(dataBytes: plan.data, overwrites: plan.overwrite)
    }

    static func open(
      _ plan: Plan, _ url: URL, _ clock: RingClock, capacity: UInt64 = 0
    ) throws -> Ring {
      try Ring(url) { options in
        options.capacity_bytes = capacity
        options.flags = UInt32(LARDER_RING_KEEP_TIMES)
        if plan.overwrite { options.flags |= UInt32(LARDER_RING_OVERWRITE) }
        options.maximum_age_ns = plan.age
        clock.set(in: &options)
      }
    }

    private mutating func random(_ range: ClosedRange<Int>) -> Int {
      Int.random(in: range, using: &generator)
    }

    private func expect(_ isRight: Bool, _ comment: @autoclosure () -> String) throws {
      if !isRight { throw RingModelTests.Difference(description: comment()) }
    }

    private func time(_ index: Int) -> Int64 { times[Int(model[index].sequence) - 1] }

    mutating func step() throws {
      // Most often it stands still, and now and then it is set back.
      switch random(0...9) {
      case 0..<4: break
      case 4..<9: clock.now += Int64(random(1...10))
      default: clock.now = max(0, clock.now - Int64(random(0...60)))
      }
      switch random(0...99) {
      case 0..<70: try append()
      case 70..<78: try remove()
      case 78..<82: try reopen()
      default: try seek(random(0...20) == 0 ? 40 : 3)
      }
    }

    /// What an append does first.
    private mutating func begin() {
      let newest = model.isEmpty ? 0 : time(model.count - 1)
      floor = max(floor ?? newest, clock.now)
      if plan.age > 0 { drop(before: clock.now - plan.age) }
    }

    @discardableResult private mutating func drop(before time: Int64) -> UInt64 {
      var last: UInt64?
      for index in 0..<model.count where self.time(index) < time { last = model[index].sequence }
      return last.map { model.remove(through: $0) } ?? 0
    }

    private mutating func append() throws {
      let length =
        random(0...30) == 0
        ? max(0, Int(plan.data) - 24 - random(-9...9)) : random(0...plan.longest)
      let message = payload(model.nextSequence, min(length, 1 << 17))
      var status: larder_status
      let isTooLong = recordBytes(message.count + 8) > plan.data
      switch random(0...2) {
      case 0:
        status = larder_ring_append(ring.raw, message, message.count, nil)
        if !isTooLong { begin() }
      case 1:
        status = message.withUnsafeBytes { bytes in
          let payload = larder_bytes(data: bytes.baseAddress, length: bytes.count)
          return larder_ring_append_batch(
            ring.raw, [larder_message(payload: payload, flags: 0)], 1, nil, nil)
        }
        begin()
      default:
        var reservation = larder_reservation()
        status = larder_ring_reserve(ring.raw, message.count, &reservation)
        if status == LARDER_OK {
          reservation.bytes?.copyMemory(from: message, byteCount: message.count)
          status = larder_ring_commit(ring.raw, &reservation, message.count, 0, nil)
        }
        if !isTooLong { begin() }
      }
      let should = model.append(message.count + 8, isPartial: false)
      try expect(status == should, "append of \(message.count) bytes: \(status), not \(should)")
      if status == LARDER_OK { times.append(floor ?? 0) }
    }

    /// No message that this handle appends from now on is of an earlier time, also where none is
    /// left; nil before its first append.
    private var floor: Int64?

    private mutating func remove() throws {
      if Bool.random(using: &generator) {
        let oldest = model.nextSequence - UInt64(model.count)
        let sequence = random(0...3) == 0 ? .max : oldest + UInt64(random(0...model.count))
        let removed = try ring.remove(through: sequence)
        let should = model.remove(through: sequence)
        try expect(removed == should, "removed \(removed) through \(sequence), not \(should)")
      } else {
        let index = random(0...model.count)
        let time = (index < model.count ? self.time(index) : clock.now) + Int64(random(-1...1))
        let removed = try ring.remove(before: time)
        let should = drop(before: time)
        try expect(removed == should, "removed \(removed) before \(time), not \(should)")
      }
    }

    private mutating func reopen() throws {
      ring.close()
      if Bool.random(using: &generator) { try url.patch([0, 0, 0, 0], at: 124) }
      floor = nil
      ring = try Self.open(plan, url, clock)
      let report = try ring.recovery
      try expect(report.lost == 0 && report.cut == 0, "\(report)")
    }

    /// Goes to the times of some messages, and to those right beside them.
    private mutating func seek(_ count: Int) throws {
      let handle = Bool.random(using: &generator) ? ring : try Ring(reading: url)
      let reader = try RingReader(handle)
      for _ in 0..<count {
        let index = random(0...model.count)
        let time = (index < model.count ? self.time(index) : floor ?? 0) + Int64(random(-1...1))
        try expectSeek(reader, to: time)
      }
    }

    private func expectSeek(_ reader: RingReader, to time: Int64) throws {
      let should = (0..<model.count).first { self.time($0) >= time } ?? model.count
      try reader.seek(time: time)
      let next = try reader.next()
      let expected = should < model.count ? model[should].sequence : nil
      try expect(next?.sequence == expected, "seek \(time): \(next?.sequence ?? 0), not \(should)")
      try expect(next.map { $0.lost == 0 && $0.isRight } ?? true, "seek \(time): \(next!)")
      try reader.seek(time: time)
      let previous = try reader.previous()
      let before = should > 0 ? model[should - 1].sequence : nil
      try expect(previous?.sequence == before, "before \(time): \(previous?.sequence ?? 0)")
    }

    mutating func compare() throws {
      let messages = try ring.messages
      let live = (0..<model.count).map { model[$0].sequence }
      try expect(messages.map(\.sequence) == live, "\(messages), not \(live)")
      let should = (0..<model.count).map { time($0) }
      try expect(messages.map(\.time) == should, "\(messages.map(\.time)), not \(should)")
      let now = try ring.statistics
      try expect(
        now.removed == model.removed && now.overwritten == model.overwritten
          && now.used_bytes == model.usedBytes && now.oldest_time_ns == should.first ?? 0
          && now.newest_time_ns == should.last ?? 0, "\(now)")
      try expect(ring.isSound, "\(ring.verify().report)")
      let reader = try RingReader(ring)
      for boundary in Set(should).sorted().suffix(30) {
        for time in [boundary - 1, boundary, boundary + 1] { try expectSeek(reader, to: time) }
      }
    }
  }
}
