// SPDX-License-Identifier: MIT

public import Foundation

/// The message of a number, for logs that are shipped: whoever finds it elsewhere can tell whether
/// it is whole.
public func shippedMessage(_ sequence: UInt64) -> Data {
  Data("\(sequence) ".utf8)
    + Data(repeating: UInt8(truncatingIfNeeded: sequence), count: Int(sequence % 97))
}
