// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// File names for keys. After RECache's customFileNameProviderUsed and
/// fileNameProviderReturningEmptyFallsBack; its provider named the cache's own files, which
/// let names collide and lead out of the folder.
struct DiskCacheExportTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test func theProviderNamesAnExportedFile() throws {
    let cache = try place.openData { $0.fileNameProvider = { "\($0).bin" } }
    try cache.set(Data([1, 2]), forKey: "a")
    let file = try #require(try cache.exportValue(forKey: "a", to: place.directory.url))
    #expect(file.lastPathComponent == "a.bin")
    #expect(try Data(contentsOf: file) == Data([1, 2]))
    #expect(try cache.exportValue(forKey: "none", to: place.directory.url) == nil)
    #expect(try place.directory.names == ["a.bin", "cache"])
  }

  @Test func anExportReplacesAnOlderOne() throws {
    let cache = try place.openData { $0.fileNameProvider = { _ in "same" } }
    try cache.set(Data(count: 100_000), forKey: "a")
    try cache.exportValue(forKey: "a", to: place.directory.url)
    try cache.set(Data([1]), forKey: "b")
    let file = try #require(try cache.exportValue(forKey: "b", to: place.directory.url))
    #expect(try Data(contentsOf: file) == Data([1]))
    #expect(try cache.value(forKey: "a") == Data(count: 100_000))
  }

  @Test(arguments: ["../x", "/x", "a/b", "a\0b", ".", "..", String(repeating: "n", count: 256)])
  func aNameThatLeadsElsewhereIsRefused(name: String) throws {
    let cache = try place.openData { $0.fileNameProvider = { _ in name } }
    try cache.set(Data([1]), forKey: "a")
    #expect(
      errorCode { try cache.exportValue(forKey: "a", to: place.directory.url) } == .invalidArgument)
    #expect(try place.directory.names == ["cache"])
    #expect(try cache.value(forKey: "a") == Data([1]))
  }

  @Test func anEmptyNameFallsBackToTheKeysBytes() throws {
    let cache = try place.openData { $0.fileNameProvider = { _ in "" } }
    #expect(try cache.fileName(forKey: "a/b") == "612f62")
    #expect(try cache.fileName(forKey: "") == "empty")
  }

  @Test(arguments: [99, 100, 101, 65_536])
  func withoutAProviderKeysHaveNamesOfTheirOwn(length: Int) throws {
    let cache = try place.openData()
    let key = String(repeating: "/", count: length - 1)
    let names = try Set(["a", "b", "c"].map { try cache.fileName(forKey: key + $0) })
    #expect(names.count == 3)
    #expect(names.allSatisfy { $0.utf8.count <= 200 && !$0.contains("/") })
  }

  @Test func whatTheProviderThrowsComesOut() throws {
    struct Refusal: Error {}
    let cache = try place.openData { $0.fileNameProvider = { _ in throw Refusal() } }
    #expect(throws: Refusal.self) { try cache.fileName(forKey: "a") }
  }
}
