// SPDX-License-Identifier: MIT

import CLarder
import Foundation

extension CBORWriter {
  @inline(__always)
  func writeHead(_ major: Int, _ argument: UInt64) {
    reserve(LARDER_CBOR_HEAD_MAX_BYTES)
    count += larder_cbor_write_head(
      bytes + count, UInt32(truncatingIfNeeded: major), argument)
  }

  @inline(__always)
  func write(byte: Int) {
    reserve(1)
    bytes[count] = UInt8(truncatingIfNeeded: byte)
    count += 1
  }

  @inline(__always)
  func writeNil() { write(byte: LARDER_CBOR_NULL) }

  @inline(__always)
  func write(_ value: Bool) { write(byte: value ? LARDER_CBOR_TRUE : LARDER_CBOR_FALSE) }

  @inline(__always)
  func write(_ value: some SignedInteger & FixedWidthInteger) {
    let value = Int64(truncatingIfNeeded: value)
    if value >= 0 {
      writeHead(LARDER_CBOR_UNSIGNED, UInt64(truncatingIfNeeded: value))
    } else {
      writeHead(LARDER_CBOR_NEGATIVE, UInt64(truncatingIfNeeded: ~value))
    }
  }

  @inline(__always)
  func write(_ value: some UnsignedInteger & FixedWidthInteger) {
    writeHead(LARDER_CBOR_UNSIGNED, UInt64(truncatingIfNeeded: value))
  }

  func write(_ value: Double) {
    reserve(LARDER_CBOR_HEAD_MAX_BYTES)
    count += larder_cbor_write_float(bytes + count, value)
  }

  func write(_ value: Float) { write(Double(value)) }

  /// Beyond 64 bits a bignum (RFC 8949, section 3.4.3).
  func write(_ value: Int128) {
    if value >= 0 {
      write(UInt128(value))
    } else {
      write(UInt128(~value), LARDER_CBOR_NEGATIVE)
    }
  }

  func write(_ value: UInt128) { write(value, LARDER_CBOR_UNSIGNED) }

  func write(_ argument: UInt128, _ major: Int) {
    if let small = UInt64(exactly: argument) { return writeHead(major, small) }
    writeHead(LARDER_CBOR_TAG, CBORTag.bignum + UInt64(major))
    withUnsafeBytes(of: argument.bigEndian) { bytes in
      let zeros = argument.leadingZeroBitCount / 8
      write(bytes: UnsafeRawBufferPointer(rebasing: bytes[zeros...]), LARDER_CBOR_BYTES)
    }
  }

  @inline(__always)
  func write(bytes source: UnsafeRawBufferPointer, _ major: Int) {
    let length = source.count
    reserve(LARDER_CBOR_HEAD_MAX_BYTES + length)
    let head = larder_cbor_write_head(
      bytes + count, UInt32(truncatingIfNeeded: major), UInt64(truncatingIfNeeded: length))
    if let start = source.baseAddress {
      UnsafeMutableRawPointer(bytes + count + head).copyMemory(from: start, byteCount: length)
    }
    count += head + length
  }

  @inline(__always)
  func write(_ value: String) {
    var text = value
    text.withUTF8 { write(bytes: UnsafeRawBufferPointer($0), LARDER_CBOR_TEXT) }
  }

  func write(_ value: Data) {
    value.withUnsafeBytes { write(bytes: $0, LARDER_CBOR_BYTES) }
  }
}

/// Numbers of tags, from the registry of RFC 8949, section 9.2.
enum CBORTag {
  static let dateText: UInt64 = 0
  static let epoch: UInt64 = 1
  /// 3 is the negative one.
  static let bignum: UInt64 = 2
  static let decimal: UInt64 = 4
  static let url: UInt64 = 32
  static let uuid: UInt64 = 37
}
