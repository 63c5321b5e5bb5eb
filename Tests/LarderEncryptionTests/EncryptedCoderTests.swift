// SPDX-License-Identifier: MIT

// Without the trait there is nothing to test: swift test --traits Encryption
#if Encryption
  import Crypto
  import Foundation
  import LarderCompression
  import LarderCore
  import LarderEncryption
  import LarderTestSupport
  import Testing

  @Suite struct EncryptedCoderTests {
    private let key = SymmetricKey(data: Data(0..<32))
    private let otherKey = SymmetricKey(data: Data(1..<33))
    private var coder: Coder<Data> { .data.encrypted(with: key) }

    // MARK: - Round trips

    @Test(arguments: [16, 24, 32])
    func valuesOfEverySizeComeBackAsTheyWereWithKeysOfEverySize(keyBytes: Int) throws {
      var generator = SeededGenerator(seed: 60)
      let coder = Coder<Data>.data.encrypted(with: SymmetricKey(data: generator.bytes(keyBytes)))
      for size in Array(0...70) + [1000, 65_535, 65_536, 1_000_000] {
        let value = generator.bytes(size)
        let bytes = try coder.encode(value)
        #expect(bytes.count == size + 29)
        #expect(try coder.decode(bytes) == value, "\(size), seed \(generator.seed)")
      }
    }

    @Test func equalValuesHaveDifferentBytes() throws {
      let value = Data(repeating: 0x61, count: 100)
      let all = try (0..<1000).map { _ in try coder.encode(value) }
      #expect(Set(all).count == 1000)
      #expect(Set(all.map { $0[1..<13] }).count == 1000)
      for bytes in all { #expect(bytes.range(of: Data("aaaa".utf8)) == nil) }
    }

    @Test func everyWayToEncodeAndDecodeGivesTheSame() throws {
      let value = Data("a value".utf8)
      var buffer = [UInt8](repeating: 0xAA, count: value.count + 30)
      let count = try buffer.withUnsafeMutableBytes { try coder.encode(value, into: $0) }
      #expect(count == value.count + 29)
      #expect(buffer.last == 0xAA)
      #expect(try coder.decode(Data(buffer.dropLast())) == value)
      #expect(try coder.decode(Array(buffer.dropLast()).span.bytes) == value)
      #expect(
        errorCode {
          var small = [UInt8](repeating: 0, count: value.count + 28)
          return try small.withUnsafeMutableBytes { try coder.encode(value, into: $0) }
        } == .tooLarge)
      #expect(try coder.withEncodedBytes(of: value) { try coder.decode($0) } == value)
      let bytes = try coder.encode(value)
      #expect(try coder.decode((Data([1, 2]) + bytes)[2...]) == value)
    }

    // MARK: - The bytes

    @Test func theBytesAreVersionNonceCiphertextAndTag() throws {
      let value = Data("a value".utf8)
      let bytes = try coder.encode(value)
      #expect(bytes.first == 1)
      let box = try AES.GCM.SealedBox(
        nonce: AES.GCM.Nonce(data: bytes[1..<13]), ciphertext: bytes[13..<20], tag: bytes[20..<36])
      let opened = try AES.GCM.open(box, using: key, authenticating: Data("\u{1}data".utf8))
      #expect(opened == value)
    }

    @Test func bytesThatAnyImplementationMadeAreRead() throws {
      // Made by Python's "cryptography", with a nonce that counts from 1 to 12.
      let key = SymmetricKey(data: Data(repeating: 7, count: 16))
      let bytes = Data(
        hex: "010102030405060708090a0b0cf5fa344553986b59dbb4150b4fef64a5dabd3fad8b99")
      #expect(try Coder.string.encrypted(with: key).decode(bytes) == "Larder")
    }

    // MARK: - What is refused

    private func expectRefusal(
      _ bytes: Data, by coder: Coder<Data>? = nil, _ comment: Comment? = nil
    ) {
      let error = error { try (coder ?? self.coder).decode(bytes) }
      #expect(error?.code == .decoding, comment)
      #expect(error?.message.hasSuffix(".") == true, comment)
    }

    @Test func bytesThatAreCutOffAreRefusedAtEveryLength() throws {
      for value in [Data(), Data("a value".utf8)] {
        let bytes = try coder.encode(value)
        for count in 0..<bytes.count { expectRefusal(bytes.prefix(count), "\(count)") }
      }
    }

    @Test func bytesThatAreFollowedByOthersAreRefused() throws {
      let bytes = try coder.encode(Data("a value".utf8))
      for more in [Data([0]), Data(count: 16), bytes] { expectRefusal(bytes + more) }
    }

    @Test func everyAlteredBitIsRefused() throws {
      for value in [Data(), Data("a value".utf8)] {
        let bytes = try coder.encode(value)
        for index in 0..<bytes.count {
          for bit in 0..<8 {
            var altered = bytes
            altered[index] ^= 1 << UInt8(bit)
            expectRefusal(altered, "byte \(index), bit \(bit)")
          }
        }
      }
    }

    @Test func anotherKeyIsRefused() throws {
      let bytes = try coder.encode(Data("a value".utf8))
      let shorter = SymmetricKey(data: Data(0..<16))
      for key in [otherKey, shorter] {
        let error = error { try Coder<Data>.data.encrypted(with: key).decode(bytes) }
        #expect(error?.code == .decoding)
        #expect(error?.message.contains("another key") == true)
      }
    }

    @Test func bytesOfACoderOfAnotherFormatAreRefused() throws {
      let bytes = try Coder<String>.string.encrypted(with: key).encode("text")
      expectRefusal(bytes)
      // The first eight characters of both composed names are the same.
      let names = ["format-1", "format-2"].map { name in
        Coder<Data>(format: name, encode: { $0 }, decode: { $0 }).encrypted(with: key)
      }
      #expect(names[0].format == names[1].format)
      expectRefusal(try names[0].encode(Data(count: 9)), by: names[1])
      #expect(try names[0].decode(names[0].encode(Data(count: 9))) == Data(count: 9))
    }

    @Test func bytesThatWereNeverEncryptedAreRefused() {
      var generator = SeededGenerator(seed: 61)
      for _ in 0..<5000 {
        var bytes = generator.bytes(Int.random(in: 0...80, using: &generator))
        if !bytes.isEmpty, Bool.random(using: &generator) { bytes[0] = 1 }
        expectRefusal(bytes, "seed \(generator.seed)")
      }
    }

    @Test func noErrorTellsAKeyOrAValue() throws {
      let secret = "an extremely secret value"
      var bytes = try coder.encode(Data(secret.utf8))
      bytes[20] ^= 1
      let error = error { try coder.decode(bytes) }
      #expect(error?.cause == nil)
      #expect(error?.description.contains("secret") == false)
      #expect(error?.description.contains("000102") == false)
    }

    @Test(arguments: [0, 1, 8, 15, 17, 23, 31, 33, 64, 1000])
    func aKeyOfAnotherSizeIsAnInvalidArgument(count: Int) throws {
      let wrong = SymmetricKey(data: Data(repeating: 1, count: count))
      let bytes = try coder.encode(Data())
      let coders: [Coder<Data>] = [
        .data.encrypted(with: wrong), .data.encrypted(with: key, alsoDecryptingWith: [key, wrong]),
      ]
      for coder in coders {
        let encoding = error { try coder.encode(Data()) }
        #expect(encoding?.code == .invalidArgument)
        #expect(encoding?.message.contains(" \(8 * count).") == true)
        #expect(errorCode { try coder.decode(bytes) } == .invalidArgument)
        #expect(errorCode { try coder.withEncodedBytes(of: Data()) { _ in } } == .invalidArgument)
      }
    }

    // MARK: - More than one key

    @Test func oldKeysAreReadAndNotWritten() throws {
      let newKey = SymmetricKey(size: .bits128)
      let old = Coder<Data>.data.encrypted(with: key)
      let older = Coder<Data>.data.encrypted(with: otherKey)
      let new = Coder<Data>.data.encrypted(with: newKey, alsoDecryptingWith: [key, otherKey])
      let value = Data("a value".utf8)
      for coder in [old, older, new] { #expect(try new.decode(coder.encode(value)) == value) }
      let written = try new.encode(value)
      #expect(try Coder<Data>.data.encrypted(with: newKey).decode(written) == value)
      expectRefusal(written, by: old)
      let foreign = try Coder.data.encrypted(with: SymmetricKey(size: .bits256)).encode(value)
      let error = error { try new.decode(foreign) }
      #expect(error?.message.contains("any key") == true)
    }

    // MARK: - Compositions

    @Test func compressedAndEncryptedValuesComeBackAsTheyWere() throws {
      let value = (0..<200).map { "value \($0)" }
      let json = Coder<[String]>.json
      let coders: [(Coder<[String]>, String)] = [
        (json.encrypted(with: key), "json+e"),
        (json.compressed().encrypted(with: key), "json+ze"),
        (json.encrypted(with: key).compressed(), "json+ez"),
        (Coder<[String]>.binaryPlist.compressed().encrypted(with: key), "plist+ze"),
      ]
      for (coder, format) in coders {
        #expect(coder.format == format)
        #expect(try coder.decode(coder.encode(value)) == value, "\(format)")
      }
      let sizes = try coders.map { try $0.0.encode(value).count }
      #expect(sizes[1] < sizes[0] / 2)
      #expect(sizes[2] >= sizes[0])
    }

    @Test func errorsOfTheCoderUnderneathAreKept() throws {
      let coder = Coder<Double>.json.encrypted(with: key)
      let encoding = error { try coder.encode(.nan) }
      #expect(encoding?.code == .encoding)
      #expect(encoding?.cause is EncodingError)
      // Of the same format, so that what it encrypts is accepted.
      let text = try Coder<String>.json.encrypted(with: key).encode("no number")
      let decoding = error { try coder.decode(text) }
      #expect(decoding?.code == .decoding)
      #expect(decoding?.cause is DecodingError)
    }

    @Test func aLogOfEncryptedMessagesRefusesEveryOtherCoderAndAnyOtherKey() throws {
      let directory = try TemporaryDirectory()
      let file = directory.file("a.larder")
      let messages = ["", "one", String(repeating: "two ", count: 100)]
      let coder = Coder<String>.string.compressed().encrypted(with: key)
      do {
        let log = try MessageLog(
          at: .url(file), capacity: 4096, whenFull: .refuse, coder: coder)
        for message in messages { try log.append(message) }
        try log.append(contentsOf: messages)
        #expect(try log.statistics.format == "utf8+ze")
      }
      #expect(
        try MessageLog(readingFrom: .url(file), coder: coder).messages() == messages + messages)
      #expect(try Data(contentsOf: file).range(of: Data("one".utf8)) == nil)

      let others: [Coder<String>] = [
        .string, .string.compressed(), .string.encrypted(with: key),
        .string.encrypted(with: key).compressed(), .json.compressed().encrypted(with: key),
      ]
      for other in others {
        let code = errorCode { try MessageLog(readingFrom: .url(file), coder: other) }
        #expect(code == .configurationMismatch, "\(other.format)")
      }
      let log = try MessageLog(
        readingFrom: .url(file), coder: .string.compressed().encrypted(with: otherKey))
      for entry in log.entries { #expect(errorCode { try entry.message } == .decoding) }
    }

    @Test func aKeyOfAnotherSizeLeavesTheLogUnchanged() throws {
      let directory = try TemporaryDirectory()
      let wrong = SymmetricKey(data: Data(count: 5))
      let log = try MessageLog(
        at: .url(directory.file("a.larder")), capacity: 4096, whenFull: .refuse,
        coder: .string.encrypted(with: wrong))
      #expect(errorCode { try log.append("a") } == .invalidArgument)
      #expect(errorCode { try log.append(contentsOf: ["a", "b"]) } == .invalidArgument)
      #expect(try log.isEmpty)
    }
  }

  extension Data {
    fileprivate init(hex: String) {
      let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
      self.init(
        zip(digits, digits.dropFirst()).enumerated().compactMap { index, pair in
          index % 2 == 0 ? UInt8(pair.0 << 4 | pair.1) : nil
        })
    }
  }
#endif
