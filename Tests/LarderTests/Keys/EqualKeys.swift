// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport

/// A key in which texts and numbers hide, and collections whose order means nothing.
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
  var parts: Set<Part> = []
  var table: [Part: Set<[Set<Int>]>] = [:]
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
    if Int.random(in: 0..<8, using: &generator) == 0 { return gathered() }
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

  /// Few different ones, each in many orders.
  private mutating func gathered() -> HiddenKey {
    let parts: [HiddenKey.Part] = [.text("é"), .text("e\u{301}"), .place(x: 0, y: 1), .none]
    let numbers = Array(0..<Int.random(in: 38...40, using: &generator))
    let inner = [set(of: numbers), set(of: [1, 2])]
    let sets: Set<[Set<Int>]> = set(of: [inner, inner.reversed(), []])
    let value = Bool.random(using: &generator) ? sets : []
    var table = [HiddenKey.Part: Set<[Set<Int>]>](minimumCapacity: capacity())
    for part in parts.shuffled(using: &generator) { table[part] = value }
    return HiddenKey(
      part: .none, words: [:], parts: set(of: Array(parts.dropFirst(numbers.count % 2))),
      table: table)
  }

  private mutating func set<Element: Hashable>(of elements: [Element]) -> Set<Element> {
    var made = Set<Element>(minimumCapacity: capacity())
    for element in elements.shuffled(using: &generator) { made.insert(element) }
    return made
  }

  /// The order in memory depends on the size of the table.
  private mutating func capacity() -> Int { Int.random(in: 1...200, using: &generator) }
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
