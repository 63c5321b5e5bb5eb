// SPDX-License-Identifier: MIT

import CLarder
import Foundation

extension CBORWriter {
  /// Writes any value: those of known types at once, others by their `encode(to:)`.
  ///
  /// - Parameter path: The value's own; asked for only if it is needed.
  @inline(__always)
  func write<T: Encodable>(_ value: T, at path: () -> CBORPath?) throws {
    if try !writeKnown(value, at: path) { try writeNested(value, path()) }
  }

  /// Writes a value of a type that CBOR has a form for, or that is quicker to write than to ask.
  ///
  /// - Returns: Whether it was one.
  private func writeKnown<T: Encodable>(_ value: T, at path: () -> CBORPath?) throws -> Bool {
    // Comparing a type with one that is known costs a compare; asking the value costs a container.
    if T.self == String.self {
      write(unsafeBitCast(value, to: String.self))
    } else if T.self == Int.self {
      write(unsafeBitCast(value, to: Int.self))
    } else if T.self == Double.self {
      write(unsafeBitCast(value, to: Double.self))
    } else if T.self == Bool.self {
      write(unsafeBitCast(value, to: Bool.self))
    } else if T.self == Date.self {
      return try write(unsafeBitCast(value, to: Date.self), at: path)
    } else if T.self == Data.self {
      write(unsafeBitCast(value, to: Data.self))
    } else if T.self == UUID.self {
      writeHead(LARDER_CBOR_TAG, CBORTag.uuid)
      withUnsafeBytes(of: unsafeBitCast(value, to: UUID.self).uuid) {
        write(bytes: $0, LARDER_CBOR_BYTES)
      }
    } else if T.self == [Double].self {
      let values = unsafeBitCast(value, to: [Double].self)
      writeHead(LARDER_CBOR_ARRAY, UInt64(values.count))
      for value in values { write(value) }
    } else if T.self == [Int].self {
      let values = unsafeBitCast(value, to: [Int].self)
      writeHead(LARDER_CBOR_ARRAY, UInt64(values.count))
      for value in values { write(value) }
    } else if T.self == [String].self {
      let values = unsafeBitCast(value, to: [String].self)
      writeHead(LARDER_CBOR_ARRAY, UInt64(values.count))
      for value in values { write(value) }
    } else if T.self == [String: String].self {
      let pairs = unsafeBitCast(value, to: [String: String].self)
      writeHead(LARDER_CBOR_MAP, UInt64(pairs.count))
      for (key, value) in pairs {
        write(key)
        write(value)
      }
    } else if T.self == URL.self {
      writeHead(LARDER_CBOR_TAG, CBORTag.url)
      write(unsafeBitCast(value, to: URL.self).absoluteString)
    } else if T.self == Decimal.self {
      write(unsafeBitCast(value, to: Decimal.self))
    } else if T.self == Float.self {
      write(unsafeBitCast(value, to: Float.self))
    } else if T.self == Int8.self {
      write(unsafeBitCast(value, to: Int8.self))
    } else if T.self == Int16.self {
      write(unsafeBitCast(value, to: Int16.self))
    } else if T.self == Int32.self {
      write(unsafeBitCast(value, to: Int32.self))
    } else if T.self == Int64.self {
      write(unsafeBitCast(value, to: Int64.self))
    } else if T.self == UInt.self {
      write(unsafeBitCast(value, to: UInt.self))
    } else if T.self == UInt8.self {
      write(unsafeBitCast(value, to: UInt8.self))
    } else if T.self == UInt16.self {
      write(unsafeBitCast(value, to: UInt16.self))
    } else if T.self == UInt32.self {
      write(unsafeBitCast(value, to: UInt32.self))
    } else if T.self == UInt64.self {
      write(unsafeBitCast(value, to: UInt64.self))
    } else if T.self == CBORValue.self {
      try write(unsafeBitCast(value, to: CBORValue.self), at: path)
    } else {
      return false
    }
    return true
  }

