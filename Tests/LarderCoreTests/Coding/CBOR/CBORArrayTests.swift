// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Arrays of types that decode themselves.
@Suite struct CBORArrayTests {
  private struct Point: Codable, Equatable {
    var x: Int
    var y: String
  }

  /// As long as a few words, to reach the size from which arrays grow step by step.
  private struct Wide: Codable, Equatable {
    var a = 1, b = 2, c = 3, d = 4
  }

  /// Keeps its decoder.
  private struct Keeper: Decodable {
    let decoder: any Decoder

    init(from decoder: any Decoder) throws {
      self.decoder = decoder
      _ = try decoder.singleValueContainer().decode(Int.self)
    }
  }

  private func decode<T: Decodable>(_ type: T.Type, from bytes: Data) throws -> T {
    try CBORDecoder().decode(type, from: bytes)
  }

  @Test(arguments: [0, 1, 2, 23, 24, 2047, 2048, 2049, 5000])
  func arraysOfAnyLengthComeBack(count: Int) throws {
    let wide = (0..<count).map { Wide(a: $0) }
    #expect(MemoryLayout<Wide>.stride == 32)
    #expect(try decode([Wide].self, from: cbor(wide)) == wide)
    let nested = [wide.prefix(3).map { [$0] }, []]
    #expect(try decode([[[Wide]]].self, from: cbor(nested)) == nested)
    let optional = wide.map { $0.a % 2 == 0 ? $0 : nil }
    #expect(try decode([Wide?].self, from: cbor(optional)) == optional)
  }

  @Test(arguments: ["9fa2617801617962686902ff", "c182a2617801617962686902"])
  func arraysInOtherFormsDecodeThemselves(hex: String) throws {
    #expect(failure { try decode([Point].self, from: Data(hex: hex)) } == .otherType(["Index 1#1"]))
    let good = hex.replacingOccurrences(of: "6902", with: "69a261780261796161")
    let points = try decode([Point].self, from: Data(hex: good))
    #expect(points == [Point(x: 1, y: "hi"), Point(x: 2, y: "a")])
  }

  @Test(arguments: [3, 3000])
  func anElementThatFailsIsNamed(count: Int) throws {
    var values = (0..<count).map { ["a": $0, "b": 2, "c": 3, "d": 4] }
    values[count - 1]["c"] = nil
    let path = ["Index \(count - 1)#\(count - 1)"]
    #expect(failure { try decode([Wide].self, from: cbor(values)) } == .missingKey("c", path))
    #expect(
      failure { try decode([String: [Wide]].self, from: cbor(["k": values])) }
        == .missingKey("c", ["k"] + path))
    #expect(
      failure { try value([[Int]].self, hex: "8182f601") }
        == .missingValue(["Index 0#0", "Index 0#0"]))
    #expect(failure { try value([Wide].self, hex: "a0") } == .otherType([]))
    #expect(failure { try value([Wide].self, hex: "f6") } == .missingValue([]))
  }

  @Test func elementsThatKeepTheirDecodersKeepTheirPaths() throws {
    let keepers = try decode([String: [Keeper]].self, from: cbor(["k": [7, 8, 9]]))
    let paths = try #require(keepers["k"]).map { $0.decoder.codingPath.map(\.stringValue) }
    #expect(paths == [["k", "Index 0"], ["k", "Index 1"], ["k", "Index 2"]])
  }
}
