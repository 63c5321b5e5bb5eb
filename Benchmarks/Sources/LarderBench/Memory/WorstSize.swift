// SPDX-License-Identifier: MIT

/// The resident bytes of two stores at five sizes, of which the one with the highest ratio counts:
/// tables grow in steps, so that a single size may be a lucky one. None is a power of two.
final class WorstSize {
  static let sizes = [650_000, 800_000, 1_000_000, 1_500_000, 2_200_000]

  private let subject: ResidentBytes.Subject
  private var measured: (ours: [Double], rival: [Double]) = ([], [])
  private var waiting: (ours: Double?, rival: Double?) = (nil, nil)

  init(_ subject: ResidentBytes.Subject) { self.subject = subject }

  // Whichever side of a pair comes first measures both, and leaves the other's figure.

  func ours() throws -> Double {
    if waiting.ours == nil { try measure() }
    defer { waiting.ours = nil }
    return waiting.ours ?? .nan
  }

  func rival() throws -> Double {
    if waiting.rival == nil { try measure() }
    defer { waiting.rival = nil }
    return waiting.rival ?? .nan
  }

  private func measure() throws {
    let ours = try Self.sizes.map { try ResidentBytes.measure(subject, count: $0) }
    let rival = try Self.sizes.map { try ResidentBytes.measure(.dictionary, count: $0) }
    measured = (ours, rival)
    let worst = zip(ours, rival).max { $0.0 / $0.1 < $1.0 / $1.1 }
    waiting = (worst?.0, worst?.1)
  }

  var remarks: [String] {
    zip(Self.sizes, zip(measured.ours, measured.rival)).map { size, bytes in
      """
      at \(significant(Double(size))) entries: \(significant(bytes.0)) and \(significant(bytes.1)) \
      bytes, ratio \(significant(bytes.0 / bytes.1))
      """
    }
  }
}
