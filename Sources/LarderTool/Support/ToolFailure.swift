// SPDX-License-Identifier: MIT
import Foundation
package import LarderCore
import Synchronization

/// A failure of the tool's own: an input it cannot read, an output it cannot write. Failures of a
/// log are `LarderError`s.
package struct ToolFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package init(errno code: CInt, doing: String) {
    // strerror's buffer is shared, but nothing of the tool calls it on two threads.
    description = "\(doing): \(String(cString: strerror(code)))"
  }
}

extension LarderError {
  /// What happened, and why if that is a failure of ours as well: say, what a server did before it
  /// was not asked any more.
  package var explained: String {
    guard let cause = cause as? LarderError else { return message }
    return "\(message) \(cause.message)"
  }
}

/// The tool's exit codes, as its help states them. Wrong usage is 64, by the argument parser.
package enum ToolExit {
  /// Whether something was lost of which nothing but a note could tell: then a command that went
  /// well ends with ``damage`` all the same.
  package static var hasLosses: Bool { losses.load(ordering: .relaxed) }
  package static func noteLosses() { losses.store(true, ordering: .relaxed) }
  private static let losses = Atomic(false)

  /// Something is damaged or was lost; a claim of the demo was not seen to hold.
  package static let damage: Int32 = 1
  /// `--grep` matched nothing, as with grep(1).
  package static let noMatch: Int32 = 1
  /// The command could not do what it was asked to, or not write its output.
  package static let failure: Int32 = 2
  /// `cache get`, `entry get` or `archive get` found nothing; no element has a field that
  /// `archive query` was asked for.
  package static let missing: Int32 = 3
  /// Ended by Ctrl-C before its work was done: what shells give for SIGINT.
  package static let interrupted: Int32 = 130
}
