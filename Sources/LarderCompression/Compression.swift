// SPDX-License-Identifier: MIT

import CZlib
import Foundation
import LarderCore

/// The bytes of a compressed value.
///
///     stored:      | 0x00 | CRC-32 of the bytes, u32 little-endian | the bytes |
///     compressed:  | 0x01 | how many bytes, varint | zlib stream of the bytes |
///
/// The varint has seven bits a byte, the lowest first, and bit 7 set in all but
/// the last; it is as short as can be. The stream is that of RFC 1950, and ends
/// with an Adler-32 of what comes out of it. CRC-32 is that of RFC 1952.
///
/// 1. Whichever form is shorter is written; `stored` if they are equal.
/// 2. What is read ends where the stream ends, and has exactly the length it says.
/// 3. Nothing is allocated for a length that deflate cannot have made of the bytes
///    at hand: a length of *n* takes at least *n*/1032 of them (zlib, "Technical
///    Details": two bits for 258 bytes).
struct Compression: Sendable {
  let level: CompressionLevel
  let maximumBytes: Int

  private static let storedKind: UInt8 = 0
  private static let zlibKind: UInt8 = 1
  private static let storedHead = 5
  private static let largestRatio: UInt64 = 1032

  func compress(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> Data {
    try checkLimit()
    guard bytes.count <= maximumBytes else {
      throw LarderError(
        .tooLarge,
        "The value has \(bytes.count) bytes, and the coder compresses up to \(maximumBytes).")
    }
    if let compressed = try deflated(bytes) { return compressed }
    var stored = Data(capacity: Self.storedHead + bytes.count)
    stored.append(Self.storedKind)
    withUnsafeBytes(of: Self.checksum(bytes).littleEndian) { stored.append(contentsOf: $0) }
    if let start = bytes.bindMemory(to: UInt8.self).baseAddress {
      stored.append(start, count: bytes.count)
    }
    return stored
  }

  /// Lends the original bytes to `body`.
  func decompress<Value>(
    _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Value
  ) throws -> Value {
    try checkLimit()
    guard let kind = bytes.first else { throw Self.damaged("there are none") }
    switch kind {
    case Self.storedKind:
      guard bytes.count >= Self.storedHead else { throw Self.damaged("they are cut off") }
      let original = UnsafeRawBufferPointer(rebasing: bytes[Self.storedHead...])
      try check(claim: UInt64(original.count))
      let expected = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
      guard Self.checksum(original) == expected else {
        throw Self.damaged("their checksum does not agree")
      }
      return try body(original)
    case Self.zlibKind:
      let (length, end) = try Self.varint(bytes)
      let stream = UnsafeRawBufferPointer(rebasing: bytes[end...])
      try check(claim: length)
      guard (length + Self.largestRatio - 1) / Self.largestRatio <= UInt64(stream.count) else {
        throw Self.damaged("\(stream.count) cannot hold the \(length) that they claim")
      }
      let original = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(length), alignment: 16)
      defer { original.deallocate() }
      try InflateStream.inflate(stream, into: original)
      return try body(UnsafeRawBufferPointer(original))
    default:
      throw Self.damaged("they begin with \(kind), which no version up to this one writes")
    }
  }

  /// Nil if that would not be shorter than the bytes stored as they are.
  private func deflated(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> Data? {
    var head: [UInt8] = [Self.zlibKind]
    var rest = bytes.count
    while rest > 0x7F {
      head.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    head.append(UInt8(truncatingIfNeeded: rest))
    // What leaves a byte of this is shorter; no stream is, without its head and checksum.
    let room = Self.storedHead + bytes.count - head.count
    guard room > 6 else { return nil }
    let stream = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 16)
    defer { stream.deallocate() }
    guard let count = try DeflateStream.deflate(bytes, into: stream, level: level) else {
      return nil
    }
    var compressed = Data(capacity: head.count + count)
    compressed.append(contentsOf: head)
    if let start = stream.bindMemory(to: UInt8.self).baseAddress {
      compressed.append(start, count: count)
    }
    return compressed
  }

  /// `length` is then less than 2⁶³, and an `Int`.
  private func check(claim length: UInt64) throws(LarderError) {
    guard length <= UInt64(maximumBytes) else {
      throw LarderError(
        .decoding,
        """
        The compressed bytes claim to hold \(length), and the coder reads up to \(maximumBytes); \
        give it a larger maximumBytes if that is right.
        """)
    }
  }

  private func checkLimit() throws(LarderError) {
    guard maximumBytes >= 0 else {
      throw LarderError(
        .invalidArgument, "A coder cannot compress up to \(maximumBytes) bytes; give it 0 or more.")
    }
  }

  /// The number behind the first byte, and where it ends.
  private static func varint(
    _ bytes: UnsafeRawBufferPointer
  ) throws(LarderError) -> (UInt64, end: Int) {
    var value: UInt64 = 0
    for index in 0..<min(9, bytes.count - 1) {
      let byte = bytes[1 + index]
      value |= UInt64(byte & 0x7F) << (7 * UInt64(index))
      if byte < 0x80 {
        if byte == 0, index > 0 { break }
        return (value, 2 + index)
      }
    }
    throw damaged("they have no valid length")
  }

  private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    // Without bytes zlib gives the initial value, which is the right one.
    var checksum = crc32_z(0, nil, 0)
    if let start = bytes.bindMemory(to: UInt8.self).baseAddress {
      checksum = crc32_z(checksum, start, bytes.count)
    }
    return UInt32(truncatingIfNeeded: checksum)
  }

  static func damaged(_ what: String) -> LarderError {
    LarderError(.decoding, "The compressed bytes are damaged: \(what).")
  }
}
