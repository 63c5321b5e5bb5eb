// SPDX-License-Identifier: MIT

import CZlib
import Foundation
import LarderCompression
import LarderCore
import LarderTestSupport
import Testing

@Suite struct CompressedCoderTests {
  private let coder = Coder<Data>.data.compressed()

  // MARK: - Round trips

  @Test(arguments: CompressionLevel.allCases)
  func valuesOfEverySizeComeBackAsTheyWere(level: CompressionLevel) throws {
    var generator = SeededGenerator(seed: 50)
    let coder = Coder<Data>.data.compressed(level: level)
    var sizes = Array(0...300)
    for power in [9, 10, 14, 15, 16, 17] { sizes += [-1, 0, 1].map { (1 << power) + $0 } }
    for size in sizes {
      let noise = generator.bytes(size)
      let words = Data(noise.map { $0 & 3 + 0x61 })
      for value in [Data(count: size), noise, words] {
        let bytes = try coder.encode(value)
        #expect(try coder.decode(bytes) == value, "\(size), seed \(generator.seed)")
        #expect(bytes.count <= size + 5, "\(size), seed \(generator.seed)")
      }
    }
  }

  @Test func codableValuesAndTextComeBackAsTheyWere() throws {
    let values = (0..<100).map { "value \($0)" }
    let json = Coder<[String]>.json.compressed(level: .smallest)
    #expect(try json.decode(json.encode(values)) == values)
    #expect(try json.encode(values).count < Coder<[String]>.json.encode(values).count / 2)
    let text = Coder<String>.string.compressed()
    for value in ["", "a", String(repeating: "größe ", count: 1000)] {
      #expect(try text.decode(text.encode(value)) == value)
    }
    let twice = Coder<String>.string.compressed().compressed()
    #expect(try twice.decode(twice.encode("text")) == "text")
  }

  @Test func everyWayToEncodeAndDecodeGivesTheSame() throws {
    let value = Data(repeating: 7, count: 1000)
    let bytes = try coder.encode(value)
    #expect(try coder.withEncodedBytes(of: value) { Data($0) } == bytes)
    var buffer = [UInt8](repeating: 0, count: bytes.count)
    #expect(try buffer.withUnsafeMutableBytes { try coder.encode(value, into: $0) } == bytes.count)
    #expect(Data(buffer) == bytes)
    let code = errorCode {
      try buffer.withUnsafeMutableBytes {
        try coder.encode(value, into: UnsafeMutableRawBufferPointer(rebasing: $0.dropLast()))
      }
    }
    #expect(code == .tooLarge)
    #expect(try coder.decode(buffer.span.bytes) == value)
    #expect(try buffer.withUnsafeBytes { try coder.decode($0) } == value)
    let slice = (Data([1, 2]) + bytes)[2...]
    #expect(try coder.decode(slice) == value)
  }

  // MARK: - The bytes

  @Test func whatDoesNotShrinkIsStoredAsItIs() throws {
    // The CRC-32 of "123456789" is known to be 0xCBF43926.
    let expected = Data([0, 0x26, 0x39, 0xF4, 0xCB]) + Data("123456789".utf8)
    #expect(try coder.encode(Data("123456789".utf8)) == expected)
    #expect(try coder.encode(Data()) == Data([0, 0, 0, 0, 0]))
  }

  @Test func theShorterFormIsWrittenAndStoredIfBothAreAsLong() throws {
    var generator = SeededGenerator(seed: 53)
    var differences: Set<Int> = []
    for size in 1...60 {
      for repeated in 0...size {
        let value = generator.bytes(size - repeated) + Data(repeating: 1, count: repeated)
        let stored = value.count + 5
        let compressed = try #require(compress(value, 6)).count + 2
        let bytes = try coder.encode(value)
        #expect(bytes.count <= min(stored, compressed), "\(size) \(repeated)")
        #expect(bytes.first == (compressed < stored ? 1 : 0), "\(size) \(repeated)")
        differences.insert(compressed - stored)
      }
    }
    #expect(differences.isSuperset(of: [-1, 0, 1]))
  }

  @Test func whatShrinksIsAZlibStreamBehindItsLength() throws {
    let value = Data(repeating: 0x61, count: 300)
    let bytes = try coder.encode(value)
    #expect(bytes.prefix(3) == Data([1, 0xAC, 0x02]))
    #expect(bytes[3] & 0x0F == 8)
    #expect((Int(bytes[3]) << 8 | Int(bytes[4])) % 31 == 0)
    #expect(uncompress(bytes.dropFirst(3), 300) == value)
    #expect(bytes.suffix(4) == Data([0xD8, 0xA8, 0x71, 0xAD]))
  }

