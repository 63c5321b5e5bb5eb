// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// A million messages in, and all of them out again.
enum DemoSpeed {
  static let count: UInt64 = 1_000_000

  static func run(_ tour: Tour) throws {
    try tour.heading("A million messages")
    tour.explain("One append call each, every message with a checksum and a number of its own.")
    let file = tour.file("speed.larder")
    // Made before the clock runs: this is about the log.
    let messages = (0..<4_093).map { DemoMessage.make($0) }
    let log = try MessageLog(
      fileURL: file, maximumBytes: 128 << 20, whenFull: .refuse, coder: .data)
    var index = 0
    try measure(tour, "append   ") {
      for _ in 0..<count {
        try log.append(messages[index])
        index = index + 1 == messages.count ? 0 : index + 1
      }
    }
    var expected: UInt64 = 1
    var areEqual = true
    index = 0
    try measure(tour, "read back") {
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
      _ = try MessageLog(readingFrom: file, coder: .data).count
    }
    tour.show("opening the log again, however full it is: \(tour.time(opening))")
    try FileManager.default.removeItem(at: file)
  }

  private static func measure(_ tour: Tour, _ name: String, _ body: () throws -> Void) rethrows {
    let duration = try ContinuousClock().measure(body)
    let rate = Quantity.rate(bytes: count * UInt64(DemoMessage.size), in: duration)
    tour.show(
      "\(name)  \(tour.time(duration)), that is \(tour.time(duration / Int(count))) a message of "
        + "\(DemoMessage.size) bytes, \(rate)")
  }
}
