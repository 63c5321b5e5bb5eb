// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Ranges beside what they mean: of a few short strings of bytes, which are in them.
struct ArchiveRangesTests {
  private struct Element: Sendable {
    var byte: UInt8, maybe: UInt8?, data: Data
  }

  /// All strings of up to three of the bytes that matter.
  private static let strings: [[UInt8]] = {
    var all: [[UInt8]] = [[]]
    var longest = all
    for _ in 0..<3 {
      longest = longest.flatMap { string in [0, 1, 0xFE, 0xFF].map { string + [$0] } }
      all += longest
    }
    return all.sorted { $0.lexicographicallyPrecedes($1) }
  }()

  private var random = SeededGenerator(seed: 77)

  private mutating func bound() -> ArchiveBound {
    let bytes = Self.strings[Int.random(in: Self.strings.indices, using: &random)]
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .start
    case 1: return .end
    case 2: return ArchiveBound(behindPrefix: bytes)
    case 3, 4: return ArchiveBound(behind: bytes)
    default: return ArchiveBound(before: bytes)
    }
  }

  private static func contains(_ range: ArchiveRange, _ bytes: [UInt8]) -> Bool {
    let (lower, upper) = (range.lower.bytes, range.upper.bytes)
    guard let lower, !bytes.lexicographicallyPrecedes(lower) else { return false }
    return upper.map { bytes.lexicographicallyPrecedes($0) } ?? true
  }

  private static func contains(_ ranges: ArchiveRanges, _ bytes: [UInt8]) -> Bool {
    ranges.parts.contains { contains($0, bytes) }
  }

  @Test mutating func unionsIntersectionsAndComplementsAreThoseOfSets() {
    for _ in 0..<200 {
      let a = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        ArchiveRange(bound(), to: bound())
      }
      let b = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        ArchiveRange(bound(), to: bound())
      }
      let (x, y) = (ArchiveRanges(a), ArchiveRanges(b))
      let both = x.intersection(y)
      let either = x.union(y)
      let none = x.complement
      for ranges in [x, y, both, either] + [none].compactMap(\.self) {
        #expect(ranges.parts.allSatisfy { !$0.isEmpty })
        #expect(zip(ranges.parts, ranges.parts.dropFirst()).allSatisfy { $0.upper < $1.lower })
      }
      for string in Self.strings {
        let isInA = a.contains { Self.contains($0, string) }
        let isInB = b.contains { Self.contains($0, string) }
        #expect(Self.contains(x, string) == isInA)
        #expect(Self.contains(both, string) == (isInA && isInB))
        #expect(Self.contains(either, string) == (isInA || isInB))
        #expect(none.map { Self.contains($0, string) } == !isInA)
        #expect(Self.contains(x.hull, string) || !isInA)
      }
    }
  }

  @Test func aBoundHasNothingBetweenItAndItsValue() {
    for string in Self.strings {
      let only = ArchiveRange(only: string)
      #expect(only.only == string)
      for other in Self.strings {
        #expect(Self.contains(only, other) == (other == string))
        #expect(
          Self.contains(ArchiveRange(prefix: string), other) == other.starts(with: string))
      }
    }
    #expect(ArchiveBound(behindPrefix: [255, 255]) == .end)
    #expect(ArchiveRange(.end).isEmpty)
  }

  /// In an index of several properties a range has the elements that it has of its property.
  @Test mutating func aPartOfAnIndexHasTheSameElements() {
    let bytes: [UInt8] = [0, 1, 0xFE, 0xFF]
    let maybe: [UInt8?] = [nil] + bytes.map(Optional.some)
    let data = Self.strings.filter { $0.count < 3 }.map { Data($0) }
    expectSameElements(\.byte, bytes) { Element(byte: $0, maybe: nil, data: Data()) }
    expectSameElements(\.maybe, maybe) { Element(byte: 0, maybe: $0, data: Data()) }
    expectSameElements(\.data, data) { Element(byte: 0, maybe: nil, data: $0) }
  }

  private mutating func expectSameElements<Value: ArchiveIndexable>(
    _ path: any KeyPath<Element, Value> & Sendable, _ values: [Value],
    _ make: (Value) -> Element
  ) {
    let part = ArchiveIndexPart(path)
    for _ in 0..<100 {
      let range = ArchiveRange(bound(), to: bound())
      for isLast in [false, true] {
        let prefix: [UInt8] = [0xFF]
        let found = part.range(range, behind: prefix, isLast: isLast)
        for value in values {
          let own = value.archiveIndexBytes
          var stored = prefix
          if isLast { stored += own } else { part.append(own, to: &stored) }
          for rest in isLast ? [[]] : Self.strings.filter({ $0.count < 2 }) {
            #expect(
              Self.contains(found, stored + rest) == Self.contains(range, own),
              "\(path), \(range.lower.bytes as Any), \(range.upper.bytes as Any): \(own)")
          }
        }
        for other in [[0xFE], [0xFE, 0xFF, 0xFF]] as [[UInt8]] {
          #expect(!Self.contains(found, other))
        }
      }
    }
  }

  @Test mutating func cutRangesHaveAllThatTheyMayHaveAndSaySo() {
    let long = [UInt8](repeating: 255, count: 999)
    let strings = Self.strings.filter { $0.count < 3 }.map { long + $0 } + [long.dropLast(), []]
    let ends = strings.flatMap { [ArchiveBound(before: $0), ArchiveBound(behind: $0)] } + [.end]
    for _ in 0..<60 {
      let (lower, upper) = (
        ends[Int.random(in: ends.indices, using: &random)],
        ends[Int.random(in: ends.indices, using: &random)]
      )
      let range = ArchiveRange(min(lower, upper), to: max(lower, upper))
      let cut = ArchiveRanges(range).cut
      for string in strings {
        let isIn = Self.contains(range, string)
        let isFound = Self.contains(cut, Array(string.prefix(1_000)))
        #expect(isIn == isFound || isFound && !cut.isExact)
      }
    }
    let many = ArchiveRanges([1, 2, 3].map { ArchiveRange(only: long + [7, $0]) })
    #expect(many.parts.count == 3)
    #expect(many.cut.parts.count == 1)
    #expect(!many.cut.isExact)
    #expect(ArchiveRanges(ArchiveRange(only: long)).cut.isExact)
  }

  @Test func whatIsNotInOrderIsInNoRange() throws {
    for relation in [ArchiveRanges.Relation.less, .lessOrEqual, .greater, .greaterOrEqual] {
      let ranges = try #require(ArchiveRanges(relation, 1.0))
      #expect(!Self.contains(ranges, Double.nan.archiveIndexBytes))
      #expect(ranges.isExact)
      #expect(ranges.complement.map { Self.contains($0, Double.nan.archiveIndexBytes) } == true)
    }
    #expect(ArchiveRanges(butFor: Double.nan) == nil)
    let above = try #require(ArchiveRanges(.greater, Double.nan))
    #expect(above.parts.isEmpty)
    #expect(above.isExact)
  }
}
