// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// How the lives of a case go: the same for the victim and for who kills it.
struct EntryPlan {
  static let keysPerLane = 12

  let orders: Orders
  let lanes: Int
  let valueCount: Int
  /// Bytes; `.max` for none.
  let limit: Int
  private let threshold: Int
  private let checkpointInterval: Duration

  init(_ orders: Orders) {
    self.orders = orders
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: 1)
    lanes = dice.between(1, 3)
    valueCount = dice.between(1, 4)
    limit = dice.oneIn(4) ? dice.between(20_000, 200_000) : .max
    threshold = dice.pick([0, 500, 4000, 20_480])
    checkpointInterval = dice.pick([.milliseconds(1), .milliseconds(20), .zero])
  }

  var path: String { orders.folder + "/cache" }

  func open() throws -> EntrySubject {
    var configuration = EntryCacheConfiguration()
    configuration.sizeLimit = DataSize(bytes: limit)
    configuration.inlineThreshold = threshold
    // A small journal and short waits: flushes are under way most of the time.
    configuration.journalCapacity = 256 << 10
    configuration.checkpointInterval = checkpointInterval
    return try EntrySubject(
      path: path, valueCount: valueCount, plant: orders.plant, configuration: configuration)
  }

  func keys(of lane: Int) -> [Int] {
    (0..<Self.keysPerLane).map { lane * 100 + $0 }
  }

  /// The step of that number in a life; lanes draw from their own keys.
  func step(lane: Int, number: Int, life: Int) -> EntryStep {
    let version = UInt64(life) << 40 | UInt64(lane) << 32 | UInt64(number)
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: version ^ 0xE000_0000_0000_0000)
    return .draw(
      keys: keys(of: lane), valueCount: valueCount, version: version, removesAll: lanes == 1, &dice)
  }
}

/// A process that changes entries until it is killed.
struct EntryVictim {
  private let plan: EntryPlan

  init(_ orders: Orders) { plan = EntryPlan(orders) }

  func live() throws {
    do {
      let subject = try plan.open()
      Acknowledgement.tellReady()
      let (plan, life) = (plan, plan.orders.life)
      Lanes.run(plan.lanes) { lane, number in
        _ = try subject.perform(plan.step(lane: lane, number: number, life: life))
      }
    } catch {
      Acknowledgement.tell(error)
    }
  }
}
