// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Kills whoever writes while it is suspended and resumed, and looks at what is left: every step
/// that was acknowledged, and none twice.
enum SuspendKillFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      var orders = run.orders
      orders.caseIndex = run.caseIndex
      orders.folder = try Workplace.fresh("case", in: run.folder)
      try FileManager.default.createDirectory(
        atPath: orders.folder, withIntermediateDirectories: true)
      var model = SuspendModel(SuspendPlan(orders))
      for life in 0..<dice.between(2, 5) {
        orders.life = life
        let held = run.trial("life \(life)") {
          let heard = try Killing.kill(orders, lanes: SuspendPlan.lanes, &dice)
          run.note("life \(life), killed after \(heard.done) steps")
          try model.check(life: life, done: heard.done)
        }
        if !held { break }
      }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: orders.folder)) }
    }
  }
}

/// What there has to be after a life.
private struct SuspendModel {
  private let plan: SuspendPlan
  /// How many steps of each lane there are in the log, of each life.
  private var appended: [[Int]] = []
  private var values: [Int: Data] = [:]

  init(_ plan: SuspendPlan) { self.plan = plan }

  mutating func check(life: Int, done: [Int]) throws {
    try checkLog(life: life, done: done)
    try checkCache(life: life, done: done)
  }

  private mutating func checkLog(life: Int, done: [Int]) throws {
    let log = try plan.openLog()
    defer { try? log.close() }  // What it leaves is looked at in the next life.
    var found = [[Int]](repeating: [Int](repeating: 0, count: SuspendPlan.lanes), count: life + 1)
    for message in try log.messages() where !message.hasPrefix("visit") {
      let words = message.split(separator: " ").compactMap { Int($0) }
      try expect(words.count == 3 && words[0] <= life, "an unknown message: \(message)")
      let (life, lane, number) = (words[0], words[1], words[2])
      try expect(
        number == found[life][lane],
        "life \(life), lane \(lane): message \(number) where \(found[life][lane]) comes next")
      found[life][lane] += 1
    }
    for lane in 0..<SuspendPlan.lanes {
      // One more may have been appended, and nobody told.
      let count = found[life][lane]
      try expect(
        count == done[lane] || count == done[lane] + 1,
        "lane \(lane): \(count) messages, and \(done[lane]) acknowledged")
    }
    try expect(found.dropLast() == appended[...], "messages of an earlier life are not there")
    appended = found
    try expect(try log.verify().isIntact, "verify found damage in the log")
  }

  private mutating func checkCache(life: Int, done: [Int]) throws {
    let cache = try plan.openCache()
    defer { try? cache.close() }  // Likewise.
    for lane in 0..<SuspendPlan.lanes {
      for number in 0..<done[lane] {
        let key = plan.key(lane: lane, number: number)
        values[key] = plan.value(life: life, lane: lane, number: number)
      }
      let key = plan.key(lane: lane, number: done[lane])
      let next = plan.value(life: life, lane: lane, number: done[lane])
      if try cache.value(forKey: key) == next { values[key] = next }
    }
    for (key, value) in values {
      try expect(
        try cache.value(forKey: key) == value, "key \(key): not the last that was acknowledged")
    }
    let keys = try cache.keys().filter { $0 >= 0 }
    try expect(keys.count == values.count, "\(keys.count) keys, not \(values.count)")
    try expect(try cache.verify().isIntact, "verify found damage in the cache")
  }
}
