// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The Swift examples of the article on coders.
@Suite("The examples on coders") struct CodingExamples {
  private let directory: TemporaryDirectory
  private let file: URL
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("a.larder")
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func aLogOfJSON() throws {
    // Example: json
    let log = try MessageLog<Event>(
      at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .json)
    // End of example
    try log.append(Event(level: 1, text: "started"))
    try log.close()
    #expect(try Data(contentsOf: file).firstRange(of: Data(#""text":"started""#.utf8)) != nil)
    #expect { try MessageLog<Event>(readingFrom: .url(file)) } throws: { error in
      (error as? LarderError)?.code == .configurationMismatch
    }
  }

  @Test func aCoderByItself() throws {
    // Example: coder alone
    let coder = Coder<Event>.cbor
    let bytes = try coder.encode(Event(level: 1, text: "started"))
    let event = try coder.decode(bytes)
    // End of example
    #expect(event.level == 1 && event.text == "started")
    #expect(
      bytes == Data([0xA2, 0x65]) + Data("level".utf8) + Data([1, 0x64])
        + Data("text".utf8) + Data([0x67]) + Data("started".utf8))
  }

  @Test func anyItem() throws {
    // Example: any item
    let value = try CBORValue(Data([0xA1, 0x61, 0x61, 0x82, 0x01, 0xF5]))
    print(value)  // {"a": [1, true]}
    // End of example
    #expect(transcript.lines == [#"{"a": [1, true]}"#])
    #expect(value == ["a": [1, true]])
  }

  @Test func fieldsComeAndGo() throws {
    // Example: fields
    // What wrote the message.
    struct Reading: Codable, Sendable {
      var sensor: String
      var celsius: Double
    }

    // What reads it a year later.
    struct NewReading: Codable, Sendable {
      var celsius: Double
      var humidity: Double?
    }
    // End of example
    let old = try Coder<Reading>.cbor.encode(Reading(sensor: "attic", celsius: 31.5))
    let reading = try Coder<NewReading>.cbor.decode(old)
    #expect(reading.celsius == 31.5 && reading.humidity == nil)
  }

  @Test func strategies() throws {
    // Example: strategies
    var encoder = CBOREncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.isDeterministic = true
    var decoder = CBORDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let coder = Coder<Event>.cbor(encoder, decoder)
    // End of example
    let bytes = try coder.encode(Event(level: 1, text: "started"))
    // A shorter key comes first: its length is the first byte.
    #expect(try CBORValue(bytes).description == #"{"text": "started", "level": 1}"#)
    #expect(try coder.decode(bytes).text == "started")
    #expect(coder.format == "cbor")
  }

  @Test func whatIsMissingIsNamed() throws {
    let bytes = try CBOREncoder().encode(["level": 1])
    // Example: errors
    do {
      _ = try Coder<Event>.cbor.decode(bytes)
    } catch let error as LarderError where error.code == .decoding {
      guard case DecodingError.keyNotFound(let key, _)? = error.cause else { throw error }
      print("There is no", key.stringValue)  // There is no text
    }
    // End of example
    #expect(transcript.lines == ["There is no text"])
  }

  @Test func aCoderOfTwoClosures() throws {
    // Example: coder
    let celsius = Coder<Double>(
      format: "f64",
      encode: { withUnsafeBytes(of: $0.bitPattern.littleEndian) { Data($0) } },
      decode: { bytes in
        guard bytes.count == 8 else { throw CocoaError(.coderReadCorrupt) }
        let pattern = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bitPattern: pattern)
      })
    let log = try MessageLog(
      at: .url(file), capacity: 4096, whenFull: .overwriteOldest, coder: celsius)
    // End of example
    try log.append(36.6)
    #expect(try log.messages() == [36.6])
    #expect(try log.statistics.format == "f64")
  }
}
