// SPDX-License-Identifier: MIT
import Foundation

/// What a program logs: the struct of five fields of the rows `log.append.codable`, `coding.encode`
/// and `coding.decode`. About as long as a raw message in the other rows.
struct Event: Codable, Equatable, Sendable {
  var id: Int
  var level: String
  var text: String
  var date: Date
  var duration: Double

  static let sample = Event(
    id: 184_467, level: "info", text: "request served from the cache",
    date: Date(timeIntervalSinceReferenceDate: 700_000_000.125), duration: 0.0314159)
}
