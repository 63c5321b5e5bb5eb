// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Kills whoever edits entries, and looks at what is left: every step that was acknowledged, and
/// each entry wholly old or wholly new.
enum EntryKillFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      var orders = run.orders
      orders.caseIndex = run.caseIndex
      orders.folder = try Workplace.fresh("case", in: run.folder)
      try FileManager.default.createDirectory(
        atPath: orders.folder, withIntermediateDirectories: true)
      let plan = EntryPlan(orders)
      var models = [EntryModel](
        repeating: EntryModel(valueCount: plan.valueCount), count: plan.lanes)
      // Several lives in one folder: what a kill left is what the next one begins with.
      for life in 0..<dice.between(2, 6) {
        orders.life = life
        let held = run.trial("life \(life), \(plan.lanes) lanes, \(plan.valueCount) values") {
          let heard = try Killing.kill(orders, lanes: plan.lanes, &dice)
          run.note("life \(life), killed after \(heard.done) steps")
          try check(plan, life, heard.done, &models)
        }
        if !held { break }
      }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: orders.folder)) }
    }
  }

  /// Opens what is left; `models` are what each lane left in the life before, and then what it
  /// left in this one.
  private static func check(
    _ plan: EntryPlan, _ life: Int, _ done: [Int], _ models: inout [EntryModel]
  ) throws {
    let subject = try plan.open()
    defer { try? subject.cache.close() }  // What it leaves is looked at in the next life.
    // What a limit costs goes with a flush, and none is to come between two looks.
    if plan.limit < .max { try subject.cache.checkpoint() }
    var all = EntryModel(valueCount: plan.valueCount)
    for lane in 0..<plan.lanes {
      for number in 0..<done[lane] {
        models[lane].apply(plan.step(lane: lane, number: number, life: life))
      }
      // One more may have been done, and nobody told.
      let last = plan.step(lane: lane, number: done[lane], life: life)
      var next = models[lane]
      next.apply(last)
      models[lane] = try settle(subject, plan.keys(of: lane), models[lane], next, plan)
      all.entries.merge(models[lane].entries) { $1 }
    }
    try subject.expectSums(all)
    try subject.verify()
    let size = try subject.size
    try expect(size <= plan.limit, "the size is \(size), above the limit of \(plan.limit)")
  }

  /// Which of both states there is, where entries may be missing only because of a limit.
  private static func settle(
    _ subject: EntrySubject, _ keys: [Int], _ old: EntryModel, _ new: EntryModel, _ plan: EntryPlan
  ) throws -> EntryModel {
    var settled = EntryModel(valueCount: plan.valueCount)
    var isOld = true
    var isNew = true
    for key in keys {
      let found = try subject.values(key)
      if found == nil, plan.limit < .max { continue }
      let (before, after) = (old.values(key), new.values(key))
      try expect(
        found == before || found == after,
        """
        key \(key): \(EntrySubject.describe(found)), neither \(EntrySubject.describe(before)) \
        nor \(EntrySubject.describe(after))
        """)
      isOld = isOld && found == before
      isNew = isNew && found == after
      settled.entries[key] = found == after ? new.entries[key] : old.entries[key]
    }
    try expect(isOld || isNew || plan.limit < .max, "a step was done for some keys only")
    return settled
  }
}