  @Test func aStreamThatZlibItselfMadeIsRead() throws {
    for level in [Int32(0), 1, 6, 9] {
      for count in [0, 1, 127, 128, 70_000] {
        let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let stream = try #require(compress(value, level))
        #expect(try coder.decode(Data([1]) + varint(count) + stream) == value, "\(level) \(count)")
      }
    }
  }

  // MARK: - Damage

  private func expectDamage(_ bytes: Data, _ word: String = "bytes", _ comment: Comment? = nil) {
    let error = error { try coder.decode(bytes) }
    #expect(error?.code == .decoding, comment)
    #expect(error?.cause == nil, comment)
    #expect(error?.message.contains("compressed bytes") == true, comment)
    #expect(error?.message.contains(word) == true, comment)
  }

  private var specimens: [Data] {
    get throws {
      try [
        Data(), Data("short".utf8), Data(repeating: 0x61, count: 300),
        Data((0..<2000).map { UInt8(truncatingIfNeeded: $0 / 9) }),
        Data("the quick brown fox jumps over the lazy dog, and the dog does not mind".utf8),
      ].map { try coder.encode($0) }
    }
  }

  @Test func bytesThatAreCutOffAreRefusedAtEveryLength() throws {
    for specimen in try specimens {
      for count in 0..<specimen.count {
        expectDamage(specimen.prefix(count), "bytes", "\(count) of \(specimen.count)")
      }
    }
  }

  @Test func bytesThatAreFollowedByOthersAreRefused() throws {
    for specimen in try specimens {
      for more in [Data([0]), Data([0xFF]), Data(count: 100), specimen] {
        expectDamage(specimen + more, "bytes", "\(specimen.count) + \(more.count)")
      }
    }
  }

  @Test func anAlteredBitIsRefusedOrChangesNothing() throws {
    for specimen in try specimens {
      let value = try coder.decode(specimen)
      var unchanged = 0
      for index in 0..<specimen.count {
        for bit in 0..<8 {
          var altered = specimen
          altered[index] ^= 1 << UInt8(bit)
          do {
            // A stream of bits has up to 7 behind its end that mean nothing, and says how far
            // back it reaches, which may as well be further than it does.
            #expect(try coder.decode(altered) == value, "byte \(index), bit \(bit)")
            unchanged += 1
          } catch {
            #expect((error as? LarderError)?.code == .decoding)
          }
        }
      }
      #expect(unchanged <= (specimen.first == 0 ? 0 : 12))
    }
  }

  @Test func randomBytesAreRefusedAndNeverTrap() {
    var generator = SeededGenerator(seed: 51)
    for round in 0..<20_000 {
      var bytes = generator.bytes(Int.random(in: 0...64, using: &generator))
      if !bytes.isEmpty { bytes[0] &= 3 }
      if bytes.count > 8, round % 2 == 0 {
        bytes.replaceSubrange(
          0..<4, with: [1, UInt8.random(in: 0...127, using: &generator), 0x78, 1])
      }
      let code = errorCode { try coder.decode(bytes) }
      #expect(code == .decoding, "round \(round), seed \(generator.seed)")
    }
  }

  @Test func aLengthThatIsNoShortestVarintIsRefused() throws {
    let stream = try #require(compress(Data("a".utf8), 6))
    for length in [[0x81, 0x00], [0x81, 0x80, 0x00], Array(repeating: 0xFF, count: 12)] {
      expectDamage(Data([1]) + Data(length.map { UInt8($0) }) + stream, "length")
    }
    #expect(try coder.decode(Data([1, 1]) + stream) == Data("a".utf8))
  }

  @Test func aLengthOtherThanThatOfTheStreamIsRefused() throws {
    let stream = try #require(compress(Data(repeating: 0x61, count: 300), 6))
    for (length, word) in [(0, "more than"), (299, "more than"), (301, "300"), (5000, "300")] {
      expectDamage(Data([1]) + varint(length) + stream, word, "\(length)")
    }
  }

  @Test func bytesOfALaterKindAreRefused() throws {
    for kind in 2...255 {
      expectDamage(Data([UInt8(kind)]) + Data(repeating: 0x61, count: 20), "\(kind)")
    }
  }

  // MARK: - Limits

