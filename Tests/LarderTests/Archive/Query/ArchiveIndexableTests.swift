// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// The bytes that elements are found by: in the order of the values, and equal for equal ones.
struct ArchiveIndexableTests {
  /// Values in their order have bytes in theirs.
  private func expectOrder<Value: ArchiveIndexable>(
    _ values: [Value], _ location: SourceLocation = #_sourceLocation
  ) {
    for (a, b) in zip(values, values.dropFirst()) {
      #expect(
        a.archiveIndexBytes.lexicographicallyPrecedes(b.archiveIndexBytes), "\(a) before \(b)",
        sourceLocation: location)
    }
    // nil is before all of them.
    let optional = [nil] + values.map(Optional.some)
    for (a, b) in zip(optional, optional.dropFirst()) {
      #expect(
        a.archiveIndexBytes.lexicographicallyPrecedes(b.archiveIndexBytes),
        sourceLocation: location)
    }
  }

  @Test func wholeNumbersAreInTheirOrder() {
    expectOrder([Int.min, .min + 1, -256, -2, -1, 0, 1, 2, 255, 256, .max - 1, .max])
    expectOrder([UInt.min, 1, 255, 256, .max - 1, .max])
    expectOrder([Int8.min, -1, 0, 1, .max])
    expectOrder([Int16.min, -1, 0, 1, .max])
    expectOrder([Int32.min, -1, 0, 1, .max])
    expectOrder([Int64.min, -1, 0, 1, .max])
    expectOrder([UInt8.min, 1, .max])
    expectOrder([UInt16.min, 255, 256, .max])
    expectOrder([UInt32.min, 255, 256, .max])
    expectOrder([UInt64.min, 255, 256, .max])
    #expect(Int(-7).archiveIndexBytes == Int64(-7).archiveIndexBytes)
  }

  @Test func fractionsAreInTheirOrderAndZerosAreOne() {
    expectOrder([
      -Double.infinity, -.greatestFiniteMagnitude, -1.5, -1, -.leastNonzeroMagnitude, 0,
      .leastNonzeroMagnitude, 1, 1.5, .greatestFiniteMagnitude, .infinity, .nan,
    ])
    expectOrder([-Float.infinity, -1, 0, .leastNonzeroMagnitude, 1, .infinity, .nan])
    #expect((-0.0).archiveIndexBytes == 0.0.archiveIndexBytes)
    #expect(Float(-0.0).archiveIndexBytes == Float(0).archiveIndexBytes)
    #expect((-Double.nan).archiveIndexBytes == Double.nan.archiveIndexBytes)
  }

  @Test func textsAreInSwiftsOrderAndEqualWhenSwiftSaysSo() {
    expectOrder(["", "\u{0}", "A", "AB", "B", "a", "e\u{301}", "ë", "\u{FFFD}", "😀"])
    #expect("e\u{301}".archiveIndexBytes == "é".archiveIndexBytes)
    #expect("한".archiveIndexBytes == "\u{1112}\u{1161}\u{11AB}".archiveIndexBytes)
    #expect("\u{2126}".archiveIndexBytes == "Ω".archiveIndexBytes)
  }

  @Test func randomTextsAreInSwiftsOrder() {
    var random = SeededGenerator(seed: 41)
    let alphabet: [Unicode.Scalar] = [
      "a", "b", "e", "\u{301}", "\u{327}", "é", "ë", "ü", "\u{308}", "z", "한", "\u{1112}", "😀",
      "\u{1E9B}", "\u{FB01}", "\u{0}",
    ]
    let texts = (0..<2_000).map { _ in
      var text = ""
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        text.unicodeScalars.append(alphabet.randomElement(using: &random) ?? "a")
      }
      return text
    }
    for (a, b) in zip(texts, texts.dropFirst()) {
      let x = a.archiveIndexBytes
      let y = b.archiveIndexBytes
      #expect(
        (a < b) == x.lexicographicallyPrecedes(y),
        "\(a.debugDescription) \(b.debugDescription), seed \(random.seed)")
      #expect((a == b) == (x == y))
    }
  }

  @Test func otherValuesAreInTheirOrder() throws {
    expectOrder([false, true])
    expectOrder([
      Date.distantPast, Date(timeIntervalSince1970: -1), .init(timeIntervalSince1970: 0),
      .distantFuture,
    ])
    expectOrder([Data(), Data([0]), Data([0, 1]), Data([1]), Data([255])])
    let uuids = try [
      "00000000-0000-0000-0000-000000000001", "FF000000-0000-0000-0000-000000000000",
    ]
    .map { try #require(UUID(uuidString: $0)) }
    expectOrder(uuids)
    expectOrder([Int?.none, -1, 0, 1])
    #expect(Citizen.Level.high.archiveIndexBytes == "high".archiveIndexBytes)
    #expect(!Citizen.Level.archiveIndexKeepsOrder)
    #expect(!Optional<Citizen.Level>.archiveIndexKeepsOrder)
    #expect(Optional<Int>.archiveIndexKeepsOrder)
  }

  @Test func longValuesAreCut() {
    struct Note: Sendable { var text: String }
    let index = ArchiveIndex<Note>("text", \.text)
    for count in [999, 1_000, 1_001, 5_000] {
      let note = Note(text: String(repeating: "x", count: count))
      #expect(index.bytes(of: note).count == min(count, 1_000))
    }
  }

  @Test func aNameHasOneNumberAndAnotherTypeIsAnotherDeclaration() {
    let age = ArchiveIndex<Citizen>("age", \.age)
    #expect(age.number == ArchiveIndex<Citizen>("age", \.name).number)
    #expect(age.number != ArchiveIndex<Citizen>("name", \.age).number)
    #expect(age.declaration == #""age" 0 .age:Int"#)
    let points = ArchiveIndex<Citizen>("age", \.points)
    #expect(points.declaration == #""age" 0 .points:Optional<Int>"#)
  }
}
