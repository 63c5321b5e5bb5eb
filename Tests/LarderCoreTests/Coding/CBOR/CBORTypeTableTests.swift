// SPDX-License-Identifier: MIT

import LarderCore
import Testing

/// Types of keys, of which coders remember some.
@Suite struct CBORTypeTableTests {
  /// A key type for each type.
  private struct Key<Tag>: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// A list of as many types as it is long.
  private static func write<Tag>(_ tag: Tag.Type, _ depth: Int, to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key<Tag>.self)
    let name = "n\(depth)"
    try container.encode(depth, forKey: Key<Tag>(stringValue: name))
    guard depth > 0 else { return }
    let nested = container.superEncoder(forKey: Key<Tag>(stringValue: "next"))
    try write([Tag].self, depth - 1, to: nested)
    try container.encode(-depth, forKey: Key<Tag>(stringValue: "last"))
  }

  private static func read<Tag>(_ tag: Tag.Type, _ depth: Int, from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key<Tag>.self)
    let name = "n\(depth)"
    #expect(try container.decode(Int.self, forKey: Key<Tag>(stringValue: name)) == depth)
    guard depth > 0 else { return }
    let nested = try container.superDecoder(forKey: Key<Tag>(stringValue: "next"))
    try read([Tag].self, depth - 1, from: nested)
    #expect(try container.decode(Int.self, forKey: Key<Tag>(stringValue: "last")) == -depth)
    #expect(container.codingPath.count == 150 - depth)
  }

  @Test func moreTypesOfKeysThanAreRememberedAtATimeAreFine() throws {
    let value = CBORContainerTests.Written { try Self.write(Int.self, 150, to: $0) }
    let bytes = try cbor(value)
    for _ in 0..<3 {
      #expect(try cbor(value) == bytes)
      try CBORDecodingTests.Read.read(bytes.hex) { try Self.read(Int.self, 150, from: $0) }
    }
  }
}
