// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// A failure of the tool's own: an input it cannot read, an output it cannot write. Failures of a
/// log are `LarderError`s.
struct ToolFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }

  init(errno code: CInt, doing: String) {
    // strerror's buffer is shared, but nothing of the tool calls it on two threads.
    description = "\(doing): \(String(cString: strerror(code)))"
  }
}

extension LarderError {
  /// What happened, and why if that is a failure of ours as well: say, what a server did before it
  /// was not asked any more.
  var explained: String {
    guard let cause = cause as? LarderError else { return message }
    return "\(message) \(cause.message)"
  }
}

/// The tool's exit codes, as its help states them. Wrong usage is 64, by the argument parser.
enum ToolExit {
  /// `verify`, `salvage`, `log cat` or `log tail` found damage or loss; a claim of the demo was not
  /// seen to hold.
  static let damage: Int32 = 1
  /// The command could not do what it was asked to, or not write its output.
  static let failure: Int32 = 2
  /// `cache get`, `entry get` or `archive get` found nothing; no element has a field that
  /// `archive query` was asked for.
  static let missing: Int32 = 3
  /// Ended by Ctrl-C before its work was done: what shells give for SIGINT.
  static let interrupted: Int32 = 130
}
