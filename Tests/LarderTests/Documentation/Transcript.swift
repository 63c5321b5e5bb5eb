// SPDX-License-Identifier: MIT

import LarderTestSupport

/// What an example printed, line by line.
final class Transcript: Sendable {
  private let printed = Locked<[String]>([])

  /// Adds a line as `print` would write it.
  func add(_ items: [Any]) {
    let line = items.map { String(describing: $0) }.joined(separator: " ")
    printed.withLock { $0.append(line) }
  }

  var lines: [String] { printed.withLock { $0 } }
}
