// SPDX-License-Identifier: MIT
import Foundation

/// How the tool writes numbers for people. Never depends on the locale, so that output is the same
/// on every machine.
package enum Quantity {
  /// `1234567` as `1,234,567`.
  package static func count(_ value: some BinaryInteger) -> String {
    var grouped = ""
    let digits = String(value)
    for (index, digit) in digits.enumerated() {
      let remaining = digits.count - index
      if index > 0, remaining.isMultiple(of: 3), grouped != "-" { grouped.append(",") }
      grouped.append(digit)
    }
    return grouped
  }

  /// `1 message`, `2,000 messages`.
  package static func count(_ value: some BinaryInteger, _ singular: String) -> String {
    "\(count(value)) \(singular)\(value == 1 ? "" : "s")"
  }

  /// Bytes in powers of 1,024, exact where that is short: `553 bytes`, `64 MiB`, `12.3 KiB`.
  package static func bytes(_ value: UInt64) -> String {
    guard value >= 1024 else { return count(value, "byte") }
    var scaled = Double(value)
    var unit = ""
    for next in ["KiB", "MiB", "GiB", "TiB"] where scaled >= 1024 || unit.isEmpty {
      scaled /= 1024
      unit = next
    }
    let isWhole = scaled == scaled.rounded()
    // Rounded down, or what is just short of a GiB would read as 1024.0 MiB.
    return (isWhole ? String(Int(scaled)) : decimals((scaled * 10).rounded(.down) / 10, 1))
      + " " + unit
  }

  /// `57 %`; all of nothing is 100 %.
  package static func percent(_ done: UInt64, of total: UInt64) -> String {
    "\(total > 0 ? Int(Double(min(done, total)) / Double(total) * 100) : 100) %"
  }

  /// A throughput, in powers of 1,000 as rates usually are: `2,173 MB/s`.
  package static func rate(bytes: UInt64, in duration: Duration) -> String {
    let megabytes = Double(bytes) / 1e6 / max(duration.inSeconds, 1e-9)
    return (megabytes < 10 ? decimals(megabytes, 1) : count(Int(megabytes))) + " MB/s"
  }

  /// `46 ns`, `1.2 µs`, `3.4 ms`, `0.31 s`, `12 s`.
  package static func time(_ duration: Duration) -> String {
    let seconds = duration.inSeconds
    switch seconds {
    case ..<1e-6: return "\(Int((seconds * 1e9).rounded())) ns"
    case ..<1e-3: return decimals(seconds * 1e6, 1) + " µs"
    case ..<0.1: return decimals(seconds * 1e3, 1) + " ms"
    case ..<10: return decimals(seconds, 2) + " s"
    default: return count(Int(seconds.rounded())) + " s"
    }
  }

  package static func decimals(_ value: Double, _ places: Int) -> String {
    String(format: "%.\(places)f", value)
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
