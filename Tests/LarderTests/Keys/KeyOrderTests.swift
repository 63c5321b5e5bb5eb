// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Floating-point numbers are keys in their order, URLs in that of their text.
struct KeyOrderTests {
  private struct Reading: Codable, Identifiable, Equatable { var id: Double }
  private struct Page: Codable, Identifiable, Equatable { var id: URL }

  private let directory: TemporaryDirectory
  private var path: String { directory.file("store").path }

  init() throws { directory = try TemporaryDirectory() }

  private static let numbers: [Double] = [
    -.infinity, -.greatestFiniteMagnitude, -1e9, -2, -1.5, -.leastNormalMagnitude,
    -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, .leastNormalMagnitude, 0.1, 1,
    1.0.nextUp, 2, 255, 256, 1e9, .greatestFiniteMagnitude, .infinity,
  ]

  private static func urls(_ texts: [String]) -> [URL] { texts.compactMap { URL(string: $0) } }

  @Test func numbersAreInOrder() throws {
    let cache = try DiskCache<Double, Int>(at: .path(path))
    for key in Self.numbers.shuffled() { try cache.set(1, forKey: key) }
    #expect(try cache.keys(order: .byKey) == Self.numbers)
    for (low, high) in zip(Self.numbers, Self.numbers.dropFirst(3)) {
      let expected = Self.numbers.filter { (low...high).contains($0) }
      #expect(try cache.keys(.range(low...high), order: .byKey) == expected)
    }
    #expect(try cache.contains(-0.0))
    #expect(KeyCoder.double.keepsOrder && KeyCoder.float.keepsOrder)
  }

  @Test func halfAsWideNumbersToo() throws {
    let numbers = Set(Self.numbers.map(Float.init)).sorted()
    let cache = try EntryCache<Float>(at: .path(path), valueCount: 1)
    for key in numbers.shuffled() { try cache.setValues([Data([1])], forKey: key) }
    #expect(try Set(cache.keys()) == Set(numbers))
    let bytes = try numbers.map { [UInt8](try KeyCoder.float.encode($0)) }
    #expect(zip(bytes, bytes.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    #expect(error { try KeyCoder.float.encode(.nan) }?.code == .encoding)
  }

  @Test func bytesOfNoNumberAreRefused() throws {
    let ones = Data(repeating: 0xFF, count: 8)
    let minusZero = Data([0x7F] + Array(repeating: 0xFF, count: 7))
    for bytes in [ones, minusZero, Data(count: 8), Data(count: 4), Data()] {
      #expect(error { try KeyCoder.double.decode(bytes) }?.code == .decoding)
    }
  }

  @Test func rangesOfNumbersArePrimaryKeys() throws {
    let archive = try Archive<Reading>(at: .path(path))
    try archive.put(all: Self.numbers.shuffled().map(Reading.init))
    #expect(try archive.elements().map(\.id) == Self.numbers)
    for bound in Self.numbers + [.nan, -0.0, 0.5] {
      let below = try archive.where { $0.id < bound }.results()
      #expect(below.map(\.id) == Self.numbers.filter { $0 < bound })
      let other = try archive.where { $0.id >= bound || $0.id == -2 }.results()
      #expect(other.map(\.id) == Self.numbers.filter { $0 >= bound || $0 == -2 })
    }
    #expect(try archive.where { $0.id < 1 }.explain().examined == 11)
    let zero = archive.where { $0.id.isOne(of: [-0.0, 3, .nan]) }
    #expect(try zero.results().map(\.id) == [0])
    #expect(try archive.sorted(by: \.id, .reverse).first()?.id == .infinity)
  }

  @Test func urlsAreListedAndRemovedByPrefix() throws {
    let urls = Self.urls([
      "https://a.example/", "https://a.example/b", "https://a.example/b/c?d=%20e#f",
      "https://b.example/", "file:///tmp/a%20b", "mailto:a@b.example",
    ])
    let cache = try DiskCache<URL, Int>(at: .path(path))
    for url in urls { try cache.set(1, forKey: url) }
    let inOrder = urls.sorted { $0.absoluteString < $1.absoluteString }
    #expect(try cache.keys(order: .byKey) == inOrder)
    let relative = try #require(URL(string: "b", relativeTo: urls[0]))
    #expect(try cache.value(forKey: relative) == 1)
    #expect(try cache.remove(prefix: urls[1]) == 2)
    #expect(try cache.keys(.prefix(urls[0])) == [urls[0]])
    #expect(try cache.count == 4)
  }

  @Test func urlsAreTextToOthers() throws {
    let page = Page(id: try #require(URL(string: "https://a.example/b?c=d")))
    let archive = try Archive<Page>(at: .path(path))
    try archive.upsert(page)
    #expect(try archive.element(forID: page.id) == page)
    try archive.close()
    let raw = try DiskCache<Data, Data>(
      at: .path(path), coder: Coder<Data>(format: "", encode: { $0 }, decode: { $0 }),
      keyCoder: .data)
    #expect(try raw.keys() == [Data("https://a.example/b?c=d".utf8)])
  }
}