  /// Calls the value's `encode(to:)`, and ends what it opened.
  @inline(never)
  func writeNested<T: Encodable>(_ value: T, _ path: CBORPath?) throws {
    guard depth < depthLimit else { throw tooDeep(value, path) }
    depth += 1
    defer { depth -= 1 }
    let parent = top
    let item = open(.pending)
    let outerType = valueType
    valueType = T.self
    try value.encode(to: CBOREncoding(writer: self, item: item, path: path))
    valueType = outerType
    close(item, parent: parent)
    if marksUnordered, let mark = CBORUnordered.mark(of: T.self) {
      write(mark, before: item)
    }
  }

  /// Whether arrays, maps and tags enclose each other no deeper than the limit.
  func isWithinDepth() -> Bool {
    // A decimal, a tag around an array, is the deepest of the known types.
    if deepest + 2 <= depthLimit { return true }
    return larder_cbor_check(bytes, count, UInt32(depthLimit), nil) != LARDER_ETOOLARGE
  }

  @inline(never)
  func tooDeep(_ value: Any, _ path: CBORPath?) -> EncodingError {
    EncodingError.invalidValue(
      value,
      EncodingError.Context(
        codingPath: path.keys,
        debugDescription: "Values are nested more than \(depthLimit) levels deep."))
  }

  /// - Returns: false for a date that writes itself.
  private func write(_ date: Date, at path: () -> CBORPath?) throws -> Bool {
    switch options.values.dates {
    case .tagged:
      let seconds = date.timeIntervalSince1970
      if Date(timeIntervalSince1970: seconds) == date || !writeText(date) { writeEpoch(seconds) }
    case .epoch:
      writeEpoch(date.timeIntervalSince1970)
    case .iso8601:
      if !writeText(date) {
        throw EncodingError.invalidValue(
          date,
          EncodingError.Context(
            codingPath: path().keys,
            debugDescription: "A date outside of the years 0000 to 9999 has no text form."))
      }
    case .secondsSince1970:
      writeNumber(date.timeIntervalSince1970)
    case .millisecondsSince1970:
      writeNumber(date.timeIntervalSince1970 * 1000)
    case .deferredToDate:
      return false
    case .custom(let encode):
      try writeNested(CustomDate(date: date, encodeDate: encode), path())
    }
    return true
  }

  private func writeEpoch(_ seconds: Double) {
    writeHead(LARDER_CBOR_TAG, CBORTag.epoch)
    writeNumber(seconds)
  }

  /// An integer where that says the same, as it is shorter for dates.
  private func writeNumber(_ value: Double) {
    if let whole = Int64(exactly: value) { write(whole) } else { write(value) }
  }

  private func writeText(_ date: Date) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: RFC3339.capacity) { buffer in
      guard let length = RFC3339.write(date, to: buffer) else { return false }
      writeHead(LARDER_CBOR_TAG, CBORTag.dateText)
      write(
        bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<length]),
        LARDER_CBOR_TEXT)
      return true
    }
  }

  /// A decimal fraction (RFC 8949, section 3.4.4): exponent and mantissa.
  private func write(_ value: Decimal) {
    if value.isNaN { return write(Double.nan) }
    writeHead(LARDER_CBOR_TAG, CBORTag.decimal)
    writeHead(LARDER_CBOR_ARRAY, 2)
    // Zeros of all exponents are equal, and so are their bytes.
    write(value.isZero ? 0 : value.exponent)
    write(value.mantissa, value.isSignMinus && !value.isZero)
  }

  private func write(_ mantissa: UInt128, _ isNegative: Bool) {
    if isNegative {
      write(mantissa - 1, LARDER_CBOR_NEGATIVE)
    } else {
      write(mantissa, LARDER_CBOR_UNSIGNED)
    }
  }
}

/// Lends a date the encoding of a strategy.
private struct CustomDate: Encodable {
  let date: Date
  let encodeDate: @Sendable (Date, any Encoder) throws -> Void

  func encode(to encoder: any Encoder) throws { try encodeDate(date, encoder) }
}

extension Decimal {
  /// The absolute value of the significand.
  var mantissa: UInt128 {
    let digits = significand
    // The significand is a decimal itself, whose words only its description shows on every system.
    return UInt128(digits.magnitude.description) ?? 0
  }
}
