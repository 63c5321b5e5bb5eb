// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("CRC-32C")
struct Crc32cTests {
  /// Every implementation that this processor can run, by name.
  static let implementations: [(name: String, crc: @Sendable (UInt32, [UInt8]) -> UInt32)] = [
    (
      String(cString: larder_crc32c_implementation()),
      { seed, bytes in larder_crc32c(seed, bytes, bytes.count) }
    ),
    ("portable", { seed, bytes in larder_crc32c_portable(seed, bytes, bytes.count) }),
  ]

  @Test func knownVectorsGiveTheirKnownChecksums() {
    // The first is the check value of every CRC catalogue, the others are RFC 3720, appendix B.4.
    let readCommand: [UInt8] =
      [0x01, 0xC0] + [UInt8](repeating: 0, count: 14)
      + [0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14]
      + [0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]
      + [0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]
    let vectors: [(bytes: [UInt8], crc: UInt32)] = [
      (Array("123456789".utf8), 0xE306_9283),
      ([UInt8](repeating: 0x00, count: 32), 0x8A91_36AA),
      ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
      ([UInt8](0..<32), 0x46DD_794E),
      ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
      (readCommand, 0xD996_3A56),
      ([], 0),
    ]
    for (name, crc) in Self.implementations {
      for vector in vectors {
        #expect(crc(0, vector.bytes) == vector.crc, "\(name), \(vector.bytes.count) bytes")
      }
    }
  }

  @Test func noBytesLeaveTheChecksumAsItWasWhateverThePointer() {
    for seed: UInt32 in [0, 1, 0xE306_9283, .max] {
      #expect(larder_crc32c(seed, nil, 0) == seed)
      #expect(larder_crc32c_portable(seed, nil, 0) == seed)
    }
  }

  @Test func everyLengthAtEveryAlignmentAgreesWithTheDefinition() {
    let (longest, alignments) = (640, 16)
    let bytes = noise(count: longest + alignments, seed: 1)
    bytes.withUnsafeBytes { buffer in
      for alignment in 0..<alignments {
        let start = buffer.baseAddress! + alignment
        var expected = Definition()
        for length in 0...longest {
          let got = (larder_crc32c(0, start, length), larder_crc32c_portable(0, start, length))
          guard got == (expected.crc, expected.crc) else {
            Issue.record("alignment \(alignment), length \(length): \(got), not \(expected.crc)")
            return
          }
          if length < longest { expected.add(start.load(fromByteOffset: length, as: UInt8.self)) }
        }
      }
    }
  }

  @Test func longInputsAgreeWithTheDefinitionAroundEveryBlockBoundary() {
    // 24 bytes is the unit of three streams, 1,536 the largest block of them.
    let bytes = noise(count: 70_000, seed: 2)
    var expected = Definition()
    bytes.withUnsafeBytes { buffer in
      for length in 0...buffer.count {
        let nearABlock = length % 1536 < 3 || length % 1536 > 1533 || length > 69_990
        if nearABlock {
          #expect(larder_crc32c(0, buffer.baseAddress, length) == expected.crc, "\(length) bytes")
          #expect(larder_crc32c_portable(0, buffer.baseAddress, length) == expected.crc)
        }
        if length < buffer.count { expected.add(buffer[length]) }
      }
    }
  }

  @Test func everySplitOfABufferGivesTheChecksumOfTheWhole() {
    var numbers = Noise(seed: 3)
    for _ in 0..<3_000 {
      let bytes = noise(count: Int(numbers.next() % 3_000), seed: numbers.next())
      let split = bytes.isEmpty ? 0 : Int(numbers.next() % UInt64(bytes.count + 1))
      let (first, second) = (Array(bytes[..<split]), Array(bytes[split...]))
      let whole = larder_crc32c_portable(0, bytes, bytes.count)
      for (name, crc) in Self.implementations {
        #expect(crc(crc(0, first), second) == whole, "\(name), \(bytes.count) split at \(split)")
      }
    }
  }

  @Test func oneFlippedBitAlwaysChangesTheChecksum() {
    var bytes = noise(count: 128, seed: 4)
    let before = larder_crc32c(0, bytes, bytes.count)
    for bit in 0..<bytes.count * 8 {
      bytes[bit / 8] ^= 1 << (bit % 8)
      #expect(larder_crc32c(0, bytes, bytes.count) != before, "bit \(bit)")
      bytes[bit / 8] ^= 1 << (bit % 8)
    }
  }

  @Test func theImplementationHasOneOfTheDocumentedNames() {
    let name = String(cString: larder_crc32c_implementation())
    #expect(["sse4.2", "armv8", "portable"].contains(name))
  }
}

/// CRC-32C as it is defined, a bit at a time.
private struct Definition {
  private var register = UInt32.max
  var crc: UInt32 { ~register }

  mutating func add(_ byte: UInt8) {
    register ^= UInt32(byte)
    for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 1 ? 0x82F6_3B78 : 0) }
  }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
private struct Noise {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

private func noise(count: Int, seed: UInt64) -> [UInt8] {
  var numbers = Noise(seed: seed)
  return (0..<count).map { _ in UInt8(truncatingIfNeeded: numbers.next()) }
}
