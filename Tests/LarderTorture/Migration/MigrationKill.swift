// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Kills whoever migrates an archive, again and again, and looks at what is left: each element
/// once, of the last version, found by its index.
///
/// `LARDER_MIGRATION_ELEMENTS` and `LARDER_MIGRATION_KILLS` say how many, instead of a few
/// thousand and a few.
enum MigrationKillFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      var orders = run.orders
      orders.caseIndex = run.caseIndex
      orders.folder = try Workplace.fresh("case", in: run.folder)
      let plan = MigrationPlan(orders)
      try plan.fill(run)
      let kills = Self.number("KILLS") ?? dice.between(1, 12)
      var early = 0
      for life in 0..<kills {
        orders.life = life
        let held = run.trial("life \(life) of \(plan.count) elements") {
          if try kill(orders, most: kills > 20 ? 40 : 120, run, &dice) { early += 1 }
          // Now and then somebody looks who only reads.
          if dice.oneIn(4) { try plan.checkReader(&dice) }
        }
        if !held { break }
      }
      run.trial("\(kills) lives of \(plan.count) elements") { try plan.check() }
      if Self.number("KILLS") != nil {
        run.tell("\(plan.count) elements, \(kills) kills, \(early) of them before the end")
      }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: orders.folder)) }
    }
  }

  static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment["LARDER_MIGRATION_\(name)"].flatMap { Int($0) }
  }

  /// Starts a migration and kills it after so many milliseconds at most from its first elements on.
  ///
  /// - Returns: Whether it was not through.
  private static func kill(
    _ orders: Orders, most: Int, _ run: Run, _ dice: inout Dice
  ) throws -> Bool {
    var orders = orders
    orders.duty = .die
    let victim = try Child(orders.arguments)
    var heard = Acknowledgement.Reader(lanes: 1)
    let wait = Double(dice.below(most)) / 1000
    // Some die while they open what is there.
    var end = dice.oneIn(6) ? Date() + wait : nil
    while end.map({ $0.timeIntervalSinceNow > 0 }) ?? true {
      let left = end.map { Int32(max(1, $0.timeIntervalSinceNow * 1000)) } ?? 1000
      switch victim.read(milliseconds: left) {
      case .bytes(let bytes): try heard.add(bytes)
      case .nothing: break
      case .end:
        let ending = victim.wait()
        try expect(ending == .status(0), "a migration ended with \(ending)")
        run.note("it was through")
        return false
      }
      if end == nil, heard.isReady { end = Date() + wait }
    }
    victim.kill()
    while case .bytes(let bytes) = victim.read(milliseconds: 5000) { try heard.add(bytes) }
    let ending = victim.wait()
    try expect(
      ending == .signal(SIGKILL) || ending == .status(0), "a migration ended with \(ending)")
    run.note("killed after \(heard.total) elements")
    return ending == .signal(SIGKILL)
  }
}

/// A process that migrates until it is through, or killed.
struct MigrationVictim {
  private let plan: MigrationPlan

  init(_ orders: Orders) { plan = MigrationPlan(orders) }

  func live() throws {
    do {
      let told = Told()
      let archive = try plan.open { configuration in
        configuration.openingProgress = { done, _ in
          told.tell(done)
          return true
        }
      }
      try archive.close()
    } catch {
      Acknowledgement.tell(error)
    }
  }

  /// Only the thread that opens it uses it.
  private final class Told: @unchecked Sendable {
    private var isReady = false

    func tell(_ done: UInt64) {
      if !isReady { Acknowledgement.tellReady() }
      isReady = true
      Acknowledgement.tell(lane: 0, done: Int(clamping: done))
    }
  }
}
