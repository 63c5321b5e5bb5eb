// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// How deep values may be nested.
@Suite struct CBORDepthTests {
  /// As many arrays in each other as it is told.
  private struct Nest: Codable, Equatable {
    var depth: Int
    init(_ depth: Int) { self.depth = depth }
    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      depth = list.isAtEnd ? 1 : try list.decode(Nest.self).depth + 1
    }
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      if depth > 1 { try list.encode(Nest(depth - 1)) }
    }
  }

  /// As people write it.
  private struct Tree: Codable {
    var name = "t"
    var children: [Tree]?
    static func of(_ depth: Int) -> Tree {
      (1..<max(1, depth)).reduce(Tree()) { tree, _ in Tree(children: [tree]) }
    }
    var depth: Int { 1 + (children?.first?.depth ?? 0) }
  }

  private func coders(_ depth: Int) -> (CBOREncoder, CBORDecoder) {
    var encoder = CBOREncoder()
    encoder.maximumDepth = depth
    var decoder = CBORDecoder()
    decoder.maximumDepth = depth
    return (encoder, decoder)
  }

  private static func nested(_ depth: Int, _ head: [UInt8], _ leaf: [UInt8]) -> Data {
    Data((0..<depth).flatMap { _ in head } + leaf)
  }

  /// Sanitizers make every frame several times as large.
  @Test(arguments: [1, 2, 3, 24, 511, 512, 513] + (isSanitized ? [] : [1024]))
  func theLimitHoldsOnBothSides(_ limit: Int) throws {
    let (encoder, decoder) = coders(limit)
    let deep = coders(1024)
    for depth in [limit - 1, limit] where depth > 0 {
      let bytes = try encoder.encode(Nest(depth))
      #expect(try decoder.decode(Nest.self, from: bytes) == Nest(depth))
    }
    #expect(throws: EncodingError.self) { try encoder.encode(Nest(limit + 1)) }
    for (head, leaf) in [
      ([0x81], [0x00]), ([0x9f], [0x00]), ([0xa1, 0x01], [0x00]), ([0xd9, 0xd9, 0xf7], [0x00]),
      ([0xc1], [0x00]),
    ] as [([UInt8], [UInt8])] {
      var bytes = Self.nested(limit, head, leaf)
      var deeper = Self.nested(limit + 1, head, leaf)
      if head == [0x9f] {
        bytes += Data(repeating: 0xff, count: limit)
        deeper += Data(repeating: 0xff, count: limit + 1)
      }
      #expect(throws: Never.self) { try decoder.decode(CBORValue.self, from: bytes) }
      #expect(failure { try decoder.decode(CBORValue.self, from: deeper) } == .corrupted([]))
      // In what nobody asks for, too.
      struct Empty: Decodable {}
      let unknown = Data([0xa1, 0x61, 0x61]) + bytes
      #expect(failure { try decoder.decode(Empty.self, from: unknown) } == .corrupted([]))
      if limit < 1024 {
        let value = try deep.1.decode(CBORValue.self, from: deeper)
        #expect(throws: EncodingError.self) { try encoder.encode(value) }
      }
    }
  }

  @Test func whatCanBeEncodedCanBeDecodedAtTheSameLimit() throws {
    let date = Date(timeIntervalSince1970: 0)
    for limit in 0...5 {
      let (encoder, decoder) = coders(limit)
      func expect<T: Codable>(_ value: T) {
        guard let bytes = try? encoder.encode(value) else { return }
        #expect(throws: Never.self, "\(value) at \(limit)") {
          try decoder.decode(T.self, from: bytes)
        }
      }
      expect(1)
      expect(date)
      expect([date])
      expect([[date]])
      expect(UUID())
      expect([[UUID()]])
      expect(URL(string: "a:b"))
      expect(Decimal(1))
      expect([Decimal(1)])
      expect([[[Decimal(1)]]])
      expect(Int128.max)
      expect([[Int128.max]])
      expect(["a": "b"])
      expect([["a": "b"]])
      expect([[1.5]])
      expect([[["a"]]])
      expect([["a": [Data([1])]]])
      expect([Choice.two(left: "", right: 1)])
      expect(CBORValue.tagged(1, .array([.map([])])))
    }
  }

  @Test func limitsOutOfRangeAreNoTrap() throws {
    for limit in [0, -1, .min] {
      let (encoder, decoder) = coders(limit)
      #expect(try encoder.encode(1).hex == "01")
      #expect(try decoder.decode(Int.self, from: Data([1])) == 1)
      #expect(throws: EncodingError.self) { try encoder.encode(Nest(1)) }
      #expect(failure { try decoder.decode(Nest.self, from: Data([0x80])) } == .corrupted([]))
    }
    let (_, decoder) = coders(.max)
    let bytes = Self.nested(100_000, [0x81], [0x00])
    #expect(failure { try decoder.decode(CBORValue.self, from: bytes) } == .corrupted([]))
  }

  private final class Ring: Encodable {
    var next: Ring?
    let name = "ring"
    enum CodingKeys: CodingKey { case name, next }
  }

  @Test func aCircleOfReferencesIsAnError() throws {
    let first = Ring()
    let second = Ring()
    first.next = second
    second.next = first
    #expect(throws: EncodingError.self) { try CBOREncoder().encode(first) }
    first.next = nil
    #expect(throws: Never.self) { try CBOREncoder().encode(second) }
  }

  /// Not on the main thread, whose stack is larger than that of any other on many systems.
  @Test func theDefaultDepthFitsTheStackOfASmallThread() throws {
    let outcome = Locked<Result<[Int], any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      let result = Result {
        let nest = try CBORDecoder().decode(Nest.self, from: CBOREncoder().encode(Nest(512)))
        let tree = try CBORDecoder().decode(Tree.self, from: CBOREncoder().encode(Tree.of(256)))
        let value = try CBORValue(Self.nested(511, [0xa1, 0x01], [0x80]))
        let copy = try CBORValue(value.encoded)
        return [nest.depth, tree.depth, copy == value ? 1 : 0]
      }
      outcome.withLock { $0 = result }
      done.signal()
    }
    // Without optimisation the frames of generic code are several times as large; Foundation's
    // JSON coders, which are always optimised, do not fit 512 KiB here either.
    #if DEBUG
      thread.stackSize = 2 << 20
    #else
      thread.stackSize = 512 << 10
    #endif
    if isSanitized { thread.stackSize = 32 << 20 }
    thread.start()
    done.wait()
    #expect(try outcome.withLock { try $0?.get() } == [512, 256, 1])
  }
}
