// SPDX-License-Identifier: MIT

public import Foundation

extension Coder where Value: Codable & SendableMetatype {
  /// JSON with the strategies of `JSONEncoder` and `JSONDecoder`; format `json`.
  ///
  /// ```swift
  /// let coder = Coder<Event>.json(dates: (.millisecondsSince1970, .millisecondsSince1970))
  /// ```
  ///
  /// - Parameters:
  ///   - dates: How dates are written and read; by default as text in the form of
  ///     ISO 8601, with as many digits of a second as the date has: `.rfc3339`.
  ///   - data: How `Data` is written and read; Base64 by default.
  ///   - floats: How infinities and NaN are written and read; refused by default.
  ///   - keys: How the names of properties are written and read; as they are by
  ///     default.
  ///   - sortedKeys: Whether equal values always get equal bytes, at some cost;
  ///     no by default.
  /// - Returns: A coder. Its encoder and decoder are made once and shared by all
  ///   threads.
  /// - Complexity: O(1).
  public static func json(
    dates: (JSONEncoder.DateEncodingStrategy, JSONDecoder.DateDecodingStrategy) = (
      .rfc3339, .rfc3339
    ),
    data: (JSONEncoder.DataEncodingStrategy, JSONDecoder.DataDecodingStrategy) = (.base64, .base64),
    floats: (
      JSONEncoder.NonConformingFloatEncodingStrategy, JSONDecoder.NonConformingFloatDecodingStrategy
    ) = (.throw, .throw),
    keys: (JSONEncoder.KeyEncodingStrategy, JSONDecoder.KeyDecodingStrategy) = (
      .useDefaultKeys, .useDefaultKeys
    ),
    sortedKeys: Bool = false
  ) -> Coder<Value> {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = dates.0
    encoder.dataEncodingStrategy = data.0
    encoder.nonConformingFloatEncodingStrategy = floats.0
    encoder.keyEncodingStrategy = keys.0
    encoder.outputFormatting = sortedKeys ? [.sortedKeys] : []
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = dates.1
    decoder.dataDecodingStrategy = data.1
    decoder.nonConformingFloatDecodingStrategy = floats.1
    decoder.keyDecodingStrategy = keys.1
    return json(encoder, decoder)
  }

  /// JSON by an encoder and a decoder of yours; format `json`.
  ///
  /// For what ``json(dates:data:floats:keys:sortedKeys:)`` leaves out, such as
  /// `userInfo`.
  ///
  /// - Parameters:
  ///   - encoder: Not to be changed from here on.
  ///   - decoder: Not to be changed from here on.
  /// - Returns: A coder.
  /// - Complexity: O(1).
  public static func json(_ encoder: JSONEncoder, _ decoder: JSONDecoder) -> Coder<Value> {
    Coder(
      format: "json", encode: { try encoder.encode($0) },
      decode: { try decoder.decode(Value.self, from: $0) })
  }

  /// JSON with the defaults of `JSONEncoder` and `JSONDecoder`, but for dates,
  /// which are text such as `2023-03-08T20:26:40.125Z`; format `json`.
  ///
  /// - Complexity: O(1).
  public static var json: Coder<Value> { json() }
}
