// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Types that do what they should not: an error at worst, never a trap.
@Suite struct CBORMisuseTests {
  private typealias Written = CBORContainerTests.Written

  @Test func containersThatAreKeptAreUseless() throws {
    let keyed = Locked<KeyedEncodingContainer<Name>?>(nil)
    let unkeyed = Locked<(any UnkeyedEncodingContainer)?>(nil)
    let single = Locked<(any SingleValueEncodingContainer)?>(nil)
    let kept = Locked<[any Encoder]>([])
    let value = Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(1, forKey: "a")
      kept.withLock { $0.append(container.superEncoder()) }
      single.withLock { $0 = container.superEncoder(forKey: "s").singleValueContainer() }
      unkeyed.withLock { $0 = container.nestedUnkeyedContainer(forKey: "b") }
      keyed.withLock { $0 = container }
      kept.withLock { $0.append(encoder) }
    }
    let use = {
      keyed.withLock { container in
        #expect(throws: EncodingError.self) { try container?.encode(1, forKey: "x") }
        #expect(throws: EncodingError.self) { try container?.encode(["a"], forKey: "x") }
        #expect(throws: EncodingError.self) { try container?.encodeNil(forKey: "x") }
        _ = container?.nestedContainer(keyedBy: Name.self, forKey: "n")
        var nested = container?.nestedUnkeyedContainer(forKey: "n")
        #expect(throws: EncodingError.self) { try nested?.encode(1) }
        _ = container?.superEncoder()
        _ = container?.codingPath
      }
      unkeyed.withLock { container in
        #expect(throws: EncodingError.self) { try container?.encode(1) }
        #expect(throws: EncodingError.self) { try container?.encodeNil() }
        _ = container?.count
        _ = container?.nestedUnkeyedContainer()
        _ = container?.superEncoder()
      }
      single.withLock { container in
        #expect(throws: EncodingError.self) { try container?.encode(1) }
        #expect(throws: EncodingError.self) { try container?.encode([1]) }
        #expect(throws: EncodingError.self) { try container?.encodeNil() }
      }
      for encoder in kept.withLock({ $0 }) {
        #expect(throws: EncodingError.self) { try 1.encode(to: encoder) }
        #expect(throws: EncodingError.self) { try ["a": [1]].encode(to: encoder) }
      }
    }
    let bytes = try cbor(value)
    use()
    // What is encoded meanwhile and afterwards does not have any of it.
    let other = Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      use()
      try container.encode(2, forKey: "b")
      use()
    }
    _ = try? CBOREncoder().encode(other)
    #expect(try cbor(["a": 1]).hex == "a1616101")
    #expect(try cbor(value) == bytes)
  }

  @Test func decodersThatAreKeptDoNotReadWhatIsGone() throws {
    let bytes = try cbor(["a": ["text", "more"], "b": ["x"]])
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: bytes)
    let keyed = Locked<KeyedDecodingContainer<Name>?>(nil)
    let unkeyed = Locked<(any UnkeyedDecodingContainer)?>(nil)
    let kept = Locked<(any Decoder)?>(nil)
    var decoder = CBORDecoder()
    decoder.userInfo[CBORDecodingTests.Read.key] =
      { decoder in
        kept.withLock { $0 = decoder }
        let container = try decoder.container(keyedBy: Name.self)
        keyed.withLock { $0 = container }
        let list = try container.nestedUnkeyedContainer(forKey: "a")
        unkeyed.withLock { $0 = list }
      } as CBORDecodingTests.Read.Body
    // They refer to the closure, and the closure to them.
    defer {
      keyed.withLock { $0 = nil }
      unkeyed.withLock { $0 = nil }
      kept.withLock { $0 = nil }
    }
    _ = try decoder.decode(CBORDecodingTests.Read.self, from: UnsafeRawBufferPointer(memory))
    memory.initializeMemory(as: UInt8.self, repeating: 0xff)
    keyed.withLock { container in
      #expect(throws: DecodingError.self) { try container?.decode([String].self, forKey: "a") }
      #expect(throws: DecodingError.self) { try container?.decode([String].self, forKey: "b") }
      #expect(throws: DecodingError.self) { try container?.decode(Int.self, forKey: "c") }
      _ = container?.allKeys
      _ = container?.contains("a")
      _ = try? container?.superDecoder().singleValueContainer().decode(Int.self)
    }
    unkeyed.withLock { container in
      #expect(throws: DecodingError.self) { try container?.decode(String.self) }
      _ = container?.count
      _ = container?.isAtEnd
    }
    kept.withLock { decoder in
      guard let decoder else { return }
      #expect(throws: DecodingError.self) { try [String: [String]](from: decoder) }
      #expect(throws: DecodingError.self) { try decoder.container(keyedBy: Name.self).allKeys }
      #expect(throws: DecodingError.self) { try decoder.unkeyedContainer() }
    }
  }

  @Test func twoKindsOfContainersOnOneEncoderAreAnError() throws {
    let bodies: [(any Encoder) throws -> Void] = [
      { encoder in
        var keyed = encoder.container(keyedBy: Name.self)
        var unkeyed = encoder.unkeyedContainer()
        try keyed.encode(1, forKey: "a")
        try unkeyed.encode(1)
      },
      { encoder in
        _ = encoder.unkeyedContainer()
        _ = encoder.container(keyedBy: Name.self)
      },
      { encoder in
        var single = encoder.singleValueContainer()
        try single.encode(1)
        var keyed = encoder.container(keyedBy: Name.self)
        try keyed.encode(1, forKey: "a")
      },
      { encoder in
        var keyed = encoder.container(keyedBy: Name.self)
        try keyed.encode(1, forKey: "a")
        var single = encoder.singleValueContainer()
        try single.encode(1)
      },
      { encoder in
        var single = encoder.singleValueContainer()
        try single.encode(1)
        try single.encode(2)
      },
      { encoder in
        var single = encoder.singleValueContainer()
        try single.encode([1])
        try single.encode(["a": 2])
      },
      { encoder in
        try 1.encode(to: encoder)
        try [2].encode(to: encoder)
      },
    ]
    for (index, body) in bodies.enumerated() {
      #expect(throws: EncodingError.self, "\(index)") { try cbor(Written(body)) }
      #expect(throws: EncodingError.self, "\(index)") { try cbor([Written(body)]) }
      #expect(throws: EncodingError.self, "\(index)") { try cbor(["a": Written(body)]) }
    }
    #expect(try cbor([1, 2]).hex == "820102")
  }

  @Test func aValueThatWritesToItsParentIsNoTrap() throws {
    let values: [Written] = [
      Written { encoder in
        var container = encoder.container(keyedBy: Name.self)
        let outer = Locked(container)
        let inner = Written { encoder in
          var own = encoder.container(keyedBy: Name.self)
          try own.encode(1, forKey: "own")
          try outer.withLock { try $0.encode(2, forKey: "outer") }
          try own.encode(3, forKey: "late")
        }
        try container.encode(inner, forKey: "inner")
        try container.encode(4, forKey: "after")
      },
      Written { encoder in
        var container = encoder.unkeyedContainer()
        let outer = Locked(container)
        let inner = Written { encoder in
          try outer.withLock { try $0.encode(2) }
          try 1.encode(to: encoder)
        }
        try container.encode(inner)
        try container.encode(4)
      },
    ]
    for value in values {
      // Bytes that can be read, or an error.
      guard let bytes = try? CBOREncoder().encode([value]) else { continue }
      #expect(throws: Never.self) { try CBORValue(bytes) }
    }
  }

  @Test func aBufferIsUsedToItsLastByte() throws {
    let value = ["a": [1.5, 2.5]]
    let bytes = try cbor(value)
    let encoder = CBOREncoder()
    for size in [0, 1, bytes.count - 1, bytes.count, bytes.count + 1, 1000] {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size + 2, alignment: 1)
      defer { buffer.deallocate() }
      buffer.initializeMemory(as: UInt8.self, repeating: 0xee)
      let target = UnsafeMutableRawBufferPointer(rebasing: buffer[1..<(size + 1)])
      if size < bytes.count {
        #expect(errorCode { try encoder.encode(value, into: target) } == .tooLarge)
        #expect(buffer.allSatisfy { $0 == 0xee })
      } else {
        #expect(try encoder.encode(value, into: target) == bytes.count)
        #expect(Data(target.prefix(bytes.count)) == bytes)
        #expect(buffer.dropFirst(bytes.count + 1).allSatisfy { $0 == 0xee } && buffer[0] == 0xee)
      }
    }
    let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    #expect(errorCode { try encoder.encode(0, into: none) } == .tooLarge)
    #expect(failure { try encoder.encode(Nothing(), into: none) } == .invalidValue([]))
  }
}
