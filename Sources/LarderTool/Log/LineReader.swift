// SPDX-License-Identifier: MIT
import Foundation

/// Cuts what a file descriptor gives into lines, many at a time, without copying them.
///
/// The terminator is not part of a line. Only the last line of an input can be without one: then it
/// is *partial*. An input that ends with a terminator has no empty line behind it, so joining the
/// lines again, with a terminator after each that is not partial, gives the input byte for byte.
struct LineReader: ~Copyable {
  private let descriptor: CInt
  private let name: String
  private let terminator: UInt8
  private let longestLine: Int

  /// Bytes `start..<end` of the buffer are read but not handed out; those before `searched` hold no
  /// terminator.
  private var buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var searched = 0
  private var end = 0

  private var lines: [UnsafeRawBufferPointer] = []
  /// Lines handed out.
  private(set) var lineCount: UInt64 = 0
  private var readCount: UInt64 = 0

  /// Bytes of the lines handed out, with their terminators.
  var byteCount: UInt64 { readCount - UInt64(end - start) }

  /// - Parameters:
  ///   - descriptor: Stays the caller's to close.
  ///   - name: What to call the input in an error.
  ///   - longestLine: A line of more bytes is an error, so that no input makes the buffer grow
  ///     beyond what a log could take.
  init(
    descriptor: CInt, name: String, terminator: UInt8, longestLine: Int, chunkSize: Int = 1 << 20
  ) {
    self.descriptor = descriptor
    self.name = name
    self.terminator = terminator
    self.longestLine = longestLine
    buffer = .allocate(byteCount: chunkSize, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// One batch of lines, valid inside `read`'s closure only.
  struct Batch {
    let lines: [UnsafeRawBufferPointer]
    /// The last of `lines` had no terminator; it is the end of the input.
    let endsPartial: Bool

    /// Bytes of the first lines, with their terminators.
    func byteCount(ofFirst count: Int) -> UInt64 {
      let bytes = lines.prefix(count).reduce(UInt64(0)) { $0 + UInt64($1.count) + 1 }
      return endsPartial && count >= lines.count ? bytes - 1 : bytes
    }
  }

  /// Reads on and hands out the lines that are complete by then; what is there at once, rather than
  /// a full buffer, so that lines of a slow input are not held back.
  /// - Returns: `false` at the end of the input, or when an interruption was requested.
  mutating func read(_ body: (Batch) throws -> Void) throws -> Bool {
    while true {
      guard let count = try fill() else { return false }
      if count == 0 {
        guard start < end else { return false }
        lines.removeAll(keepingCapacity: true)
        lines.append(UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
        start = end
        searched = end
        lineCount += 1
        try body(Batch(lines: lines, endsPartial: true))
        return true
      }
      if split() {
        lineCount += UInt64(lines.count)
        try body(Batch(lines: lines, endsPartial: false))
        return true
      }
      guard end - start <= longestLine else {
        throw ToolFailure(
          "\(name): line \(Quantity.count(lineCount + 1)) is longer than "
            + "\(Quantity.bytes(UInt64(longestLine))), all that the log has room for; "
            + "\(Quantity.count(lineCount, "line")) before it were appended")
      }
    }
  }

  /// Gathers the complete lines of the buffer in `lines`.
  private mutating func split() -> Bool {
    lines.removeAll(keepingCapacity: true)
    guard let base = buffer.baseAddress else { return false }
    while searched < end,
      let found = memchr(base + searched, CInt(terminator), end - searched)
    {
      let offset = base.distance(to: found)
      lines.append(UnsafeRawBufferPointer(rebasing: buffer[start..<offset]))
      start = offset + 1
      searched = start
    }
    searched = end
    return !lines.isEmpty
  }

  /// Reads once into the free part of the buffer, having made room first.
  /// - Returns: How many bytes came; 0 at the end of the input; `nil` when interrupted.
  private mutating func fill() throws -> Int? {
    if start > 0 {
      // What is left of the last chunk: less than a line.
      let rest = UnsafeRawBufferPointer(rebasing: buffer[start..<end])
      if let source = rest.baseAddress { memmove(buffer.baseAddress!, source, rest.count) }
      end -= start
      searched -= start
      start = 0
    }
    if end == buffer.count {
      let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
      grown.copyMemory(from: UnsafeRawBufferPointer(buffer))
      buffer.deallocate()
      buffer = grown
    }
    while true {
      guard Interruption.waitForInput(descriptor) else { return nil }
      let free = UnsafeMutableRawBufferPointer(rebasing: buffer[end...])
      let count = Foundation.read(descriptor, free.baseAddress, free.count)
      if count >= 0 {
        end += count
        readCount += UInt64(count)
        return count
      }
      guard errno == EINTR || errno == EAGAIN else {
        throw ToolFailure(errno: errno, doing: "\(name): cannot read")
      }
    }
  }
}
