// SPDX-License-Identifier: MIT

import CLarderSystem
import Foundation

/// Values that know how many bytes they take beside themselves.
package protocol MeasuredValue {
  /// O(1).
  var bytesBeside: Int { get }
}

extension Data: MeasuredValue {
  package var bytesBeside: Int { count }
}

extension String: MeasuredValue {
  package var bytesBeside: Int { utf8.count }
}

extension Array: MeasuredValue {
  package var bytesBeside: Int { count * MemoryLayout<Element>.stride }
}

extension Optional: MeasuredValue where Wrapped: MeasuredValue {
  package var bytesBeside: Int { self?.bytesBeside ?? 0 }
}

extension MemoryCache {
  /// Tells what an entry takes; nil if that is always the same, or cannot be told.
  static var measure: (@Sendable (Key, Value) -> Int)? {
    (Value.self as? any MeasuredValue.Type).map { measure(as: $0) }
  }

  private static func measure<Measured: MeasuredValue>(
    as type: Measured.Type
  ) -> @Sendable (Key, Value) -> Int {
    // It has nothing but the type, which is Value, and that can be sent.
    nonisolated(unsafe) let measure = { (_: Key, value: Value) in
      MemoryLayout<Entry>.size &+ unsafeBitCast(value, to: Measured.self).bytesBeside
    }
    return { measure($0, $1) }
  }
}

extension MemoryCacheConfiguration {
  /// A sixteenth of the memory that the process may use: of the machine's, or of its control
  /// group's if that is less; `Int.max` where nobody knows.
  package static var shareOfMemory: Int { standardShareOfMemory }
}

private let standardShareOfMemory: Int = {
  let bytes = larder_os_memory_bytes()
  return bytes == 0 ? .max : Int(clamping: bytes / 16)
}()
