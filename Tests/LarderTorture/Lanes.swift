// SPDX-License-Identifier: MIT
import Foundation

/// Threads of a victim, each with keys of its own.
enum Lanes {
  /// Lets each lane do step after step, and tells of each, until the process is killed.
  static func run(
    _ count: Int, _ step: @escaping @Sendable (_ lane: Int, _ step: Int) throws -> Void
  ) {
    for lane in 0..<count {
      Thread.detachNewThread {
        var done = 0
        while true {
          do { try step(lane, done) } catch { Acknowledgement.tell(error) }
          done += 1
          Acknowledgement.tell(lane: lane, done: done)
        }
      }
    }
    Thread.sleep(forTimeInterval: Acknowledgement.lifetime)
    exit(0)
  }
}
