// SPDX-License-Identifier: MIT
import Foundation
package import LarderCore

/// Numbers that CBOR has and JSON lacks, as text.
package enum CBORNumberText {
  /// An integer or bignum in decimal digits; `nil` if it is neither, or has more than 128 bits.
  package static func integer(_ value: CBORValue) -> String? {
    switch value {
    case .unsigned(let number): return String(number)
    case .negative(let number): return "-\(UInt128(number) + 1)"
    case .tagged(let tag, .bytes(let bytes)) where tag == 2 || tag == 3:
      let digits = bytes.drop { $0 == 0 }
      guard digits.count <= 16 else { return nil }
      let number = digits.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
      if tag == 2 { return String(number) }
      // The number is -1 - n; only here does it have one bit more.
      return number == .max ? "-340282366920938463463374607431768211456" : "-\(number + 1)"
    default: return nil
    }
  }

  /// The decimal fraction of an exponent and a mantissa, written out if that is short.
  package static func decimal(_ parts: [CBORValue]) -> String? {
    guard parts.count == 2, let exponent = integer(parts[0]), let mantissa = integer(parts[1])
    else {
      return nil
    }
    let isNegative = mantissa.hasPrefix("-")
    let digits = isNegative ? String(mantissa.dropFirst()) : mantissa
    let sign = isNegative ? "-" : ""
    guard let places = Int(exponent), places.magnitude <= 40 else {
      return "\(mantissa)e\(exponent)"
    }
    if digits == "0" { return "0" }
    if places >= 0 { return sign + digits + String(repeating: "0", count: places) }
    let padded = String(repeating: "0", count: max(0, 1 - places - digits.count)) + digits
    return "\(sign)\(padded.dropLast(-places)).\(padded.suffix(-places))"
  }

  /// Seconds since 1970 as an RFC 3339 date in UTC, with as many digits as a `Date` has; `nil` for
  /// what is no number or not in the years 0 to 9999.
  package static func date(_ value: CBORValue) -> String? {
    let seconds: Double
    switch value {
    case .unsigned(let number): seconds = Double(number)
    case .negative(let number): seconds = -1 - Double(number)
    case .float(let number): seconds = number
    default: return nil
    }
    return RFC3339.text(Date(timeIntervalSince1970: seconds))
  }
}
