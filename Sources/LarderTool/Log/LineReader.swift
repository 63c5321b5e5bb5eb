// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// Cuts what a file descriptor gives into lines, many at a time, without copying them.
///
/// The terminator is not part of a line. What has none behind it is *partial*: the last line of an
/// input, and the pieces of a line that is too long, but for its last one. An input that ends with
/// a terminator has no empty line behind it, so joining the lines again, with a terminator after
/// each that is not partial, gives the input byte for byte.
struct LineReader: ~Copyable {
  private let descriptor: CInt
  private let name: String
  private let terminator: UInt8
  private let limits: LineLimits

  /// Bytes `start..<end` of the buffer are read but not handed out; those before `searched` hold no
  /// terminator.
  private var buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var searched = 0
  private var end = 0
  /// The line at `start` goes on: its beginning was handed out in pieces.
  private var isSplit = false

  private var lines: [Line] = []
  /// Lines handed out, and pieces of lines.
  private(set) var lineCount: UInt64 = 0
  private var readCount: UInt64 = 0

  /// Bytes of the lines handed out, with their terminators.
  var byteCount: UInt64 { readCount - UInt64(end - start) }

  /// - Parameters:
  ///   - descriptor: Stays the caller's to close.
  ///   - name: What to call the input in an error.
  ///   - limits: Longer lines are handed out in pieces, so that no input makes the buffer grow
  ///     beyond what a log could take.
  init(
    descriptor: CInt, name: String, terminator: UInt8, limits: LineLimits, chunkSize: Int = 1 << 20
  ) {
    self.descriptor = descriptor
    self.name = name
    self.terminator = terminator
    self.limits = limits
    buffer = .allocate(byteCount: chunkSize, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// A line or a piece of one, valid inside `read`'s closure only.
  struct Line {
    let bytes: UnsafeRawBufferPointer
    /// No terminator is behind it.
    let isPartial: Bool

    /// Its bytes, with its terminator.
    var byteCount: UInt64 { UInt64(bytes.count) + (isPartial ? 0 : 1) }
  }

  /// Reads on and hands out the lines that are complete by then; what is there at once, rather than
  /// a full buffer, so that lines of a slow input are not held back.
  /// - Returns: `false` at the end of the input, or when an interruption was requested.
  mutating func read(_ body: ([Line]) throws -> Void) throws -> Bool {
    while true {
      guard let count = try fill() else { return false }
      lines.removeAll(keepingCapacity: true)
      if count > 0 {
        split()
      } else if start < end {
        takeLine(to: end, isPartial: true)
      } else {
        return false
      }
      if lines.isEmpty { continue }
      lineCount += UInt64(lines.count)
      try body(lines)
      return true
    }
  }

  /// Gathers the complete lines of the buffer in `lines`, and what there is of one too long.
  private mutating func split() {
    guard let base = buffer.baseAddress else { return }
    while searched < end,
      let found = memchr(base + searched, CInt(terminator), end - searched)
    {
      takeLine(to: base.distance(to: found), isPartial: false)
      start += 1
      searched = start
    }
    searched = end
    takePieces(to: end)
  }

  private mutating func takeLine(to lineEnd: Int, isPartial: Bool) {
    takePieces(to: lineEnd)
    lines.append(
      Line(bytes: UnsafeRawBufferPointer(rebasing: buffer[start..<lineEnd]), isPartial: isPartial))
    start = lineEnd
    isSplit = false
  }

  /// If the line is too long, takes all but something for its last piece.
  private mutating func takePieces(to lineEnd: Int) {
    if lineEnd - start > limits.longest { isSplit = true }
    while isSplit && lineEnd - start > limits.piece {
      let piece = buffer[start..<start + limits.piece]
      lines.append(Line(bytes: UnsafeRawBufferPointer(rebasing: piece), isPartial: true))
      start += limits.piece
    }
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

/// How long lines are as messages of a log.
struct LineLimits: Equatable {
  /// Bytes of the longest one that is a message by itself.
  let longest: Int

  /// Bytes of each piece of a longer line, but for its last one. A log that overwrites has room for
  /// several, and so keeps most of what it can.
  var piece: Int { max(1, longest / 4) }
}

extension LineLimits {
  init(_ statistics: LogStatistics) {
    // A message has a head, and its time if the log keeps times.
    let head: UInt64 = statistics.keepsTimes ? 24 : 16
    longest = Int(clamping: min(statistics.dataCapacity.subtracting(clamping: head), 0x7FFF_F000))
  }

  /// Whether the line goes on in the next message: nobody but for chance ends an input so.
  func isPiece(_ record: RingRecord) -> Bool { record.isPartial && record.bytes.count == piece }
}
