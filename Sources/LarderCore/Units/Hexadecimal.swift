// SPDX-License-Identifier: MIT

extension Sequence<UInt8> {
  /// The bytes as digits, two for each, without anything in front.
  package var hexadecimal: String {
    reduce(into: "") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) }
  }
}
