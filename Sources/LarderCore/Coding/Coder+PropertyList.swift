// SPDX-License-Identifier: MIT

import Foundation

extension Coder where Value: Codable & SendableMetatype {
  /// A binary property list, as Apple's systems keep settings; format `plist`.
  ///
  /// A property list is an array or a dictionary at the top, so a `String`, a
  /// number, a `Bool`, a `Date` or nil by itself is refused with `.encoding`; the
  /// same inside of a struct is fine.
  ///
  /// - Complexity: O(1). Encoder and decoder are made once and shared by all
  ///   threads.
  public static var binaryPlist: Coder<Value> {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let decoder = PropertyListDecoder()
    return Coder(
      format: "plist", encode: { try encoder.encode($0) },
      decode: { try decoder.decode(Value.self, from: $0) })
  }
}
