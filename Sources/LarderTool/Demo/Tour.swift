// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

/// A claim of the demo that was not seen to hold.
struct DemoFailure: Error {}

/// Lays out what the demo says, and makes it fail where it does not hold.
final class Tour {
  /// Where the demo keeps its files; removed at its end.
  let directory: URL
  private var step = 0
  private(set) var claims = 0
  /// Why what was said last could not be written.
  private var outputFailure: (any Error)?
  private let usesColor: Bool
  private let usesSymbols: Bool

  init(directory: URL) {
    self.directory = directory
    let environment = ProcessInfo.processInfo.environment
    usesColor =
      isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
      && environment["TERM", default: "dumb"] != "dumb"
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }
      .first { !$0.isEmpty }
    usesSymbols = Platform.isApple || locale?.uppercased().contains("UTF") ?? false
  }

  func file(_ name: String) -> URL { directory.appendingPathComponent(name) }

  /// Starts a step, unless the person at the terminal has had enough.
  func heading(_ title: String) throws {
    try requireAudience()
    step += 1
    say("\n\(styled("\(step). \(title)", "1"))")
  }

  /// Says what is going to be done.
  func explain(_ text: String) {
    for line in text.split(separator: "\n") { say("   \(styled(String(line), "2"))") }
  }

  /// Shows something that was measured.
  func show(_ text: String) { say("   \(text)") }

  /// States what was seen to hold, or fails.
  func claim(_ holds: Bool, _ text: String, otherwise details: @autoclosure () -> String = "")
    throws
  {
    claims += 1
    try requireAudience()
    guard holds else {
      say("   \(styled(usesSymbols ? "✗" : "FAILED", "31")) \(text)")
      let details = details()
      if !details.isEmpty { say("     \(details)") }
      throw DemoFailure()
    }
    say("   \(styled(usesSymbols ? "✓" : "ok", "32")) \(text)")
  }

  /// Prints a line at once, also into a pipe.
  func say(_ text: String) {
    var text = text + "\n"
    do {
      try text.withUTF8 { try StandardOutput.writeThrough(UnsafeRawBufferPointer($0)) }
    } catch {
      outputFailure = error
    }
  }

  /// - Throws: If nobody wants to hear more, or what was said could not be written.
  func requireAudience() throws {
    if Interruption.isRequested { throw ExitCode(ToolExit.interrupted) }
    if let outputFailure { throw outputFailure }
  }

  func styled(_ text: String, _ code: String) -> String {
    usesColor ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }

  /// Micro and multiplication signs have plain stand-ins where the terminal may not know them.
  func time(_ duration: Duration) -> String {
    let text = Quantity.time(duration)
    return usesSymbols ? text : text.replacingOccurrences(of: "µ", with: "u")
  }

  /// A row of columns, each padded to `width` on its left.
  func row(_ columns: [String], width: Int = 14) {
    show(columns.map { String(repeating: " ", count: max(0, width - $0.count)) + $0 }.joined())
  }
}
