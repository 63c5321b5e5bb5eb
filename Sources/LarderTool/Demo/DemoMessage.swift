// SPDX-License-Identifier: MIT
import Foundation

/// Messages that anybody can make again from their number alone, so that what is found after a
/// crash can be compared byte for byte.
enum DemoMessage {
  static let size = 100

  /// `message 0000004711 ` and letters that depend on the number.
  @inline(never)
  static func make(_ number: UInt64) -> Data {
    var text = Array(start(of: number).utf8)
    text.reserveCapacity(size)
    // xorshift64*; a start of 0 would stay 0.
    var state = number &* 0x9E37_79B9_7F4A_7C15 | 1
    while text.count < size {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      text.append(UInt8(ascii: "a") + UInt8((state &* 0x2545_F491_4F6C_DD1D) >> 59) % 26)
    }
    return Data(text)
  }

  /// What only this message begins with.
  static func start(of number: UInt64) -> String {
    let digits = String(number)
    return "message " + String(repeating: "0", count: max(0, 10 - digits.count)) + digits + " "
  }

  static func isEqual(_ bytes: UnsafeRawBufferPointer, to message: Data) -> Bool {
    message.withUnsafeBytes { expected in
      guard bytes.count == expected.count else { return false }
      guard let left = bytes.baseAddress, let right = expected.baseAddress else { return true }
      return memcmp(left, right, bytes.count) == 0
    }
  }
}
