// SPDX-License-Identifier: MIT
import Foundation

/// Notes and errors for the person at the terminal, each one line that starts with `larder:`.
package enum StandardError {
  package static func note(_ text: String) {
    writeThrough("larder: \(isTerminal ? TerminalText.escaped(text, isLine: true) : text)\n")
  }

  /// Writes lines; a terminal gets text that it does not obey.
  package static func write(_ text: String) {
    writeThrough(isTerminal ? TerminalText.escaped(text) : text)
  }

  /// Writes as it is. There is nobody left to tell if that fails.
  fileprivate static func writeThrough(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)[...]
      while !rest.isEmpty {
        let slice = UnsafeRawBufferPointer(rebasing: rest)
        let written = Foundation.write(STDERR_FILENO, slice.baseAddress, slice.count)
        if written < 0 && errno != EINTR { return }
        rest = rest.dropFirst(max(written, 0))
      }
    }
  }

  static let isTerminal = isatty(STDERR_FILENO) == 1

  /// The width of its terminal.
  fileprivate static var columns: Int { TerminalText.columns(of: STDERR_FILENO) ?? 80 }
}

/// One line on the standard error that is drawn again and again while a long job runs, and erased
/// at its end. Does nothing unless the standard error is a terminal, or before half a second is
/// over.
package struct ProgressLine {
  private let isEnabled: Bool
  private let clock = ContinuousClock()
  private var nextUpdate: ContinuousClock.Instant
  private var isShown = false
  private static let erasing = "\r\u{1B}[2K"

  package init(isEnabled: Bool = true) {
    self.isEnabled = isEnabled && StandardError.isTerminal
    nextUpdate = clock.now + .milliseconds(500)
  }

  /// Whether it is time to draw the line again.
  package var isDue: Bool { isEnabled && clock.now >= nextUpdate }

  package mutating func draw(_ text: String) {
    // Not in the last column: a line that goes on in the next one cannot be erased.
    let line = TerminalText.prefix(
      TerminalText.escaped(text, isLine: true), columns: StandardError.columns - 1)
    StandardError.writeThrough(Self.erasing + line)
    isShown = true
    nextUpdate = clock.now + .milliseconds(100)
  }

  package mutating func erase() {
    guard isShown else { return }
    StandardError.writeThrough(Self.erasing)
    isShown = false
  }
}
