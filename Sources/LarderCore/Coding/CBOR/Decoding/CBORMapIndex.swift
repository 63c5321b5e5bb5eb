// SPDX-License-Identifier: MIT

import CLarder

/// A key that a `CodingKey` can be made of.
enum CBORMapKey {
  case text(String)
  case number(Int)

  func codingKey<Key: CodingKey>(as type: Key.Type) -> Key? {
    switch self {
    case .text(let text): Key(stringValue: text)
    case .number(let number): Key(intValue: number)
    }
  }
}

/// The keys of a map by what they are.
final class CBORMapIndex {
  /// In order, as the key strategy spells them.
  let keys: [(CBORMapKey, value: Int)]
  private var texts: [String: Int] = [:]
  private var numbers: [Int: Int] = [:]

  init(_ map: CBORPosition, _ pairs: [larder_cbor_pair]) {
    let input = map.input
    keys = pairs.compactMap { pair in
      guard let key = map.source.key(at: pair.key) else { return nil }
      guard map.convertsKeys, case .text(let text) = key else { return (key, pair.value) }
      return (.text(input.options.values.converted(text, map)), pair.value)
    }
    // Keys that a strategy made equal: the first counts, as in Foundation's decoders.
    for (key, value) in keys {
      switch key {
      case .text(let text): if texts[text] == nil { texts[text] = value }
      case .number(let number): numbers[number] = value
      }
    }
  }

  func value(for key: some CodingKey) -> Int? {
    if let number = key.integer, let value = numbers[number] { return value }
    return texts[key.stringValue]
  }
}
