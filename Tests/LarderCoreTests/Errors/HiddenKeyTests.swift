// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// An error names properties and positions, and no key of a dictionary.
@Suite struct HiddenKeyTests {
  private struct Team: Codable {
    var members: [String: [Member]]
    var numbers: [Int: Member]?
  }
  private struct Member: Codable {
    var age: Int
  }
  private enum Wrapped: CodingKey {
    case text(String)
    var stringValue: String { if case .text(let text) = self { text } else { "" } }
    var intValue: Int? { nil }
    init?(intValue: Int) { nil }
    init(stringValue: String) { self = .text(stringValue) }
  }
  /// Reads a property whose name it was told.
  private struct Asking: Codable {
    init(from decoder: any Decoder) throws {
      _ = try decoder.container(keyedBy: Wrapped.self)
        .decode(Int.self, forKey: Wrapped(stringValue: "secret"))
    }
    func encode(to encoder: any Encoder) throws {}
  }
  private struct Loose: Codable {
    var members: [String: [[String: String]]]
    var numbers: [Int: [String: String]]?
  }

  private func failure<Value: Codable & SendableMetatype, Other: Codable & SendableMetatype>(
    _ type: Value.Type, from value: Other, _ format: String
  ) throws -> LarderError {
    do {
      switch format {
      case "cbor": _ = try Coder<Value>.cbor.decode(try Coder<Other>.cbor.encode(value))
      case "json": _ = try Coder<Value>.json.decode(try Coder<Other>.json.encode(value))
      default: _ = try Coder<Value>.binaryPlist.decode(try Coder<Other>.binaryPlist.encode(value))
      }
    } catch let error as LarderError {
      return error
    }
    throw CocoaError(.coderInvalidValue)
  }

  private func path(_ error: LarderError) -> [String] {
    switch error.cause {
    case DecodingError.typeMismatch(_, let context)?, DecodingError.keyNotFound(_, let context)?,
      DecodingError.valueNotFound(_, let context)?, DecodingError.dataCorrupted(let context)?:
      context.codingPath.map(\.stringValue)
    default: []
    }
  }

  @Test(arguments: ["cbor", "json", "plist"])
  func keysOfDictionariesAreHidden(_ format: String) throws {
    let good = Loose(members: ["secret": [["age": "secret"]]])
    let text = try failure(Team.self, from: good, format)
    #expect(path(text) == ["members", "…", "Index 0", "age"])
    #expect(!"\(text)".contains("secret"), "\(text)")
    let number = try failure(
      Team.self, from: Loose(members: [:], numbers: [4711: ["age": "secret"]]), format)
    #expect(path(number) == ["numbers", "…", "age"])
    #expect(!"\(number)".contains("4711") && !"\(number)".contains("secret"), "\(number)")
    let missing = try failure(Team.self, from: Loose(members: ["secret": [[:]]]), format)
    #expect(path(missing) == ["members", "…", "Index 0"])
    #expect("\(missing)".contains("age") && !"\(missing)".contains("secret"), "\(missing)")
  }

  @Test(arguments: ["cbor", "json", "plist"])
  func aKeyThatCarriesTextIsHidden(_ format: String) throws {
    let missing = try failure(Asking.self, from: ["a": 1], format)
    guard case DecodingError.keyNotFound(let key, _)? = missing.cause else {
      Issue.record("\(missing)")
      return
    }
    #expect(key.stringValue == "…")
    #expect(!"\(missing)".contains("secret"), "\(missing)")
    let other = try failure(Asking.self, from: ["secret": "text"], format)
    #expect(path(other) == ["…"])
    #expect(!"\(other)".contains("secret"), "\(other)")
  }

  @Test func aKeyThatLooksLikeAPositionIsHidden() throws {
    let error = try failure([String: Int].self, from: ["Index 5": "text"], "json")
    #expect(path(error) == ["…"])
  }

  @Test func otherErrorsStayAsTheyAre() {
    let cause = CocoaError(.fileReadNoSuchFile)
    #expect(LarderError(.remote, "No.", cause: cause).cause as? CocoaError == cause)
  }
}
