// SPDX-License-Identifier: MIT
import LarderCore

/// Appends inputs to a log, and counts.
struct AppendJob: ~Copyable {
  private let ring: RingHandle
  private let sync: Bool
  private let start: LogStatistics
  private let clock = ContinuousClock()
  private let startTime: ContinuousClock.Instant
  private var progress: ProgressLine
  private var batch = RingBatch()
  private var bytes: UInt64 = 0

  init(ring: consuming RingHandle, sync: Bool, showsProgress: Bool) throws {
    start = try ring.statistics()
    self.ring = ring
    self.sync = sync
    startTime = clock.now
    progress = ProgressLine(isEnabled: showsProgress)
  }

  func recovery() throws -> LogReport { try ring.recovery() }

  /// Appends every line of `input`.
  mutating func append(_ input: InputFile, terminator: UInt8) throws {
    try input.withDescriptor { descriptor in
      var reader = LineReader(
        descriptor: descriptor, name: input.name, terminator: terminator, limits: LineLimits(start))
      while try reader.read({ try append($0) }) {
        if progress.isDue {
          progress.draw(progressText(input, read: reader.byteCount, lines: reader.lineCount))
        }
      }
    }
  }

  private mutating func append(_ lines: [LineReader.Line]) throws {
    batch.removeAll()
    for line in lines { batch.add(line.bytes, isPartial: line.isPartial) }
    let next = try ring.statistics().nextSequence
    defer {
      // A batch that fails was appended up to the message that failed.
      let end = (try? ring.statistics().nextSequence) ?? next
      let appended = lines.prefix(Int(clamping: end.subtracting(clamping: next)))
      bytes += appended.reduce(0) { $0 + $1.byteCount }
    }
    try ring.append(batch)
    // Either says whether the file can be found again.
    try sync ? ring.sync() : ring.checkPlace()
  }

  private func progressText(_ input: InputFile, read: UInt64, lines: UInt64) -> String {
    let duration = startTime.duration(to: clock.now)
    var text = Quantity.bytes(read)
    if let size = input.size, size > 0 {
      text += " of \(Quantity.bytes(size)), \(Quantity.percent(read, of: size))"
    }
    text += "  \(Quantity.count(lines, "line"))"
    // What does not fit into the terminal's line is the name's end.
    return text + "  \(Quantity.rate(bytes: bytes, in: duration))  \(input.name)"
  }

  mutating func endProgress() { progress.erase() }

  /// What was appended so far.
  func result() throws -> Result {
    let end = try ring.statistics()
    return Result(
      appended: end.nextSequence.subtracting(clamping: start.nextSequence), bytes: bytes,
      duration: startTime.duration(to: clock.now), firstSequence: start.nextSequence,
      lastSequence: end.nextSequence.subtracting(clamping: 1),
      // What a hostile file counts need not grow.
      overwritten: end.overwritten.subtracting(clamping: start.overwritten))
  }

  /// Closes the log. It waits for the disk only where that was asked for: one line from a shell's
  /// loop costs what a process costs.
  mutating func finish() throws -> Result {
    progress.erase()
    var result = try result()
    try ring.shutdown(syncs: sync)
    result.duration = startTime.duration(to: clock.now)
    return result
  }

  struct Result {
    /// Messages.
    let appended: UInt64
    /// Bytes of the lines appended, terminators included.
    let bytes: UInt64
    var duration: Duration
    /// Numbers of the first and last message, if any was appended.
    let firstSequence: UInt64
    let lastSequence: UInt64
    /// Older messages that had to go.
    let overwritten: UInt64
  }
}
