// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderLogTool

/// What a full log does, both ways.
enum DemoFull {
  private static let count = 1_000

  static func run(_ tour: Tour) throws {
    try tour.heading("A full log")
    guard
      let size = MessageLog<Data>.capacity(forMessages: count, ofSize: DemoMessage.size)
    else {
      return try tour.claim(false, "There is a size for \(count) messages.")
    }
    tour.explain(
      "A file of \(Quantity.bytes(UInt64(size.bytes))), made for \(Quantity.count(count)) "
        + "messages, gets 3,500.")
    let file = tour.file("full.larder")
    let log = try MessageLog(
      at: .url(file), capacity: size, whenFull: .overwriteOldest, coder: .data)
    for number in 1...3_500 { try log.append(DemoMessage.make(UInt64(number))) }
    let sequences = log.entries.map(\.sequence)
    try tour.claim(
      sequences == Array(2_501...3_500),
      "Overwriting: it holds exactly the newest 1,000, messages 2,501 to 3,500.",
      otherwise: "It holds \(sequences.count), from \(sequences.first ?? 0).")
    try log.close()

    let refusing = try MessageLog(
      at: .url(tour.file("refusing.larder")), capacity: size, whenFull: .refuse, coder: .data)
    for number in 1...count { try refusing.append(DemoMessage.make(UInt64(number))) }
    var refusal: LarderError?
    do {
      try refusing.append(DemoMessage.make(UInt64(count + 1)))
    } catch let error as LarderError {
      refusal = error
    }
    let kept = try refusing.count
    try tour.claim(
      refusal?.code == .full && kept == count,
      "Refusing: message 1,001 is an error, and the first 1,000 are all there.")
    try refusing.close()
  }
}
