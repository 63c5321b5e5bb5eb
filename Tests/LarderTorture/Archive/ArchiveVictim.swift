// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// How the lives of a case go: the same for the victim and for who kills it.
struct ArchivePlan {
  let orders: Orders
  let lanes: Int
  private let keysPerLane: Int
  private let threshold: Int
  private let checkpointInterval: Duration
  private let changesIndexes: Bool

  init(_ orders: Orders) {
    self.orders = orders
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: 1)
    lanes = dice.between(1, 3)
    keysPerLane = dice.pick([15, 40, 120])
    threshold = dice.pick([0, 500, 4000, 20_480])
    checkpointInterval = dice.pick([.milliseconds(1), .milliseconds(20), .zero])
    changesIndexes = dice.oneIn(2)
  }

  var path: String { orders.folder + "/archive" }

  /// The way in which a life declares its indexes; in some cases each has another one, and a kill
  /// then also meets an archive that is being indexed anew.
  func way(life: Int) -> Int {
    orders.caseIndex + (changesIndexes ? life : 0)
  }

  func open(life: Int) throws -> ArchiveSubject {
    var configuration = ArchiveConfiguration()
    configuration.inlineThreshold = threshold
    // A small journal and short waits: flushes are under way most of the time.
    configuration.journalCapacity = 1 << 20
    configuration.checkpointInterval = checkpointInterval
    return try ArchiveSubject(
      path: path, way: way(life: life), plant: orders.plant, configuration: configuration)
  }

  func keys(of lane: Int) -> [Int] { (0..<keysPerLane).map { lane * 1000 + $0 } }

  /// The step of that number in a life; lanes draw from their own keys.
  func step(lane: Int, number: Int, life: Int) -> ArchiveStep {
    let version = UInt64(life) << 40 | UInt64(lane) << 32 | UInt64(number)
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: version ^ 0xA000_0000_0000_0000)
    return .draw(keys: keys(of: lane), version: version, deletesAll: lanes == 1, &dice)
  }
}

/// A process that records and deletes until it is killed.
struct ArchiveVictim {
  private let plan: ArchivePlan

  init(_ orders: Orders) { plan = ArchivePlan(orders) }

  func live() throws {
    do {
      let (plan, life) = (plan, plan.orders.life)
      let subject = try plan.open(life: life)
      Acknowledgement.tellReady()
      Lanes.run(plan.lanes) { lane, number in
        try subject.perform(plan.step(lane: lane, number: number, life: life))
      }
    } catch {
      Acknowledgement.tell(error)
    }
  }
}
