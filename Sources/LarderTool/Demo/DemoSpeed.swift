// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderLogTool

/// A million messages in, and all of them out again.
enum DemoSpeed {
  static let count: UInt64 = 1_000_000

  static func run(_ tour: Tour) throws {
    try tour.heading("A million messages")
    tour.explain("One append call each, every message with a checksum and a number of its own.")
    // Made before the clock runs: this is about the log.
    let messages = (0..<4_093).map { DemoMessage.make($0) }
    try runFull(tour, messages)
    try runNew(tour, messages)
  }

  /// What appending costs a log that has been running for a while.
  private static func runFull(_ tour: Tour, _ messages: [Data]) throws {
    let log = try MessageLog(
      at: .url(tour.file("small.larder")), capacity: 1.megabytes, whenFull: .overwriteOldest,
      coder: .data)
    try append(messages, to: log)
    try measure(tour, "append to a full log of 1 MiB") { try append(messages, to: log) }
    let statistics = try log.statistics
    try tour.claim(
      statistics.newestSequence == 2 * count
        && statistics.overwritten + UInt64(statistics.count) == 2 * count,
      "It kept the newest \(Quantity.count(statistics.count)), and counted what it dropped.")
    try log.close()
  }

  /// What it costs while the file is new, and reading all of it.
  private static func runNew(_ tour: Tour, _ messages: [Data]) throws {
    let file = tour.file("new.larder")
    let log = try MessageLog(
      at: .url(file), capacity: 128.megabytes, whenFull: .refuse, coder: .data)
    try measure(tour, "append to a new file         ") { try append(messages, to: log) }
    var expected: UInt64 = 1
    var areEqual = true
    var index = 0
    try measure(tour, "read them back, verified     ") {
      try log.forEachMessageBytes { sequence, bytes in
        areEqual =
          areEqual && sequence == expected && DemoMessage.isEqual(bytes, to: messages[index])
        expected += 1
        index = index + 1 == messages.count ? 0 : index + 1
      }
    }
    try tour.claim(
      areEqual && expected == count + 1,
      "All \(Quantity.count(count)) came back, in order, byte for byte.",
      otherwise: "\(Quantity.count(expected - 1)) came back\(areEqual ? "" : ", not all equal").")
    try log.close()
    let clock = ContinuousClock()
    let opening = try clock.measure {
      _ = try MessageLog(readingFrom: .url(file), coder: .data).count
    }
    tour.show("opening that log again takes \(tour.time(opening)), however full it is")
    try FileManager.default.removeItem(at: file)
  }

  private static func append(_ messages: [Data], to log: MessageLog<Data>) throws {
    var index = 0
    for _ in 0..<count {
      try log.append(messages[index])
      index = index + 1 == messages.count ? 0 : index + 1
    }
  }

  private static func measure(_ tour: Tour, _ name: String, _ body: () throws -> Void) rethrows {
    let duration = try ContinuousClock().measure(body)
    tour.show(
      "\(name)  \(tour.time(duration / Int(count))) a message of \(DemoMessage.size) bytes, "
        + "\(Quantity.rate(bytes: count * UInt64(DemoMessage.size), in: duration))")
  }
}
