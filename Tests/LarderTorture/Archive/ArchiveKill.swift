// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Kills whoever records elements, and looks at what is left: every step that was acknowledged,
/// and indexes that find what a scan finds.
enum ArchiveKillFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      var orders = run.orders
      orders.caseIndex = run.caseIndex
      orders.folder = try Workplace.fresh("case", in: run.folder)
      try FileManager.default.createDirectory(
        atPath: orders.folder, withIntermediateDirectories: true)
      let plan = ArchivePlan(orders)
      var models = [ArchiveModel](repeating: ArchiveModel(), count: plan.lanes)
      // Several lives in one folder: what a kill left is what the next one begins with.
      for life in 0..<dice.between(2, 6) {
        orders.life = life
        let held = run.trial("life \(life), \(plan.lanes) lanes") {
          let heard = try Killing.kill(orders, lanes: plan.lanes, &dice)
          run.note("life \(life), killed after \(heard.done) steps")
          try check(plan, life, heard.done, &models, &dice)
        }
        if !held { break }
      }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: orders.folder)) }
    }
  }

  /// Opens what is left; `models` are what each lane left in the life before, and then what it
  /// left in this one.
  private static func check(
    _ plan: ArchivePlan, _ life: Int, _ done: [Int], _ models: inout [ArchiveModel],
    _ dice: inout Dice
  ) throws {
    let subject = try plan.open(life: life)
    defer { try? subject.archive.close() }  // What it leaves is looked at in the next life.
    var all = ArchiveModel()
    for lane in 0..<plan.lanes {
      for number in 0..<done[lane] {
        models[lane].apply(plan.step(lane: lane, number: number, life: life))
      }
      // One more may have been done, and nobody told.
      var next = models[lane]
      next.apply(plan.step(lane: lane, number: done[lane], life: life))
      models[lane] = try settle(subject, plan.keys(of: lane), models[lane], next)
      all.versions.merge(models[lane].versions) { $1 }
    }
    let keys = (0..<plan.lanes).flatMap { plan.keys(of: $0) }
    try subject.expect(all, keys: keys, &dice)
    try subject.verify()
  }

  /// Which of both states there is.
  private static func settle(
    _ subject: ArchiveSubject, _ keys: [Int], _ old: ArchiveModel, _ new: ArchiveModel
  ) throws -> ArchiveModel {
    var isOld = true
    var isNew = true
    for key in keys {
      let found = try subject.access(key)
      try expect(found.map { $0.id == Exhibit.id(key) } ?? true, "key \(key): somebody else's")
      let version = found?.version
      try expect(
        version == old.versions[key] || version == new.versions[key],
        "key \(key): step \(ArchiveSubject.describe(found)), neither the last that was "
          + "acknowledged nor the one after it")
      isOld = isOld && version == old.versions[key]
      isNew = isNew && version == new.versions[key]
    }
    try expect(isOld || isNew, "a step was done for some keys only")
    return isNew ? new : old
  }
}
