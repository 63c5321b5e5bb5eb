// SPDX-License-Identifier: MIT

import Foundation

/// Dates as RFC 3339 text, such as `2023-03-08T20:26:40.125Z`, exact in both
/// directions.
///
/// A `Date` is a number of seconds since 2001-01-01T00:00:00Z, in binary. The
/// text has as many digits as it takes to tell that number from every other
/// one, so that reading gives back the very same date:
///
/// 1. Seconds and fraction are split on the magnitude of the number, towards
///    zero, where the split is exact; before 2001 the digits are then taken from
///    one whole second, digit by digit.
/// 2. A fraction that is whole in thousandths, millionths … is found by dividing
///    two integers that a `Double` holds exactly: such a division is rounded
///    once, as the reading of a decimal number is.
/// 3. Otherwise the digits are those of `Double.description`, the fewest that
///    tell numbers apart; and reading goes the same way back.
///
/// Days are counted in years that begin in March, so that the leap day is the
/// last one, and in cycles of 400 years: Hinnant, "chrono-compatible low-level
/// date algorithms". The calendar is Gregorian in all years, as in RFC 3339;
/// Foundation's formatters have the Julian one before 1582.
package enum RFC3339 {
  /// Room for every date: 20 characters, and up to 324 digits next to 2001.
  static let capacity = 384

  /// Days from March 1st of the year 0 to 2001-01-01.
  private static let reference: Int64 = 730_791
  private static let daysInCycle: Int64 = 146_097
  private static let secondsInDay: Int64 = 86_400
  /// From 0000-01-01 up to, but without, 10000-01-01.
  private static let writable: Range<Double> = (-730_851 * 86_400)..<(2_921_574 * 86_400)
  private static let powersOfTen: [Int64] = (0...15).map { exponent in
    (0..<exponent).reduce(1) { power, _ in power * 10 }
  }
}

// MARK: - Writing

