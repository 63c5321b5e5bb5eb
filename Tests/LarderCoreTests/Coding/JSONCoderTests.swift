// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite struct JSONCoderTests {
  private struct Event: Codable, Equatable {
    var eventName: String
    var date: Date
    var bytes: Data
    var value: Double
  }

  private struct Dated: Codable, Equatable { var date: Date }

  private let event = Event(
    eventName: "a", date: Date(timeIntervalSince1970: 1_700_000_000), bytes: Data([1, 2, 3]),
    value: 2.5)

  @Test func jsonHasTheDefaultsOfFoundationButForDates() throws {
    let coder = Coder<Event>.json
    #expect(coder.format == "json")
    #expect(try coder.decode(coder.encode(event)) == event)
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    #expect(try decoder.decode(Event.self, from: coder.encode(event)) == event)
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    #expect(try coder.decode(encoder.encode(event)) == event)
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
    let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    #expect(try Coder<Date>.json.encode(date) == Data(#""2023-11-14T22:13:20.250Z""#.utf8))
    #expect(try Coder<Date>.json.decode(Coder<Date>.json.encode(date)) == date)
  }

  @Test func failuresKeepTheErrorOfFoundation() throws {
    let encoding = error { try Coder<Double>.json.encode(.nan) }
    #expect(encoding?.code == .encoding)
    #expect(encoding?.cause is EncodingError)
    let decoding = error { try Coder<Event>.json.decode(Data("{}".utf8)) }
    #expect(decoding?.code == .decoding)
    #expect(decoding?.cause is DecodingError)
  }

  @Test func codableJSONDecodeFailureIsWrappedInADecodingError() throws {
    for bytes in [Data("not JSON".utf8), Data(), Data([0xFF, 0x00])] {
      let error = error { try Coder<Event>.json.decode(bytes) }
      #expect(error?.code == .decoding)
      #expect(error?.cause is DecodingError)
      #expect(error?.message.contains("\(bytes.count) bytes") == true)
    }
  }

  // MARK: - Dates

  @Test func fractionsOfASecondAreKeptByDefault() throws {
    let coder = Coder<Dated>.json
    let cases: [(Double, String)] = [
      (700_000_000.125, "2023-03-08T20:26:40.125Z"), (700_000_000, "2023-03-08T20:26:40Z"),
      (700_000_000.0000001, "2023-03-08T20:26:40.0000001Z"),
    ]
    for (time, text) in cases {
      let dated = Dated(date: Date(timeIntervalSinceReferenceDate: time))
      let json = Data("{\"date\":\"\(text)\"}".utf8)
      #expect(try coder.encode(dated) == json)
      #expect(try coder.decode(json) == dated)
    }
  }

  @Test func everyDateComesBackAsItWas() throws {
    var generator = SeededGenerator(seed: 40)
    let coder = Coder<Date>.json
    for _ in 0..<2000 {
      let time = Double.random(in: -6e10...2e11, using: &generator)
      for time in [time, time / 100, time / 1e6, time / 1e15] {
        let date = Date(timeIntervalSinceReferenceDate: time)
        #expect(try coder.decode(coder.encode(date)) == date, "\(time), seed \(generator.seed)")
      }
    }
    for date in [Date.distantPast, .distantFuture, .now] {
      #expect(try coder.decode(coder.encode(date)) == date)
    }
  }

  @Test func datesWithAnOffsetAndAnyNumberOfDigitsAreRead() throws {
    let expected = Dated(date: Date(timeIntervalSinceReferenceDate: 700_000_000.5))
    for text in ["2023-03-08T20:26:40.5Z", "2023-03-08 22:26:40.500000000000+02:00"] {
      #expect(try Coder<Dated>.json.decode(Data("{\"date\":\"\(text)\"}".utf8)) == expected)
    }
  }

  @Test(arguments: [Double.infinity, -.infinity, .nan, 1e12, -1e12])
  func aDateWithoutATextIsAnEncodingErrorThatNamesTheKey(time: Double) throws {
    let date = Date(timeIntervalSinceReferenceDate: time)
    let error = error { try Coder<[String: [Dated]]>.json.encode(["x": [Dated(date: date)]]) }
    #expect(error?.code == .encoding)
    guard case EncodingError.invalidValue(_, let context)? = error?.cause else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["x", "Index 0", "date"])
    #expect(context.debugDescription.contains("0 to 9999"))
  }

  @Test(arguments: [#""2023-03-08""#, #""""#, #""2023-02-29T00:00:00Z""#])
  func aTextThatIsNoDateIsADecodingErrorThatNamesTheKey(text: String) throws {
    let error = error { try Coder<[Dated]>.json.decode(Data("[{\"date\":\(text)}]".utf8)) }
    #expect(error?.code == .decoding)
    guard case DecodingError.dataCorrupted(let context)? = error?.cause else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["Index 0", "date"])
  }

  @Test func aNumberInPlaceOfADateIsATypeMismatch() throws {
    let error = error { try Coder<Dated>.json.decode(Data(#"{"date":5}"#.utf8)) }
    guard case DecodingError.typeMismatch? = error?.cause else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
