// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// How the lives of a case go: the same for the victim and for who kills it.
struct SuspendPlan {
  /// Eight threads, as many as an app may well have.
  static let lanes = 8
  private static let keysPerLane = 40

  let orders: Orders
  private let inlineThreshold: Int
  private let checkpointInterval: Duration

  init(_ orders: Orders) {
    self.orders = orders
    var dice = Dice(orders, caseIndex: orders.caseIndex, salt: 1)
    inlineThreshold = dice.pick([0, 64, 1024])
    checkpointInterval = dice.pick([.milliseconds(1), .milliseconds(20), .zero])
  }

  func openLog() throws -> MessageLog<String> {
    try MessageLog(
      at: .path(orders.folder + "/log.larder"), capacity: 16.megabytes,
      whenFull: .refuse, coder: .string)
  }

  func openCache() throws -> DiskCache<Int, Data> {
    var configuration = DiskCacheConfiguration<Int, Data>()
    configuration.inlineThreshold = inlineThreshold
    configuration.journalCapacity = 1 << 20
    configuration.checkpointInterval = checkpointInterval
    return try DiskCache(
      at: .path(orders.folder + "/cache"), coder: .data, configuration: configuration)
  }

  /// What a step of a lane appends.
  func message(life: Int, lane: Int, number: Int) -> String { "\(life) \(lane) \(number)" }

  /// Where it stores something.
  func key(lane: Int, number: Int) -> Int { lane * 1000 + number % Self.keysPerLane }

  /// What it stores there.
  func value(life: Int, lane: Int, number: Int) -> Data {
    let version = UInt64(life) << 40 | UInt64(lane) << 32 | UInt64(number)
    return Filler.bytes(key: key(lane: lane, number: number), index: 0, version: version)
  }

  func durability(number: Int) -> Durability { number % 16 == 0 ? .power : .process }
}

/// A process that appends and stores on eight threads, while another one suspends and resumes,
/// until it is killed.
struct SuspendVictim {
  private let plan: SuspendPlan

  init(_ orders: Orders) { plan = SuspendPlan(orders) }

  func live() throws {
    do {
      let plan = plan
      let (log, cache) = try (plan.openLog(), plan.openCache())
      Acknowledgement.tellReady()
      Thread.detachNewThread {
        do { try suspendAndResume(log, cache) } catch { Acknowledgement.tell(error) }
      }
      let isEarly = plan.orders.plant == .earlyAcknowledgement
      Lanes.run(SuspendPlan.lanes) { lane, number in
        let number = isEarly ? number - 1 : number
        if number < 0 { return }
        let life = plan.orders.life
        let durability = plan.durability(number: number)
        try untilResumed {
          try log.append(
            plan.message(life: life, lane: lane, number: number), durability: durability)
        }
        try untilResumed {
          try cache.set(
            plan.value(life: life, lane: lane, number: number),
            forKey: plan.key(lane: lane, number: number), durability: durability)
        }
      }
    } catch {
      Acknowledgement.tell(error)
    }
  }

  /// Makes a call again that fails because of a suspension.
  private func untilResumed(_ body: () throws -> Void) throws {
    while true {
      do {
        return try body()
      } catch let error as LarderError where error.code == .suspended {
        usleep(100)
      }
    }
  }

  private func suspendAndResume(_ log: MessageLog<String>, _ cache: DiskCache<Int, Data>) throws {
    let keepsLock = plan.orders.plant == .keepsLock
    for visit in 0... {
      let calls: SuspendedCalls = visit % 2 == 0 ? .fail : .wait
      if !keepsLock {
        try log.suspend(calls: calls)
        try cache.suspend(calls: calls)
      }
      try beVisited(visit)
      try log.resume()
      try cache.resume()
      usleep(UInt32(visit % 5 * 300))
    }
  }

  /// Does what another process would: it opens both for writing.
  private func beVisited(_ visit: Int) throws {
    let log = try plan.openLog()
    try log.append("visit \(plan.orders.life) \(visit)")
    try log.close()
    let cache = try plan.openCache()
    try cache.set(Data("\(visit)".utf8), forKey: -1)
    try cache.close()
  }
}