extension RFC3339 {
  /// Writes a date, in UTC.
  ///
  /// A whole second has no fraction; any other has at least 3 digits of it.
  ///
  /// - Parameter buffer: Room for `capacity` bytes.
  /// - Returns: How many bytes were written; nil if the year is not one of four
  ///   digits, the date is not finite, or the buffer has less than `capacity`.
  static func write(_ date: Date, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int? {
    let time = date.timeIntervalSinceReferenceDate
    guard writable.contains(time), buffer.count >= capacity, let text = buffer.baseAddress else {
      return nil
    }
    let magnitude = time.magnitude
    let whole = magnitude.rounded(.towardZero)
    let digits = magnitude == whole ? 0 : writeFraction(of: magnitude, whole, to: text + 20)
    var seconds = Int64(whole)
    if time < 0 {
      seconds = digits > 0 ? -seconds - 1 : -seconds
      complement(UnsafeMutableBufferPointer(start: text + 20, count: digits))
    }
    writeSeconds(seconds, to: text)
    guard digits > 0 else {
      text[19] = UInt8(ascii: "Z")
      return 20
    }
    text[19] = UInt8(ascii: ".")
    text[20 + digits] = UInt8(ascii: "Z")
    return 21 + digits
  }

  /// Writes the digits behind the point, of which there are some, and says how many.
  private static func writeFraction(
    of magnitude: Double, _ whole: Double, to text: UnsafeMutablePointer<UInt8>
  ) -> Int {
    for digits in [3, 6, 7, 9] {
      let power = Double(powersOfTen[digits])
      guard (whole + 1) * power <= 0x1p53 else { break }
      let fraction = ((magnitude - whole) * power).rounded()
      guard fraction < power, (whole * power + fraction) / power == magnitude else { continue }
      var rest = UInt64(fraction)
      for index in (0..<digits).reversed() {
        text[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
      var count = digits
      while count > 3, text[count - 1] == UInt8(ascii: "0") { count -= 1 }
      return count
    }
    return writeShortest(of: magnitude, to: text)
  }

  /// The same for whatever is left, from a description such as `12.25` or `1.5e-07`.
  private static func writeShortest(
    of magnitude: Double, to text: UnsafeMutablePointer<UInt8>
  ) -> Int {
    var count = 0
    var isBehindPoint = false
    var isExponent = false
    var zeros = 0
    let description = magnitude.description
    let hasExponent = description.utf8.contains(UInt8(ascii: "e"))
    for byte in description.utf8 {
      switch byte {
      case UInt8(ascii: "."): isBehindPoint = true
      case UInt8(ascii: "e"): isExponent = true
      case UInt8(ascii: "-"): break
      case _ where isExponent: zeros = zeros * 10 + Int(byte - UInt8(ascii: "0"))
      case _ where isBehindPoint || hasExponent:
        text[count] = byte
        count += 1
      default: break
      }
    }
    guard hasExponent else { return count }
    // One digit stood in front of the point, and now stands behind the zeros.
    (text + zeros - 1).update(from: text, count: count)
    text.update(repeating: UInt8(ascii: "0"), count: zeros - 1)
    return zeros - 1 + count
  }

  /// Takes the number that has these digits behind its point from 1; it is not 0.
  private static func complement(_ digits: UnsafeMutableBufferPointer<UInt8>) {
    guard let last = digits.lastIndex(where: { $0 != UInt8(ascii: "0") }) else { return }
    for index in 0..<last { digits[index] = 2 * UInt8(ascii: "0") + 9 - digits[index] }
    digits[last] = 2 * UInt8(ascii: "0") + 10 - digits[last]
  }

  /// Writes the 19 characters of a whole second.
  private static func writeSeconds(_ seconds: Int64, to text: UnsafeMutablePointer<UInt8>) {
    // A cycle earlier, so that nothing is negative.
    let shifted = seconds + (reference + daysInCycle) * secondsInDay
    let (days, ofDay) = shifted.quotientAndRemainder(dividingBy: secondsInDay)
    let (cycle, ofCycle) = days.quotientAndRemainder(dividingBy: daysInCycle)
    let yearOfCycle =
      (ofCycle - ofCycle / 1460 + ofCycle / 36524 - ofCycle / 146_096) / 365
    let ofYear = ofCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
    let fromMarch = (5 * ofYear + 2) / 153
    let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    let year = (cycle - 1) * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
    writePair(year / 100, to: text)
    writePair(year % 100, to: text + 2)
    text[4] = UInt8(ascii: "-")
    writePair(month, to: text + 5)
    text[7] = UInt8(ascii: "-")
    writePair(ofYear - (153 * fromMarch + 2) / 5 + 1, to: text + 8)
    text[10] = UInt8(ascii: "T")
    writePair(ofDay / 3600, to: text + 11)
    text[13] = UInt8(ascii: ":")
    writePair(ofDay / 60 % 60, to: text + 14)
    text[16] = UInt8(ascii: ":")
    writePair(ofDay % 60, to: text + 17)
  }

  private static func writePair(_ number: Int64, to text: UnsafeMutablePointer<UInt8>) {
    text[0] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10)
    text[1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
  }
}

// MARK: - Reading

extension RFC3339 {
  /// Reads a date: the `Double` nearest to what the text says.
  ///
  /// `T` and `Z` may be lower case, a space may stand for `T`, and a fraction has
  /// any number of digits. A leap second, `:60` at the end of a day in UTC, is the
  /// first second of the next day, since a `Date` has no other for it. `24:00` is
  /// not a time of RFC 3339.
  ///
  /// - Returns: The date; nil if the text is not one.
  static func date(_ text: UnsafeBufferPointer<UInt8>) -> Date? {
    guard text.count >= 20, let whole = secondsSinceMidnightOfReference(text) else { return nil }
    var end = 19
    if text[19] == UInt8(ascii: ".") {
      end = 20
      while end < text.count, digit(text[end]) != nil { end += 1 }
      if end == 20 { return nil }
    }
    guard let offset = offset(UnsafeBufferPointer(rebasing: text[end...])) else { return nil }
    let seconds = whole - offset
    // At :60 the seconds are already those of the next minute.
    if text[17] == UInt8(ascii: "6"), seconds % secondsInDay != 0 { return nil }
    while end > 20, text[end - 1] == UInt8(ascii: "0") { end -= 1 }
    let digits = UnsafeBufferPointer(rebasing: text[min(20, end)..<end])
    return time(seconds, digits).map { Date(timeIntervalSinceReferenceDate: $0) }
  }

  /// The first 19 characters, as if they were in UTC.
  private static func secondsSinceMidnightOfReference(
    _ text: UnsafeBufferPointer<UInt8>
  ) -> Int64? {
    guard let century = pair(text, 0), let yearOfCentury = pair(text, 2),
      text[4] == UInt8(ascii: "-"), let month = pair(text, 5), 1...12 ~= month,
      text[7] == UInt8(ascii: "-"), let day = pair(text, 8), day >= 1,
      text[10] | 0x20 == UInt8(ascii: "t") || text[10] == UInt8(ascii: " "),
      let hour = pair(text, 11), hour <= 23, text[13] == UInt8(ascii: ":"),
      let minute = pair(text, 14), minute <= 59, text[16] == UInt8(ascii: ":"),
      let second = pair(text, 17), second <= 60
    else { return nil }
    let year = century * 100 + yearOfCentury
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let daysInMonth = month == 2 ? (isLeap ? 29 : 28) : 30 + (month + month / 8) % 2
    guard day <= daysInMonth else { return nil }
    // A cycle later, so that nothing is negative.
    let fromMarch = (month + 9) % 12
    let shifted = year + 400 - (month <= 2 ? 1 : 0)
    let ofYear = (153 * fromMarch + 2) / 5 + day - 1
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + ofYear
    return (days - daysInCycle - reference) * secondsInDay + hour * 3600 + minute * 60 + second
  }

  /// `Z` or `±hh:mm` and nothing behind it, in seconds.
  private static func offset(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    if text.count == 1 { return text[0] | 0x20 == UInt8(ascii: "z") ? 0 : nil }
    guard text.count == 6, text[3] == UInt8(ascii: ":"), let hours = pair(text, 1), hours <= 23,
      let minutes = pair(text, 4), minutes <= 59
    else { return nil }
    switch text[0] {
    case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
    case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
    default: return nil
    }
  }

  /// The number nearest to `seconds` and the digits behind their point, the last
  /// of which is not 0.
  private static func time(_ seconds: Int64, _ digits: UnsafeBufferPointer<UInt8>) -> Double? {
    if digits.isEmpty { return Double(seconds) }
    if digits.count < powersOfTen.count {
      let power = powersOfTen[digits.count]
      if seconds.magnitude < (1 << 53) / power.magnitude {
        let fraction = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return Double(seconds * power + fraction) / Double(power)
      }
    }
    let isNegative = seconds < 0
    let whole = (isNegative ? -seconds - 1 : seconds).description + "."
    let number = String(unsafeUninitializedCapacity: whole.utf8.count + digits.count) { buffer in
      let start = buffer.initialize(fromContentsOf: whole.utf8)
      let fraction = UnsafeMutableBufferPointer(rebasing: buffer[start...])
      let count = fraction.initialize(fromContentsOf: digits)
      if isNegative { complement(UnsafeMutableBufferPointer(rebasing: fraction[..<count])) }
      return start + count
    }
    return Double(number).map { isNegative ? -$0 : $0 }
  }

  private static func pair(_ text: UnsafeBufferPointer<UInt8>, _ index: Int) -> Int64? {
    guard let tens = digit(text[index]), let ones = digit(text[index + 1]) else { return nil }
    return Int64(tens) * 10 + Int64(ones)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    let value = byte &- UInt8(ascii: "0")
    return value < 10 ? value : nil
  }
}
