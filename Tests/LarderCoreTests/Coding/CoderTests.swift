// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What every coder does, whatever it makes of values.
@Suite struct CoderTests {
  private struct Failure: Error, Equatable {}

  /// Text with its length in front: neither `.data` nor `.string`, so made of closures.
  private let closures = Coder<String>(
    format: "length",
    encode: { text in
      if text == "bad" { throw Failure() }
      if text == "ours" { throw LarderError(.full, "It is full.") }
      return Data([UInt8(truncatingIfNeeded: text.utf8.count)]) + Data(text.utf8)
    },
    decode: { bytes in
      guard bytes.startIndex == 0, let length = bytes.first, bytes.count == Int(length) + 1 else {
        throw Failure()
      }
      if length == 77 { throw LarderError(.full, "It is full.") }
      return String(decoding: bytes.dropFirst(), as: UTF8.self)
    })

  private var coders: [Coder<String>] { [.string, .json, closures] }

  // MARK: - Data and text

  @Test func dataIsTheSameBytes() throws {
    let coder = Coder<Data>.data
    for bytes in [Data(), Data([0]), Data(repeating: 9, count: 1000), Data(0...9)[3...]] {
      #expect(try coder.encode(bytes) == bytes)
      #expect(try coder.decode(bytes) == bytes)
    }
    #expect(coder.format == "data")
  }

  @Test func dataRoundtrip() throws {
    var generator = SeededGenerator(seed: 30)
    for count in [0, 1, 15, 16, 4096, 100_000] {
      let bytes = generator.bytes(count)
      let decoded = try Coder.data.decode(Coder.data.encode(bytes))
      #expect(decoded == bytes, "seed \(generator.seed)")
    }
  }

