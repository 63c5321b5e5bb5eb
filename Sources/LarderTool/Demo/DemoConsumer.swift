// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// A named consumer that goes on where it was.
enum DemoConsumer {
  static func run(_ tour: Tour) throws {
    try tour.heading("A consumer that remembers its place")
    tour.explain("A consumer named \"mailer\" reads 1,000 messages, and stops after 400.")
    let file = tour.file("consumer.larder")
    let first = try open(file)
    try first.append(contentsOf: (1...1_000).map { DemoMessage.make($0) })
    let done = try read(first, at: 400)
    try first.close()
    try tour.claim(done == Array(1...400), "It read and acknowledged messages 1 to 400.")

    let second = try open(file)
    let rest = try read(second, at: .max)
    try tour.claim(
      rest == Array(401...1_000),
      "With the log opened again it went on with message 401, and read to the end.",
      otherwise: "It read \(rest.count), from \(rest.first ?? 0).")
    try second.close()
  }

  private static func open(_ file: URL) throws -> MessageLog<Data> {
    try MessageLog(at: .url(file), capacity: 1.megabytes, whenFull: .refuse, coder: .data)
  }

  /// Reads and acknowledges up to message `last`.
  /// - Returns: The numbers read.
  private static func read(_ log: MessageLog<Data>, at last: UInt64) throws -> [UInt64] {
    let consumer = try log.consumer(named: "mailer")
    var sequences: [UInt64] = []
    while sequences.last ?? 0 < last, let entry = try consumer.next() {
      sequences.append(entry.sequence)
    }
    if let read = sequences.last { try consumer.acknowledge(through: read) }
    return sequences
  }
}
