// SPDX-License-Identifier: MIT
import Foundation

extension Tour {
  /// Starts a writer, which tells the number of each of its writes in eight bytes once it is
  /// acknowledged, and kills it after a random number of them.
  ///
  /// - Parameters:
  ///   - arguments: The writer's.
  ///   - counts: How many acknowledgements are waited for.
  /// - Returns: The last number that was acknowledged.
  func killWriter(_ arguments: [String], after counts: ClosedRange<Int>) throws -> UInt64 {
    let child = try ChildProcess(arguments)
    let enough = Int.random(in: counts) * 8
    var reports = Data()
    while reports.count < enough {
      let more = child.read()
      guard !more.isEmpty else { break }
      reports.append(more)
    }
    child.send(SIGKILL)
    // What was in the pipe when it died was acknowledged, too.
    while case let more = child.read(), !more.isEmpty { reports.append(more) }
    let end = child.wait()
    guard end == -SIGKILL, reports.count >= 8 else {
      try claim(false, "The writer ran until it was killed.", otherwise: "It ended with \(end).")
      return 0
    }
    let last = reports.prefix(reports.count / 8 * 8).suffix(8)
    return last.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