  @Test func stringIsUTF8AndRefusesAnythingElse() throws {
    let coder = Coder<String>.string
    for text in ["", "a", "größe", "👩‍👩‍👧", "nul\0inside"] {
      #expect(try coder.encode(text) == Data(text.utf8))
      #expect(try coder.decode(Data(text.utf8)) == text)
    }
    for bytes in [[0xFF, 0x20], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]] {
      let error = error { try coder.decode(Data(bytes)) }
      #expect(error?.code == .decoding)
      #expect(error?.cause != nil)
    }
  }

  // MARK: - Into a buffer

  @Test(arguments: ["", "a", "größe", String(repeating: "long ", count: 200)])
  func encodingIntoABufferWritesTheSameBytesAndNothingBehindThem(text: String) throws {
    for coder in coders {
      let expected = try coder.encode(text)
      for spare in [0, 1, 100] {
        var bytes = [UInt8](repeating: 0xAA, count: expected.count + spare)
        let count = try bytes.withUnsafeMutableBytes { try coder.encode(text, into: $0) }
        #expect(count == expected.count)
        #expect(Data(bytes) == expected + Data(repeating: 0xAA, count: spare), "\(coder.format)")
      }
    }
  }

  @Test(arguments: ["", "a", "größe", String(repeating: "long ", count: 200)])
  func encodingIntoABufferOneByteTooSmallLeavesItUnchanged(text: String) throws {
    for coder in coders {
      let count = try coder.encode(text).count
      guard count > 0 else { continue }
      for size in Set([count - 1, count / 2, 0]) {
        var bytes = [UInt8](repeating: 0xAA, count: size)
        let error = error {
          try bytes.withUnsafeMutableBytes { try coder.encode(text, into: $0) }
        }
        #expect(error?.code == .tooLarge, "\(coder.format)")
        #expect(error?.message.contains(" \(count) bytes") == true)
        #expect(error?.message.contains(" \(size).") == true)
        #expect(bytes.allSatisfy { $0 == 0xAA })
      }
    }
  }

  @Test func aValueWithoutBytesFitsIntoABufferWithoutMemory() throws {
    let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    #expect(try Coder.string.encode("", into: nothing) == 0)
    #expect(try Coder.data.encode(Data(), into: nothing) == 0)
    #expect(errorCode { try Coder.data.encode(Data([1]), into: nothing) } == .tooLarge)
  }

  // MARK: - Borrowed bytes

  @Test func lentBytesAreTheEncodedOnes() throws {
    for coder in coders {
      for text in ["", "a", "größe"] {
        var calls = 0
        let lent = try coder.withEncodedBytes(of: text) { bytes in
          calls += 1
          return Data(bytes)
        }
        #expect(try lent == coder.encode(text), "\(coder.format)")
        #expect(calls == 1)
      }
    }
  }

  @Test func dataLendsItsOwnBytes() throws {
    let bytes = Data(repeating: 1, count: 1000)
    let own = bytes.withUnsafeBytes { $0.baseAddress }
    #expect(try Coder.data.withEncodedBytes(of: bytes) { $0.baseAddress } == own)
  }

  @Test func whatTheBorrowerThrowsComesOutAsItIs() throws {
    for coder in coders {
      #expect(throws: Failure()) {
        try coder.withEncodedBytes(of: "a") { _ in throw Failure() }
      }
      let ours = errorCode {
        try coder.withEncodedBytes(of: "a") { _ in throw LarderError(.io, "No.") }
      }
      #expect(ours == .io)
    }
  }

  // MARK: - Decoding

  @Test func everyWayToDecodeGivesTheSame() throws {
    for coder in coders {
      for text in ["", "a", "größe", String(repeating: "long ", count: 50)] {
        let bytes = try coder.encode(text)
        let inTheMiddle = (Data([1, 2, 3]) + bytes + Data([4]))[3..<3 + bytes.count]
        #expect(try coder.decode(bytes) == text)
        #expect(try coder.decode(inTheMiddle) == text)
        #expect(try bytes.withUnsafeBytes { try coder.decode($0) } == text)
        #expect(try coder.decode(Array(bytes).span.bytes) == text)
      }
    }
    #expect(try Coder.data.decode(UnsafeRawBufferPointer(start: nil, count: 0)) == Data())
    #expect(try Coder.string.decode(UnsafeRawBufferPointer(start: nil, count: 0)) == "")
  }

  @Test func everyWayToDecodeFailsTheSame() throws {
    let bytes: [UInt8] = [0xFF, 0xFF]
    for coder in coders {
      let errors = [
        error { try coder.decode(Data(bytes)) },
        error { try bytes.withUnsafeBytes { try coder.decode($0) } },
        error { try coder.decode(bytes.span.bytes) },
      ]
      for error in errors {
        #expect(error?.code == .decoding)
        #expect(error?.cause != nil)
        #expect(error?.message.contains(" 2 bytes") == true)
      }
    }
  }

  // MARK: - Errors

  @Test func failuresKeepTheCodersOwnError() throws {
    let errors = [
      error { try closures.encode("bad") },
      error { try closures.withEncodedBytes(of: "bad") { _ in } },
      error {
        var bytes: [UInt8] = [0]
        return try bytes.withUnsafeMutableBytes { try closures.encode("bad", into: $0) }
      },
    ]
    for error in errors {
      #expect(error?.code == .encoding)
      #expect(error?.cause is Failure)
      #expect(error?.message.contains("String") == true)
    }
    let decoding = error { try closures.decode(Data([9])) }
    #expect(decoding?.code == .decoding)
    #expect(decoding?.cause is Failure)
  }

  @Test func anErrorOfLarderPassesAsItIs() throws {
    #expect(errorCode { try closures.encode("ours") } == .full)
    #expect(errorCode { try closures.withEncodedBytes(of: "ours") { _ in } } == .full)
    let bytes = try closures.encode(String(repeating: "x", count: 77))
    #expect(errorCode { try closures.decode(bytes) } == .full)
  }

  // MARK: - Formats

  @Test func aCoderWithAnyFormatCodesAndALogTakesUpToEightVisibleCharacters() throws {
    let directory = try TemporaryDirectory()
    let formats = [
      ("", true), ("a", true), ("eight888", true), ("a+z-._~!", true), ("ninechars", false),
      ("a b", false), ("größe", false), ("tab\t", false), ("\u{7F}", false),
    ]
    for (index, (format, isValid)) in formats.enumerated() {
      let coder = Coder<String>(
        format: format, encode: { Data($0.utf8) },
        decode: { String(decoding: $0, as: UTF8.self) })
      #expect(coder.format == format)
      #expect(try coder.decode(coder.encode("text")) == "text")
      let code = errorCode {
        let log = try MessageLog(
          at: .url(directory.file("\(index)")), capacity: 4096, whenFull: .refuse, coder: coder)
        try log.append("text")
      }
      #expect(code == (isValid ? nil : .invalidArgument), "\(format)")
    }
  }
}
