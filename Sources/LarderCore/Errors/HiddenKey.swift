// SPDX-License-Identifier: MIT

/// Stands for a key of a dictionary in the path of a decoding error: such a key is data.
struct HiddenKey: CodingKey {
  var stringValue: String { "…" }
  var intValue: Int? { nil }

  init() {}
  init?(stringValue: String) { nil }
  init?(intValue: Int) { nil }
}

extension CodingKey {
  /// Whether the key is the name of a property, or a position in an array.
  ///
  /// Such names are code: enums without associated values. The key types of `Dictionary`, of
  /// Foundation's coders and of types that take any text carry what they were made of.
  private var isName: Bool {
    if let intValue, stringValue == "Index \(intValue)" { return true }
    let mirror = Mirror(reflecting: self)
    return mirror.displayStyle == .enum && mirror.children.isEmpty
  }

  fileprivate var withoutData: any CodingKey { isName ? self : HiddenKey() }
}

extension Error {
  /// The same error with the keys of dictionaries hidden, if it is one of decoding.
  var withoutKeys: any Error {
    switch self as any Error {
    case DecodingError.typeMismatch(let type, let context):
      DecodingError.typeMismatch(type, context.withoutKeys())
    case DecodingError.valueNotFound(let type, let context):
      DecodingError.valueNotFound(type, context.withoutKeys())
    case DecodingError.keyNotFound(let key, let context):
      // Coders repeat the key in words.
      DecodingError.keyNotFound(
        key.withoutData,
        context.withoutKeys(saying: key.withoutData is HiddenKey ? "There is no such key." : nil))
    case DecodingError.dataCorrupted(let context):
      DecodingError.dataCorrupted(context.withoutKeys())
    default: self
    }
  }
}

extension DecodingError.Context {
  fileprivate func withoutKeys(saying text: String? = nil) -> DecodingError.Context {
    DecodingError.Context(
      codingPath: codingPath.map(\.withoutData), debugDescription: text ?? debugDescription,
      underlyingError: underlyingError?.withoutKeys)
  }
}
