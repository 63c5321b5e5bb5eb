// SPDX-License-Identifier: MIT

/// Arithmetic with numbers from a file, which may be any: what does not fit becomes the nearest
/// number that does.
extension FixedWidthInteger {
  package func adding(clamping other: Self) -> Self {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }

  package func subtracting(clamping other: Self) -> Self {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other < 0 ? .max : .min) : difference
  }
}
