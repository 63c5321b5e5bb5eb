// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What is written to a cache whose index is damaged is there, and who opens it next mends it.
struct DiskCacheDamageTests {
  private let place: DiskPlace
  private let template: URL

  init() throws {
    place = try DiskPlace()
    template = place.directory.file("template")
  }

  private func open() throws -> DiskCache<Int, String> {
    try place.openText { $0.countLimit = 999 }
  }

  private let keys = 1...300
  private static let index = "data.mdb"

  /// Makes one of short values, all of which lie in the index, on several pages.
  ///
  /// - Returns: The index.
  private func makeTemplate() throws -> Data {
    let cache = try open()
    for key in keys { try cache.set("value of \(key)", forKey: key) }
    try cache.checkpoint()
    // The order of use is not that of the keys.
    for key in keys.reversed() { _ = try cache.value(forKey: key) }
    try cache.close()
    try FileManager.default.moveItem(at: place.url, to: template)
    return try Data(contentsOf: template.appendingPathComponent(Self.index))
  }

  /// Where the index has the value of 150, not on a page that is free by now.
  private func offset(ofValueIn whole: Data) throws -> Int {
    let value = Data("value of 150".utf8)
    var found: [Int] = []
    var rest = 0..<whole.count
    while let next = whole.range(of: value, in: rest) {
      var hurt = whole
      hurt[next.lowerBound] ^= 1
      try put(hurt)
      let code = errorCode { try open().value(forKey: 150) }
      if code == .damaged { found.append(next.lowerBound) }
      rest = next.upperBound..<whole.count
    }
    try #require(found.count == 1)
    return found[0]
  }

  private func put(_ index: Data) throws {
    try? FileManager.default.removeItem(at: place.url)
    try FileManager.default.copyItem(at: template, to: place.url)
    try index.write(to: place.url.appendingPathComponent(Self.index))
  }

  /// Replaces what was damaged, and wants it there from then on.
  ///
  /// - Parameter isKnown: Its row can be found, so that it is not counted twice.
  private func replace(_ what: String, isKnown: Bool) throws {
    do {
      let cache = try open()
      try cache.set("replaced", forKey: 150)
      #expect(try !isKnown || cache.count == keys.count, "\(what)")
      let code = errorCode { try cache.checkpoint() }
      #expect(isKnown || code == .damaged, "\(what)")
      #expect(try cache.value(forKey: 150) == "replaced", "\(what)")
      #expect(try !isKnown || cache.count == keys.count, "\(what)")
      try? cache.close()
    }
    for _ in 0..<2 {
      let cache = try open()
      #expect(try cache.count == keys.count, "\(what)")
      #expect(try cache.keys() == Array(keys), "\(what)")
      #expect(try cache.keys(order: .leastRecentFirst).sorted() == Array(keys), "\(what)")
      #expect(try cache.value(forKey: 150) == "replaced", "\(what)")
      try cache.close()
    }
  }

  /// Whatever a row says: which write it leads to, where that lies, and how long its value is.
  @Test func whatIsWrittenOverADamagedRowStays() throws {
    let whole = try makeTemplate()
    let value = try offset(ofValueIn: whole)
    var hurtCount = 0
    let step = effort(7, long: 1, sanitized: 11)
    for bit in stride(from: (value - 80) * 8, to: value * 8, by: step) {
      var hurt = whole
      hurt[bit / 8] ^= 1 << UInt8(bit % 8)
      try put(hurt)
      let cache = try open()
      let code = errorCode { try cache.value(forKey: 150) }
      try? cache.close()
      if code != .damaged { continue }
      hurtCount += 1
      try put(hurt)
      try replace("byte \(bit / 8 - value), bit \(bit % 8)", isKnown: true)
    }
    #expect(hurtCount > 100 / step)
  }

  /// Of pages that do not hold together nothing is written; the log has it all.
  @Test func anIndexInPiecesIsMendedByWhoOpensItNext() throws {
    let whole = try makeTemplate()
    // Where the page's free bytes begin and end.
    let page = try offset(ofValueIn: whole) / 4096 * 4096
    for offset in [12, 14, 16] {
      var hurt = whole
      hurt[page + offset] ^= 0x40
      try put(hurt)
      try replace("byte \(offset) of the page", isKnown: false)
    }
  }

