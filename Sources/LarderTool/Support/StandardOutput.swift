// SPDX-License-Identifier: MIT
import Foundation

/// Whoever read the standard output has gone away, as `head` does. Not a failure.
package struct OutputClosed: Error {}

/// The standard output, behind a buffer of its own for bytes of any kind. All that the tool prints
/// goes through here, so that no failure to write is missed.
///
/// What is buffered is written by `flush()`, or when the buffer is full; a deinit flushes nothing,
/// because it could not report a failure.
///
/// A terminal gets text that it does not obey: see `TerminalText`.
package struct StandardOutput: ~Copyable {
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
  private var used = 0
  private let escapes: Bool

  /// - Parameter raw: A terminal gets the bytes as they are, too.
  package init(raw: Bool = false) { escapes = !raw && Self.isTerminal }

  deinit { buffer.deallocate() }

  package mutating func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard escapes else { return try add(bytes) }
    try TerminalText.escaped(bytes).withUnsafeBytes { try add($0) }
  }

  private mutating func add(_ bytes: UnsafeRawBufferPointer) throws {
    if bytes.count > buffer.count - used {
      try flush()
      // Longer than the whole buffer: copying it first would gain nothing.
      guard bytes.count <= buffer.count else { return try Self.writeThrough(bytes) }
    }
    guard let source = bytes.baseAddress, let target = buffer.baseAddress else { return }
    (target + used).copyMemory(from: source, byteCount: bytes.count)
    used += bytes.count
  }

  /// Writes a byte as it is, wherever it goes: a terminator.
  package mutating func write(byte: UInt8) throws {
    if used == buffer.count { try flush() }
    buffer[used] = byte
    used += 1
  }

  package mutating func write(_ text: some StringProtocol) throws {
    var text = String(text)
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes text in a style, where it is shown.
  package mutating func write(_ text: String, style: TextStyle) throws {
    let isStyled = TextStyle.areShown && style != .plain
    if isStyled { try begin(style) }
    try write(text)
    if isStyled { try begin(.plain) }
  }

  private mutating func begin(_ style: TextStyle) throws {
    for byte in "\u{1B}[\(style.rawValue)m".utf8 { try write(byte: byte) }
  }

  /// Hands everything to the system.
  /// - Throws: `OutputClosed`, or a `ToolFailure` that says why it could not be written.
  package mutating func flush() throws {
    guard used > 0 else { return }
    let pending = UnsafeRawBufferPointer(rebasing: buffer[..<used])
    used = 0
    try Self.writeThrough(pending)
  }

  /// Writes a line of a report at once. If nobody reads it any more, what was found still decides
  /// on the exit code.
  package static func line(_ text: String) throws {
    var output = StandardOutput()
    do {
      try output.write(text + "\n")
      try output.flush()
    } catch is OutputClosed {}
  }

  /// Writes bytes at once, as they are.
  package static func writeThrough(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let slice = UnsafeRawBufferPointer(rebasing: rest)
      let written = Foundation.write(STDOUT_FILENO, slice.baseAddress, slice.count)
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno == EPIPE {
        throw OutputClosed()
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
      } else if errno != EINTR {
        throw failure()
      }
    }
  }

  /// Whoever waits for something to print asks now and then whether it is wanted.
  /// - Throws: `OutputClosed` where whoever read a pipe has gone.
  package static func checkReader() throws {
    var place = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    let isAbandoned = poll(&place, 1, 0) > 0 && place.revents & Int16(POLLERR | POLLHUP) != 0
    if isAbandoned { throw OutputClosed() }
  }

  /// Closes it, as the last thing: some file systems tell only then that they have no room.
  package static func close() throws {
    if Foundation.close(STDOUT_FILENO) != 0 && errno != EINTR { throw failure() }
  }

  private static let isTerminal = isatty(STDOUT_FILENO) == 1

  /// The width of the terminal that it goes to; nil if it goes elsewhere.
  static var columns: Int? { TerminalText.columns(of: STDOUT_FILENO) }

  private static func failure() -> ToolFailure {
    ToolFailure(errno: errno, doing: "standard output: cannot write")
  }
}
