// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite struct PropertyListCoderTests {
  private struct Event: Codable, Equatable {
    var name: String
    var date: Date
    var bytes: Data
    var value: Double?
    var numbers: [Int]
    var children: [String: [Bool]]
  }

  private let event = Event(
    name: "größe", date: Date(timeIntervalSinceReferenceDate: 700_000_000.0625),
    bytes: Data([0, 1, 255]), value: nil, numbers: [0, -1, .max, .min],
    children: ["a": [true, false], "": []])

  @Test func propertyListsComeBackAsTheyWere() throws {
    let coder = Coder<Event>.binaryPlist
    #expect(coder.format == "plist")
    let bytes = try coder.encode(event)
    #expect(bytes.starts(with: Data("bplist00".utf8)))
    #expect(try coder.decode(bytes) == event)
    #expect(try PropertyListDecoder().decode(Event.self, from: bytes) == event)
    #expect(try Coder<[Int]>.binaryPlist.decode(Coder<[Int]>.binaryPlist.encode([])) == [])
  }

  @Test func aFragmentAtTheTopIsAnEncodingError() throws {
    func expectRefusal<Value: Codable & SendableMetatype>(of value: Value) {
      let error = error { try Coder<Value>.binaryPlist.encode(value) }
      #expect(error?.code == .encoding, "\(Value.self)")
      #expect(error?.cause is EncodingError, "\(Value.self)")
    }
    expectRefusal(of: "text")
    expectRefusal(of: 5)
    expectRefusal(of: true)
    expectRefusal(of: Date.distantPast)
    expectRefusal(of: Int?.none)
  }

  @Test func codableBinaryPlistDecodeFailureIsWrappedInADecodingError() throws {
    let whole = try Coder<Event>.binaryPlist.encode(event)
    for bytes in [Data("not a property list".utf8), Data(), Data([0xFF]), whole.prefix(20)] {
      let error = error { try Coder<Event>.binaryPlist.decode(bytes) }
      #expect(error?.code == .decoding)
      #expect(error?.cause is DecodingError)
    }
  }

  @Test func aLogOfPropertyListsRefusesJSON() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("a.larder")
    do {
      let log = try MessageLog(
        at: .url(file), capacity: 4096, whenFull: .refuse, coder: Coder<Event>.binaryPlist)
      try log.append(event)
      #expect(try log.messages() == [event])
    }
    let code = errorCode { try MessageLog(readingFrom: .url(file), coder: Coder<Event>.json) }
    #expect(code == .configurationMismatch)
  }
}