  /// A key beside an entry whose record is gone differs from its key by a bit, as numbers in a row
  /// do: it is missing all the same, whether it never was or was removed.
  @Test func damageInTheLogCostsNoKeyBesideIt() throws {
    let cache = try place.openText()
    for key in [263, 265, 267, 300] {
      try cache.set("value of \(key)" + String(repeating: "x", count: 3000), forKey: key)
    }
    try cache.checkpoint()
    let log = StoreLog(place.url)
    let value = Data("value of 265".utf8)
    let segment = try #require(try log.segments(with: value).first)
    var bytes = try Data(contentsOf: segment)
    let start = try #require(bytes.range(of: value)).lowerBound
    bytes.replaceSubrange(start - 40..<start + 100, with: Data(count: 140))
    let handle = try FileHandle(forUpdating: segment)
    try handle.seek(toOffset: UInt64(start - 40))
    try handle.write(contentsOf: bytes[start - 40..<start + 100])
    try handle.close()
    #expect(errorCode { try cache.value(forKey: 265) } == .damaged)
    try cache.remove(forKey: 267)
    for isFlushed in [false, true] {
      if isFlushed { try cache.checkpoint() }
      for key in [264, 266, 267, 269, 257] {
        #expect(try cache.value(forKey: key) == nil, "\(key), \(isFlushed)")
        #expect(try !cache.contains(key), "\(key), \(isFlushed)")
      }
    }
    #expect(try cache.value(forKey: 263)?.hasPrefix("value of 263") == true)
  }

  /// Likewise where the damage is in the key of a copy that lies in the index.
  @Test func aDamagedCopyCostsNoKeyBesideIt() throws {
    let cache = try open()
    for key in [263, 265, 267, 300] { try cache.set("value of \(key)", forKey: key) }
    try cache.checkpoint()
    try cache.close()
    try FileManager.default.moveItem(at: place.url, to: template)
    let whole = try Data(contentsOf: template.appendingPathComponent(Self.index))
    let value = try #require(whole.range(of: Data("value of 265".utf8))).lowerBound
    // The copy's own, behind the one that the row is found by.
    let key = try KeyCoder<Int>.standard.encode(265)
    let copied = try #require(whole.range(of: key, options: .backwards, in: value - 100..<value))
    for bit in copied.lowerBound * 8..<copied.upperBound * 8 {
      var hurt = whole
      hurt[bit / 8] ^= 1 << UInt8(bit % 8)
      try put(hurt)
      let cache = try open()
      for key in [264, 257, 269] { #expect(try cache.value(forKey: key) == nil, "bit \(bit)") }
      #expect(errorCode { try cache.value(forKey: 265) } == .damaged, "bit \(bit)")
      try cache.close()
    }
  }

  /// A list merges what waits for a checkpoint with the index by their keys: a changed one brings
  /// nothing out of its place, and a list that stops before it has an error or no gap.
  @Test func whatWaitsIsListedInItsPlaceBesideAChangedKey() throws {
    let whole = try makeTemplate()
    let value = try offset(ofValueIn: whole)
    let key = try KeyCoder<Int>.standard.encode(150)
    let row = try #require(whole.range(of: key, in: value - 150..<value))
    let intact = keys.filter { $0 != 150 }
    for bit in row.lowerBound * 8..<row.upperBound * 8 {
      var hurt = whole
      hurt[bit / 8] ^= 1 << UInt8(bit % 8)
      try put(hurt)
      let cache = try open()
      for key in [5, 20, 140, 145, 155, 160, 250, 299] { try cache.set("new", forKey: key) }
      for limit in [100, 149, 150, 151, 250, 300] {
        let forward = Result { try cache.keys(order: .byKey, limit: limit) }
        let back = Result { try cache.entries(order: .byKeyDescending, limit: limit).map(\.key) }
        if case .success(let found) = forward {
          #expect(found == Array(intact.prefix(limit)), "bit \(bit), \(limit)")
        }
        if case .success(let found) = back {
          #expect(found == Array(intact.reversed().prefix(limit)), "bit \(bit), \(limit)")
        }
      }
      #expect(errorCode { try cache.keys() } == .damaged, "bit \(bit)")
      try? cache.close()
    }
  }
}
