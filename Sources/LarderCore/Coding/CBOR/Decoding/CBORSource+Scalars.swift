// SPDX-License-Identifier: MIT

import CLarder
import Foundation

extension CBORSource {
  @inline(__always)
  func bool(at offset: Int) throws(CBORFault) -> Bool {
    var offset = offset
    let head = try head(at: &offset)
    guard Int(head.major) == LARDER_CBOR_SIMPLE else { throw .mismatch }
    switch Int(head.info) {
    case LARDER_CBOR_FALSE & 31: return false
    case LARDER_CBOR_TRUE & 31: return true
    // For null, too, as in Foundation's decoders.
    default: throw .mismatch
    }
  }

  /// Integers, and floats that are whole.
  @inline(__always)
  func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type) throws(CBORFault) -> T {
    if let initial = initialByte(at: offset), initial < 24 { return T(truncatingIfNeeded: initial) }
    return try otherInteger(at: offset, as: type)
  }

  @inline(never)
  private func otherInteger<T: FixedWidthInteger>(
    at offset: Int, as type: T.Type
  ) throws(CBORFault) -> T {
    let value: T?
    let first = try rawHead(at: offset)
    if Int(first.major) == LARDER_CBOR_UNSIGNED {
      value = T(exactly: first.argument)
    } else if let (argument, isNegative) = try bignum(at: offset) {
      value = isNegative ? T(exactly: argument).map { ~$0 } : T(exactly: argument)
      // The complement of an unsigned number is no negative one.
      if isNegative && !T.isSigned { throw .outOfRange }
    } else {
      var offset = offset
      let head = try head(at: &offset)
      switch Int(head.major) {
      case LARDER_CBOR_UNSIGNED:
        value = T(exactly: head.argument)
      case LARDER_CBOR_NEGATIVE:
        guard T.isSigned else { throw .outOfRange }
        value = T(exactly: head.argument).map { ~$0 }
      default:
        value = T(exactly: try float(head))
      }
    }
    guard let value else { throw .outOfRange }
    return value
  }

  /// The absolute value of a bignum, or of its complement for a negative one; nil for what is none.
  func bignum(at offset: Int) throws(CBORFault) -> (argument: UInt128, isNegative: Bool)? {
    let head = try rawHead(at: offset)
    guard Int(head.major) == LARDER_CBOR_TAG,
      head.argument == CBORTag.bignum || head.argument == CBORTag.bignum + 1
    else { return nil }
    let bytes = try data(at: offset + Int(head.length)).drop { $0 == 0 }
    guard bytes.count <= 16 else { throw .outOfRange }
    let argument = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
    return (argument, head.argument != CBORTag.bignum)
  }

  /// Floats and integers; of those the nearest, if the type cannot represent them.
  @inline(__always)
  func double(at offset: Int) throws(CBORFault) -> Double {
    let size = MemoryLayout<UInt64>.size
    if let initial = initialByte(at: offset), let bytes, count - offset > size,
      Int(initial) == LARDER_CBOR_SIMPLE << 5 | LARDER_CBOR_INFO_DOUBLE
    {
      let bits = UnsafeRawPointer(bytes).loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self)
      return Double(bitPattern: UInt64(bigEndian: bits))
    }
    return try otherDouble(at: offset)
  }

  @inline(never)
  private func otherDouble(at offset: Int) throws(CBORFault) -> Double {
    var offset = offset
    if let (argument, isNegative) = try bignum(at: offset) {
      return isNegative ? -1 - Double(argument) : Double(argument)
    }
    let head = try head(at: &offset)
    switch Int(head.major) {
    case LARDER_CBOR_UNSIGNED: return Double(head.argument)
    case LARDER_CBOR_NEGATIVE: return -1 - Double(head.argument)
    default: return try float(head)
    }
  }

  func float(at offset: Int) throws(CBORFault) -> Float {
    let value = try double(at: offset)
    let float = Float(value)
    if float.isInfinite && value.isFinite { throw .outOfRange }
    return float
  }

  /// The float that a head is.
  func float(_ head: larder_cbor_head) throws(CBORFault) -> Double {
    guard Int(head.major) == LARDER_CBOR_SIMPLE else { throw .mismatch }
    switch Int(head.info) {
    case LARDER_CBOR_INFO_HALF:
      return larder_cbor_half_value(UInt16(truncatingIfNeeded: head.argument))
    case LARDER_CBOR_INFO_SINGLE:
      return Double(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
    case LARDER_CBOR_INFO_DOUBLE:
      return Double(bitPattern: head.argument)
    default:
      throw mismatch(head)
    }
  }

  @inline(__always)
  func string(at offset: Int) throws(CBORFault) -> String {
    try withString(LARDER_CBOR_TEXT, at: offset) { bytes in
      String(decoding: bytes, as: UTF8.self)
    }
  }

  func data(at offset: Int) throws(CBORFault) -> Data {
    try withString(LARDER_CBOR_BYTES, at: offset) { Data(copying: UnsafeRawBufferPointer($0)) }
  }

  /// The bytes of a text or byte string, in place if they are in one piece.
  @inline(__always)
  func withString<Result>(
    _ major: Int, at offset: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) throws(CBORFault) -> Result {
    var offset = offset
    let head = try head(at: &offset)
    guard Int(head.major) == major else { throw mismatch(head) }
    if Int(head.info) == LARDER_CBOR_INFO_INDEFINITE {
      return try chunks(major, at: offset + Int(head.length)).withUnsafeBufferPointer(body)
    }
    let start = offset + Int(head.length)
    guard head.argument <= UInt64(truncatingIfNeeded: count - start), let bytes else {
      throw .unreadable
    }
    return body(
      UnsafeBufferPointer(start: bytes + start, count: Int(truncatingIfNeeded: head.argument)))
  }

  /// The pieces of an indefinite-length string, joined.
  @inline(never)
  private func chunks(_ major: Int, at offset: Int) throws(CBORFault) -> [UInt8] {
    var offset = offset
    var joined: [UInt8] = []
    while let bytes, offset < count, Int(bytes[offset]) != LARDER_CBOR_BREAK {
      let head = try rawHead(at: offset)
      let start = offset + Int(head.length)
      guard Int(head.major) == major, Int(head.info) != LARDER_CBOR_INFO_INDEFINITE,
        head.argument <= UInt64(truncatingIfNeeded: count - start)
      else { throw .unreadable }
      offset = start + Int(truncatingIfNeeded: head.argument)
      joined.append(contentsOf: UnsafeBufferPointer(start: bytes + start, count: offset - start))
    }
    return joined
  }

  @inline(never)
  func mismatch(_ head: larder_cbor_head) -> CBORFault { isNil(head) ? .null : .mismatch }
}
