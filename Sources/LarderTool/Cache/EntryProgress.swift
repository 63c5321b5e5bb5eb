// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderLogTool

/// A long call that tells how far it is, and can be stopped by Ctrl-C.
enum EntryProgress {
  /// Runs `body`, and shows what it reports as `verb` and a share.
  ///
  /// - Parameters:
  ///   - noun: What is counted; nil where that says nothing to people.
  ///   - isShown: Whether to show it at all.
  /// - Throws: `ExitCode` if it was interrupted.
  static func run<R>(
    _ verb: String, noun: String? = nil, isShown: Bool = true,
    _ body: (@escaping (_ done: UInt64, _ total: UInt64) -> Bool) throws -> R
  ) throws -> R {
    Interruption.enable()
    var line = ProgressLine(isEnabled: isShown)
    defer { line.erase() }
    do {
      return try body { done, total in
        if line.isDue { line.draw(text(verb, noun, done, total)) }
        return !Interruption.isRequested
      }
    } catch is CancellationError {
      throw ExitCode(ToolExit.interrupted)
    }
  }

  private static func text(
    _ verb: String, _ noun: String?, _ done: UInt64, _ total: UInt64
  ) -> String {
    let percent = Quantity.percent(done, of: total)
    guard let noun else { return "\(verb), \(percent)" }
    let all = noun == "entry" ? CacheText.entries(total) : Quantity.count(total, noun)
    return "\(verb) \(Quantity.count(done)) of \(all), \(percent)"
  }
}
