// SPDX-License-Identifier: MIT

extension Duration {
  /// Seconds, none of which gets lost: `seconds(_:)` multiplies first, and rounds what
  /// is more than a few minutes.
  ///
  /// - Parameter seconds: A number below 2⁶² either way.
  init(wholeSeconds seconds: Double) {
    let whole = seconds.rounded(.down)
    self = .seconds(Int64(whole)) + .nanoseconds(Int64(((seconds - whole) * 1e9).rounded()))
  }

  /// In nanoseconds, rounded down; the nearest there is if it does not fit.
  package var inNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflows { return seconds < 0 ? .min : .max }
    // Both parts have the same sign, so the division has to be told to round down.
    let rest = attoseconds / 1_000_000_000
    let (sum, exceeds) = product.addingReportingOverflow(
      attoseconds % 1_000_000_000 < 0 ? rest - 1 : rest)
    return exceeds ? (seconds < 0 ? .min : .max) : sum
  }

  /// In seconds, as near as a `Double` gets.
  package var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
