// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport

/// A key in which texts and numbers hide.
struct HiddenKey: Codable, Hashable, Sendable {
  enum Part: Codable, Hashable, Sendable {
    case text(String)
    case place(x: Double, y: Float)
    case none
  }

  struct Name: RawRepresentable, Codable, Hashable, Sendable { var rawValue: String }

  var part: Part
  var name: Name?
  var words: [String: [Double]]
}

/// Makes keys that are equal now and then, and then seldom look the same.
struct EqualKeys {
  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func text() -> String {
    let scalars: [String] = [
      "a", "e", "é", "e\u{301}", "\u{301}", "\u{323}", "Å", "\u{212B}", "A\u{30A}", "각",
      "\u{1100}\u{1161}", "\u{11A8}", "か", "が", "\u{3099}", "日", "😀", "\u{344}", "q",
    ]
    let count = Int.random(in: 0...3, using: &generator)
    return (0..<count).map { _ in scalars.randomElement(using: &generator) ?? "" }.joined()
  }

  mutating func number() -> Double { [0, -0.0, 1, -1, 0.5].randomElement(using: &generator) ?? 0 }

  mutating func hidden() -> HiddenKey {
    let part: HiddenKey.Part =
      switch Int.random(in: 0...2, using: &generator) {
      case 0: .text(text())
      case 1: .place(x: number(), y: Float(number()))
      default: .none
      }
    return HiddenKey(
      part: part, name: Bool.random(using: &generator) ? .init(rawValue: text()) : nil,
      words: Bool.random(using: &generator) ? [:] : [text(): [number()]])
  }
}

extension KeyCoder where Key: Codable & SendableMetatype {
  /// As versions had it that stored keys as they were given.
  static var asGiven: KeyCoder<Key> {
    KeyCoder(
      keepsOrder: Key.self == String.self, keepsPrefixes: Key.self == String.self,
      encode: { key in
        if let text = key as? String { return Data(text.utf8) }
        var encoder = CBOREncoder()
        encoder.isDeterministic = true
        return try encoder.encode(key)
      },
      decode: { bytes in
        if let text = String(decoding: bytes, as: UTF8.self) as? Key { return text }
        return try CBORDecoder().decode(Key.self, from: bytes)
      })
  }
}
