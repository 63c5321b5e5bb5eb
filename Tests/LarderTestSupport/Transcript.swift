// SPDX-License-Identifier: MIT

/// What an example printed, line by line.
public final class Transcript: Sendable {
  private let printed = Locked<[String]>([])

  /// Begins with nothing.
  public init() {}

  /// Adds a line as `print` would write it.
  public func add(_ items: [Any]) {
    let line = items.map { String(describing: $0) }.joined(separator: " ")
    printed.withLock { $0.append(line) }
  }

  /// What was printed so far.
  public var lines: [String] { printed.withLock { $0 } }
}
