// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite struct CoderTests {
  private struct Event: Codable, Equatable {
    var eventName: String
    var date: Date
    var bytes: Data
    var value: Double
  }

  private let event = Event(
    eventName: "a", date: Date(timeIntervalSince1970: 1_700_000_000), bytes: Data([1, 2, 3]),
    value: 2.5)

  @Test func dataIsTheSameBytes() throws {
    let coder = Coder<Data>.data
    for bytes in [Data(), Data([0]), Data(repeating: 9, count: 1000)] {
      #expect(try coder.encode(bytes) == bytes)
      #expect(try coder.decode(bytes) == bytes)
    }
    #expect(coder.format == "data")
  }

  @Test func stringIsUTF8AndRefusesAnythingElse() throws {
    let coder = Coder<String>.string
    for text in ["", "a", "größe", "👩‍👩‍👧", "nul\0inside"] {
      #expect(try coder.encode(text) == Data(text.utf8))
      #expect(try coder.decode(Data(text.utf8)) == text)
    }
    let error = error { try coder.decode(Data([0xFF, 0x20])) }
    #expect(error?.code == .decoding)
    #expect(error?.cause != nil)
  }

  @Test func jsonHasTheDefaultsOfFoundation() throws {
    let coder = Coder<Event>.json
    #expect(coder.format == "json")
    #expect(try coder.decode(coder.encode(event)) == event)
    let foundations = try JSONDecoder().decode(Event.self, from: coder.encode(event))
    #expect(foundations == event)
  }

  @Test func jsonTakesEachStrategy() throws {
    let coder = Coder<Event>.json(
      dates: (.secondsSince1970, .secondsSince1970),
      data: (.deferredToData, .deferredToData),
      floats: (
        .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan"),
        .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
      ),
      keys: (.convertToSnakeCase, .convertFromSnakeCase), sortedKeys: true)
    var event = event
    event.value = .infinity
    let text = String(decoding: try coder.encode(event), as: UTF8.self)
    #expect(
      text == #"{"bytes":[1,2,3],"date":1700000000,"event_name":"a","value":"inf"}"#)
    #expect(try coder.decode(Data(text.utf8)) == event)
  }

  @Test func jsonTakesAnEncoderAndADecoder() throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let coder = Coder<Event>.json(encoder, decoder)
    #expect(try coder.decode(coder.encode(event)) == event)
  }

  @Test func jsonTakesFragments() throws {
    #expect(try Coder<Int>.json.decode(Coder<Int>.json.encode(-7)) == -7)
    #expect(try Coder<String?>.json.decode(Coder<String?>.json.encode(nil)) == nil)
  }

  @Test func failuresKeepTheCodersOwnError() throws {
    let encoding = error { try Coder<Double>.json.encode(.nan) }
    #expect(encoding?.code == .encoding)
    #expect(encoding?.cause is EncodingError)
    let decoding = error { try Coder<Event>.json.decode(Data("{}".utf8)) }
    #expect(decoding?.code == .decoding)
    #expect(decoding?.cause is DecodingError)
  }
}