  @Test func aClaimBeyondTheLargestRatioIsRefusedBeforeAnythingIsAllocated() throws {
    let stream = Data([0x78, 0x9C]) + Data(count: 98)
    // 100 bytes hold 103,200 at most.
    for length in [103_200, 103_201, 1 << 29, 1 << 30] {
      expectDamage(
        Data([1]) + varint(length) + stream, length == 103_200 ? "zlib" : "cannot hold", "\(length)"
      )
    }
    expectDamage(Data([1]) + varint(1 << 30 + 1) + stream, "maximumBytes")
  }

  @Test func whatCompressesBestIsStillRead() throws {
    let value = Data(count: 10_000_000)
    let bytes = try coder.encode(value)
    #expect(bytes.count < 10_000)
    #expect(try coder.decode(bytes) == value)
  }

  @Test func theLimitHoldsForWritingAndForReading() throws {
    let limited = Coder<Data>.data.compressed(maximumBytes: 1000)
    var generator = SeededGenerator(seed: 52)
    for make in [{ Data(count: $0) }, { generator.bytes($0) }] as [(Int) -> Data] {
      let fits = make(1000)
      #expect(try limited.decode(limited.encode(fits)) == fits)
      let tooLarge = make(1001)
      let writing = error { try limited.encode(tooLarge) }
      #expect(writing?.code == .tooLarge)
      #expect(writing?.message.contains(" 1001 ") == true)
      let reading = error { try limited.decode(coder.encode(tooLarge)) }
      #expect(reading?.code == .decoding)
      #expect(reading?.message.contains(" 1000;") == true)
    }
    let nothing = Coder<Data>.data.compressed(maximumBytes: 0)
    #expect(try nothing.decode(nothing.encode(Data())) == Data())
    #expect(errorCode { try nothing.encode(Data([1])) } == .tooLarge)
  }

  @Test func aNegativeLimitIsAnInvalidArgument() throws {
    let coder = Coder<Data>.data.compressed(maximumBytes: -1)
    #expect(errorCode { try coder.encode(Data()) } == .invalidArgument)
    #expect(errorCode { try coder.decode(Data(count: 5)) } == .invalidArgument)
  }

  // MARK: - The coder underneath

  @Test func errorsOfTheCoderUnderneathAreKept() throws {
    let coder = Coder<Double>.json.compressed()
    let encoding = error { try coder.encode(.nan) }
    #expect(encoding?.code == .encoding)
    #expect(encoding?.cause is EncodingError)
    let text = try Coder<String>.string.compressed().encode("no number")
    let decoding = error { try coder.decode(text) }
    #expect(decoding?.code == .decoding)
    #expect(decoding?.cause is DecodingError)
  }

  @Test func aLogOfCompressedMessagesRefusesEveryOtherCoder() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("a.larder")
    #expect(coder.format == "data+z")
    #expect(Coder<Int>.json.compressed().format == "json+z")
    let messages = [Data(), Data(count: 1000), Data("a".utf8)]
    do {
      let log = try MessageLog(
        at: .url(file), capacity: 4096, whenFull: .refuse, coder: coder)
      for message in messages { try log.append(message) }
      try log.append(contentsOf: messages)
      #expect(try log.statistics.format == "data+z")
    }
    let log = try MessageLog(readingFrom: .url(file), coder: .data.compressed(level: .fastest))
    #expect(try log.messages() == messages + messages)
    for other in [Coder<Data>.data, .data.compressed().compressed()] {
      let code = errorCode { try MessageLog(readingFrom: .url(file), coder: other) }
      #expect(code == .configurationMismatch, "\(other.format)")
    }
    let text = errorCode { try MessageLog(readingFrom: .url(file), coder: .string.compressed()) }
    #expect(text == .configurationMismatch)
  }

  // MARK: - zlib, without Larder

  private func varint(_ value: Int) -> Data {
    var bytes = Data()
    var rest = value
    while rest > 127 {
      bytes.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  private func compress(_ value: Data, _ level: Int32) -> Data? {
    var source = Array(value) + [0]
    var length = compressBound(uLong(value.count))
    var target = [UInt8](repeating: 0, count: Int(length))
    let status = compress2(&target, &length, &source, uLong(value.count), level)
    return status == Z_OK ? Data(target.prefix(Int(length))) : nil
  }

  private func uncompress(_ stream: Data, _ count: Int) -> Data? {
    var source = Array(stream)
    var target = [UInt8](repeating: 0, count: count)
    var length = uLong(count)
    let status = CZlib.uncompress(&target, &length, &source, uLong(source.count))
    return status == Z_OK && Int(length) == count ? Data(target) : nil
  }
}
