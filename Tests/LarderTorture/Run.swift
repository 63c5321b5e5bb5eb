// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// One family at work: which case it is at, how much time it has, and what it tells.
///
/// Random choices follow from the seed and the number of the case, so that a case can be repeated.
/// Where a case kills a process the moment of its death is the scheduler's.
final class Run {
  let orders: Orders
  private let end: Date
  private(set) var caseIndex: Int
  private var hasBegun = false

  init(_ orders: Orders) {
    self.orders = orders
    caseIndex = orders.caseIndex
    end = Date() + orders.seconds
  }

  var folder: String { orders.folder }

  var goesOn: Bool { end.timeIntervalSinceNow > 0 }

  /// The next case's random numbers; nil when the time is up. There is always one.
  func nextCase() -> Dice? {
    if hasBegun {
      if orders.isOnlyCase || !goesOn { return nil }
      caseIndex += 1
    }
    hasBegun = true
    Self.say("C", "\(caseIndex)")
    return Dice(orders, caseIndex: caseIndex, salt: 0)
  }

  /// Does what may fail, and counts it. What it throws is what did not hold.
  ///
  /// - Returns: Whether it held.
  @discardableResult
  func trial(_ note: @autoclosure () -> String, _ body: () throws -> Void) -> Bool {
    Self.say("T", note())
    do {
      try body()
      return true
    } catch {
      Self.say("F", "\(error)".replacingOccurrences(of: "\n", with: " "))
      return false
    }
  }

  /// What is going on, for the report of a failure.
  func note(_ text: String) { Self.say("N", text) }

  /// Prints a line above the family's.
  func tell(_ text: String) { Self.say(" ", text) }

  static func say(_ letter: String, _ text: String) {
    LarderTorture.say("\(letter) \(text)")
  }
}
