// SPDX-License-Identifier: MIT

/// How dictionaries are told from other types that write keys.
///
/// `Dictionary` writes itself with a key type of the standard library's own, in which the text "5"
/// and the number 5 look alike. Which of them a dictionary means only its type says.
enum DictionaryKeys {
  /// The key type of every dictionary.
  static let codingKeyType: ObjectIdentifier? = {
    let probe = Probe()
    // The probe refuses to be a dictionary; it has seen the key type by then.
    _ = try? [String: Int](from: probe)
    return probe.keyType
  }()

  /// Whether `type` is a dictionary whose keys are integers.
  static func areIntegers(of type: Any.Type) -> Bool {
    guard let dictionary = type as? any KeyedByType.Type else { return false }
    if dictionary.keyType == Int.self { return true }
    guard let key = dictionary.keyType as? any RawRepresentable.Type else { return false }
    return rawType(key) == Int.self
  }

  private static func rawType<T: RawRepresentable>(_ type: T.Type) -> Any.Type { T.RawValue.self }
}

private protocol KeyedByType {
  static var keyType: Any.Type { get }
}

extension Dictionary: KeyedByType {
  fileprivate static var keyType: Any.Type { Key.self }
}

/// Notes with what key type it is asked for a container.
private final class Probe: Decoder {
  private struct Refusal: Error {}

  var keyType: ObjectIdentifier?

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    keyType = ObjectIdentifier(type)
    throw Refusal()
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Refusal() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Refusal() }
}
