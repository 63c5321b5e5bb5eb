// SPDX-License-Identifier: MIT
import Foundation

/// An encoder and a decoder of Foundation, ready to be used.
struct CodingRival<Value: Codable> {
  let encoderName: String
  let decoderName: String
  let settings: String
  let encode: (Value) throws -> Data
  let decode: (Data) throws -> Value

  static var json: CodingRival {
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    return CodingRival(
      encoderName: "JSONEncoder", decoderName: "JSONDecoder", settings: "default settings",
      encode: { try encoder.encode($0) }, decode: { try decoder.decode(Value.self, from: $0) })
  }

  static var binaryPlist: CodingRival {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let decoder = PropertyListDecoder()
    return CodingRival(
      encoderName: "PropertyListEncoder", decoderName: "PropertyListDecoder",
      settings: "binary format", encode: { try encoder.encode($0) },
      decode: { try decoder.decode(Value.self, from: $0) })
  }
}
