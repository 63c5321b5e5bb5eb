// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore

/// What is wrong with a log, whether or not a process writes to it.
struct LogFinding {
  /// What is wrong with the file; `nil` while a process writes to it.
  let report: LogReport?
  /// Which messages are missing; `nil` if nothing is wrong.
  let walk: MessageWalk?
  let writer: Int?
  let intact: UInt64
  let isIntact: Bool

  init(_ ring: borrowing RingHandle) throws {
    let before = try ring.statistics().writerProcess
    var check = try ring.verify()
    writer = try before ?? ring.statistics().writerProcess
    if writer != nil {
      // What is overwritten under the eyes of the check looks like damage; so only a message
      // that is still there, and still cannot be read, counts.
      for _ in 0..<2 where !check.isIntact { check = try ring.verify() }
      let walk = check.isIntact ? nil : try MessageWalk(ring)
      report = nil
      self.walk = walk
      intact = walk?.intact ?? check.intact
      isIntact = walk?.missing.isEmpty ?? true
    } else {
      // Opening leaves out what it found damaged, so the check cannot see that again.
      let opening = try ring.recovery()
      let isIntact = check.isIntact && opening.isIntact
      report = opening.isIntact ? check : opening
      walk = isIntact ? nil : try MessageWalk(ring)
      intact = check.intact
      self.isIntact = isIntact
    }
  }
}

extension LogFinding {
  /// Ends a command that printed messages: says that the log is damaged if it is, and exits with 1.
  ///
  /// - Parameters:
  ///   - missed: Whether numbers were missing between messages, before or behind them. That alone
  ///     is no damage: they may have been overwritten meanwhile, or never been given.
  ///   - damage: Why only a copy could be printed.
  static func endPrinting(
    _ ring: borrowing RingHandle, _ path: String, missed: Bool, damage: LarderError? = nil
  ) throws {
    if let damage {
      StandardError.note(damage.message)
      throw ExitCode(ToolExit.damage)
    }
    guard try missed || ring.recovery().lost > 0 else { return }
    let finding: LogFinding
    do {
      finding = try LogFinding(ring)
    } catch let error as LarderError where error.code == .replaced {
      // Nobody can verify the file any more, or ask what is wrong with it.
      return
    }
    if finding.isIntact { return }
    let lost = finding.report?.lost ?? finding.walk?.missingCount ?? 0
    StandardError.note(
      "\(path): damaged, \(Quantity.count(lost, "message")) lost; larder log verify says more")
    throw ExitCode(ToolExit.damage)
  }
}
