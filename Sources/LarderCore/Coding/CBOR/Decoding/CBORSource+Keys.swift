// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// As `memcmp`, but quicker for what is as short as keys are.
@inline(__always)
private func areEqual(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ length: Int) -> Bool {
  let a = UnsafeRawPointer(a)
  let b = UnsafeRawPointer(b)
  @inline(__always)
  func difference<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: Word.Type) -> Word {
    a.loadUnaligned(fromByteOffset: offset, as: Word.self)
      ^ b.loadUnaligned(fromByteOffset: offset, as: Word.self)
  }
  switch length {
  case 0: return true
  case 1: return difference(0, UInt8.self) == 0
  case 2...3: return difference(0, UInt16.self) | difference(length - 2, UInt16.self) == 0
  case 4...7: return difference(0, UInt32.self) | difference(length - 4, UInt32.self) == 0
  case 8...16: return difference(0, UInt64.self) | difference(length - 8, UInt64.self) == 0
  default: return memcmp(a, b, length) == 0
  }
}

extension CBORSource {
  /// Major type and argument of an integer's head.
  static func integerHead(_ number: Int) -> (major: Int, argument: UInt64) {
    number < 0
      ? (LARDER_CBOR_NEGATIVE, UInt64(bitPattern: Int64(~number)))
      : (LARDER_CBOR_UNSIGNED, UInt64(bitPattern: Int64(number)))
  }

  func key(at offset: Int) -> CBORMapKey? {
    guard let head = try? rawHead(at: offset) else { return nil }
    switch Int(head.major) {
    case LARDER_CBOR_TEXT: return (try? string(at: offset)).map { .text($0) }
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE:
      return (try? integer(at: offset, as: Int.self)).map { .number($0) }
    default: return nil
    }
  }

  /// How many bytes the text at `offset` has, which are there, if its head is a single byte.
  @inline(__always)
  func lengthOfShortText(at offset: Int) -> Int? {
    guard let initial = initialByte(at: offset) else { return nil }
    let length = Int(initial) - (LARDER_CBOR_TEXT << 5)
    return length >= 0 && length < 24 && length < count - offset ? length : nil
  }

  /// Whether the `length` bytes at `offset`, which are there, are those of `key`.
  @inline(__always)
  func bytes(
    at offset: Int, _ length: Int, equal key: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard key.count == length else { return false }
    guard let bytes, let first = key.baseAddress else { return true }
    return areEqual(bytes + offset, first, length)
  }
}
