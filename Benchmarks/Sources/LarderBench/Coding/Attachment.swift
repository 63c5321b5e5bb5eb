// SPDX-License-Identifier: MIT
import Foundation

/// Bytes with a little about them.
struct Attachment: Codable, Equatable, Sendable {
  var name: String
  var kind: String
  var bytes: Data

  static let sample = Attachment(
    name: "photo-0417.jpg", kind: "image/jpeg",
    bytes: Data((0..<10_240).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ $0 >> 5) }))
}
