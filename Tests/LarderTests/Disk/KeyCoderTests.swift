// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

struct KeyCoderTests {
  private enum Planet: String, Codable { case earth, mars }
  private enum Level: Int8 { case low = -3, high = 5 }

  private func comesBack<Key: Equatable>(_ key: Key, _ coder: KeyCoder<Key>) throws -> Bool {
    try coder.decode(coder.encode(key)) == key
  }

  private func keepsOrder<Key: Comparable>(_ keys: [Key], _ coder: KeyCoder<Key>) throws -> Bool {
    #expect(coder.keepsOrder)
    let sorted = keys.sorted()
    let bytes = try sorted.map { try coder.encode($0) }
    return zip(bytes, bytes.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) || $0 == $1 }
  }

  @Test func textAndBytesAreThemselves() throws {
    for text in ["", "a", "größe", "a\0b", String(repeating: "x", count: 1000)] {
      #expect(try KeyCoder.string.encode(text) == Data(text.utf8))
      #expect(try comesBack(text, .string))
      #expect(try comesBack(Data(text.utf8), .data))
      #expect(try comesBack([UInt8](text.utf8), .bytes))
    }
    #expect(KeyCoder.string.keepsPrefixes && KeyCoder.data.keepsPrefixes)
    #expect(KeyCoder.bytes.keepsOrder && KeyCoder.bytes.keepsPrefixes)
  }

  @Test func aSliceOfBytesIsItsBytes() throws {
    let slice = Data([9, 1, 2, 9])[1..<3]
    #expect(try KeyCoder.data.encode(slice) == Data([1, 2]))
    #expect(try KeyCoder.data.decode(slice) == Data([1, 2]))
  }

  @Test func bytesThatAreNotTextAreNoText() {
    #expect(errorCode { try KeyCoder.string.decode(Data([0xFF])) } == .decoding)
  }

  @Test func aUUIDHas16Bytes() throws {
    let uuid = UUID()
    #expect(try KeyCoder.uuid.encode(uuid).count == 16)
    #expect(try comesBack(uuid, .uuid))
    #expect(errorCode { try KeyCoder.uuid.decode(Data(count: 15)) } == .decoding)
  }

  private func check<Number: FixedWidthInteger & Sendable>(_ type: Number.Type, bytes: Int) throws {
    let coder = KeyCoder<Number>.integer
    var generator = SeededGenerator(seed: 31)
    var keys: [Number] = [.min, .min + 1, 0, 1, .max - 1, .max]
    for _ in 0..<200 { keys.append(Number.random(in: .min ... .max, using: &generator)) }
    for key in keys {
      #expect(try coder.encode(key).count == bytes)
      #expect(try comesBack(key, coder), "\(key) seed \(generator.seed)")
    }
    #expect(try keepsOrder(keys, coder))
    #expect(!coder.keepsPrefixes)
    #expect(errorCode { try coder.decode(Data(count: bytes + 1)) } == .decoding)
    #expect(errorCode { try coder.decode(Data(count: bytes - 1)) } == .decoding)
  }

  @Test func numbersHaveTheirBytesAndTheirOrder() throws {
    try check(Int.self, bytes: 8)
    try check(Int8.self, bytes: 1)
    try check(Int16.self, bytes: 2)
    try check(Int32.self, bytes: 4)
    try check(Int64.self, bytes: 8)
    try check(UInt.self, bytes: 8)
    try check(UInt8.self, bytes: 1)
    try check(UInt16.self, bytes: 2)
    try check(UInt32.self, bytes: 4)
    try check(UInt64.self, bytes: 8)
  }

  @Test func aNumbersBytesAreFixed() throws {
    #expect(try KeyCoder<Int>.integer.encode(1) == Data([0x80, 0, 0, 0, 0, 0, 0, 1]))
    #expect(
      try KeyCoder<Int>.integer.encode(-1) == Data([0x7F] + [UInt8](repeating: 255, count: 7)))
    #expect(try KeyCoder<UInt16>.integer.encode(0x1234) == Data([0x12, 0x34]))
  }

  @Test func aRawValueIsEncodedAsItself() throws {
    let planets = KeyCoder<Planet>.rawValue(.string)
    #expect(try planets.encode(.mars) == Data("mars".utf8))
    #expect(try comesBack(.earth, planets))
    #expect(planets.keepsPrefixes)
    #expect(errorCode { try planets.decode(Data("pluto".utf8)) } == .decoding)
    #expect(try comesBack(Level.low, .rawValue(.integer)))
  }

  @Test func anyCodableKeyHasFixedBytes() throws {
    struct Key: Codable, Equatable { var a: [String: Int], b: Date }
    let numbers = (0..<20).map { ("\($0)", $0) }
    let there = Key(
      a: Dictionary(uniqueKeysWithValues: numbers), b: .init(timeIntervalSince1970: 5))
    let back = Key(
      a: Dictionary(uniqueKeysWithValues: numbers.reversed()), b: .init(timeIntervalSince1970: 5))
    let coder = KeyCoder<Key>.codable
    #expect(try coder.encode(there) == coder.encode(back))
    #expect(try comesBack(there, coder))
    #expect(!coder.keepsOrder && !coder.keepsPrefixes)
  }

  @Test func theStandardCoderIsTheBestThereIs() throws {
    #expect(KeyCoder<String>.standard.keepsPrefixes)
    #expect(KeyCoder<Data>.standard.keepsPrefixes)
    #expect(KeyCoder<[UInt8]>.standard.keepsPrefixes)
    #expect(KeyCoder<UUID>.standard.keepsOrder)
    #expect(try KeyCoder<Int>.standard.encode(0).count == 8)
    #expect(try KeyCoder<UInt8>.standard.encode(0).count == 1)
    #expect(!KeyCoder<Planet>.standard.keepsOrder)
    #expect(try comesBack(.mars, KeyCoder<Planet>.standard))
  }

  @Test func errorsOfClosuresAreCausesAndOursPass() {
    struct Refusal: Error {}
    let coder = KeyCoder<Int>(
      encode: { _ in throw Refusal() }, decode: { _ in throw LarderError(.damaged, "As it is.") })
    let failure = error { try coder.encode(1) }
    #expect(failure?.code == .encoding)
    #expect(failure?.cause is Refusal)
    #expect(errorCode { try coder.decode(Data()) } == .damaged)
  }
}
