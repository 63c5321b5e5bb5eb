// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderLogTool

/// Damages a file on the disk.
enum DemoDamage {
  private static let count: UInt64 = 10_000

  static func run(_ tour: Tour) throws {
    try tour.heading("One flipped bit")
    tour.explain(
      "A log of \(Quantity.count(count)) messages, and a bit of one of them flips on the disk.")
    let file = tour.file("damage.larder")
    let log = try MessageLog(
      at: .url(file), capacity: 4.megabytes, whenFull: .overwriteOldest, coder: .data)
    try log.append(contentsOf: (1...count).map { DemoMessage.make($0) })
    try log.close()

    let victim = UInt64.random(in: 2..<count)
    var bytes = try Data(contentsOf: file)
    guard let found = bytes.range(of: Data(DemoMessage.start(of: victim).utf8)) else {
      return try tour.claim(false, "Message \(victim) is in the file.")
    }
    let offset = found.lowerBound + Int.random(in: 0..<DemoMessage.size)
    bytes[offset] ^= 1 << UInt8.random(in: 0..<8)
    try bytes.write(to: file)
    tour.show(
      "flipped a bit of byte \(Quantity.count(offset)), in message \(Quantity.count(victim))")

    let reopened = try MessageLog(
      at: .url(file), capacity: 4.megabytes, whenFull: .overwriteOldest, coder: .data)
    let (missing, lost, isEqual) = try read(reopened)
    try tour.claim(
      missing == [victim] && isEqual,
      "Exactly message \(Quantity.count(victim)) is missing; the other "
        + "\(Quantity.count(count - 1)) are intact.",
      otherwise: "Missing are \(missing.prefix(10)).")
    try tour.claim(
      lost == 1, "The reader was told: 1 lost.", otherwise: "It was told: \(lost) lost.")
    try reopened.close()
    try FileManager.default.removeItem(at: file)
  }

  private static func read(
    _ log: MessageLog<Data>
  ) throws -> (missing: [UInt64], lost: UInt64, isEqual: Bool) {
    var missing = Set(1...count)
    var lost: UInt64 = 0
    var isEqual = true
    for entry in log.entries {
      missing.remove(entry.sequence)
      lost += entry.lost
      isEqual = try isEqual && entry.message == DemoMessage.make(entry.sequence)
    }
    return (missing.sorted(), lost, isEqual)
  }
}
