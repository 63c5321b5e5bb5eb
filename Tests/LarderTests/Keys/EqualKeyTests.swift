// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Keys that are equal in Swift are one key, in memory and on disk.
struct EqualKeyTests {
  private struct Thing: Codable, Identifiable, Equatable {
    var id: HiddenKey
    var value: Int
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func path(_ name: String) -> String { directory.url.path + "/" + name }

  private func expectOne<Key: Codable & Hashable & Sendable>(_ keys: [Key]) throws {
    let coder = KeyCoder<Key>.standard
    let bytes = try keys.map { try coder.encode($0) }
    #expect(Set(keys).count == 1 && Set(bytes).count == 1, "\(keys): \(bytes.map(Array.init))")
  }

  @Test func equalKeysHaveEqualBytes() throws {
    try expectOne(["é", "e\u{301}"])
    try expectOne(["\u{212B}", "Å", "A\u{30A}"])
    try expectOne(["각", "\u{1100}\u{1161}\u{11A8}", "가\u{11A8}"])
    try expectOne(["a\u{301}\u{323}", "a\u{323}\u{301}"])
    try expectOne([["é"], ["e\u{301}"]])
    try expectOne([0.0, -0.0])
    try expectOne([Float(0), -Float(0)])
    try expectOne([Double?.some(0), -0.0])
    let zeros = try ["0", "0.00", "0e5", "-0.0"].map { try #require(Decimal(string: $0)) }
    try expectOne(zeros)
    try expectOne(zeros.map { ["zero": [$0]] })
    try expectOne([["é": [0.0]], ["e\u{301}": [-0.0]]])
    try expectOne([HiddenKey.Part.text("é"), .text("e\u{301}")])
    try expectOne([HiddenKey.Part.place(x: 0, y: -0), .place(x: -0.0, y: 0)])
    try expectOne([HiddenKey.Name(rawValue: "é"), .init(rawValue: "e\u{301}")])
    #expect(
      try KeyCoder<HiddenKey.Name>.rawValue(.string).encode(.init(rawValue: "e\u{301}"))
        == Data("é".utf8))
  }

  @Test func equalityOfKeysAndOfBytesIsTheSame() throws {
    var keys = EqualKeys(seed: 71)
    for _ in 0..<3000 {
      let comment: Comment = "seed \(keys.generator.seed)"
      let (a, b) = (keys.text(), keys.text())
      #expect(try (a == b) == (KeyCoder.string.encode(a) == KeyCoder.string.encode(b)), comment)
      let (c, d) = (keys.hidden(), keys.hidden())
      let coder = KeyCoder<HiddenKey>.standard
      #expect(try (c == d) == (coder.encode(c) == coder.encode(d)), comment)
      #expect(try coder.decode(coder.encode(c)) == c, comment)
    }
  }

  @Test func aDiskCacheAnswersAsMemoryDoes() throws {
    var keys = EqualKeys(seed: 72)
    let disk = try DiskCache<HiddenKey, Int>(at: .path(path("disk")))
    let both = try Cache<HiddenKey, Int>(at: .path(path("both")))
    let memory = MemoryCache<HiddenKey, Int>()
    for step in 0..<effort(1000, long: 4000) {
      let comment: Comment = "seed \(keys.generator.seed) step \(step)"
      let key = keys.hidden()
      switch Int.random(in: 0..<8, using: &keys.generator) {
      case 0, 1:
        memory.set(step, forKey: key)
        try disk.set(step, forKey: key)
        try both.set(step, forKey: key)
      case 2:
        memory.remove(forKey: key)
        try disk.remove(forKey: key)
        try both.remove(forKey: key)
      case 3:
        let other = keys.hidden()
        memory.set(step, forKey: other)
        memory.remove(forKey: key)
        try disk.batch { batch in
          try batch.set(step, forKey: other)
          try batch.remove(forKey: key)
        }
        try both.set(step, forKey: other)
        try both.remove(forKey: key)
      case 4:
        memory.update(forKey: key) { $0 = ($0 ?? 0) + 1 }
        try disk.update(forKey: key) { $0 = ($0 ?? 0) + 1 }
        try both.update(forKey: key) { $0 = ($0 ?? 0) + 1 }
      default: break
      }
      #expect(try disk.value(forKey: key) == memory.value(forKey: key), comment)
      #expect(try both.value(forKey: key) == memory.value(forKey: key), comment)
      if step % 500 == 0 { try disk.checkpoint() }
    }
    #expect(try Set(disk.keys()) == Set(memory.keys()) && disk.count == memory.count)
  }

  @Test func entriesAndArchivesAnswerAsMemoryDoes() throws {
    var keys = EqualKeys(seed: 73)
    let entries = try EntryCache<String>(at: .path(path("entries")), valueCount: 1)
    let archive = try Archive<Thing>(at: .path(path("archive")))
    let texts = MemoryCache<String, Data>()
    let things = MemoryCache<HiddenKey, Thing>()
    for step in 0..<2000 {
      let comment: Comment = "seed \(keys.generator.seed) step \(step)"
      let (text, key) = (keys.text(), keys.hidden())
      let (data, thing) = (Data("\(step)".utf8), Thing(id: key, value: step))
      switch Int.random(in: 0..<5, using: &keys.generator) {
      case 0, 1:
        texts.set(data, forKey: text)
        try entries.setValues([data], forKey: text)
        things.set(thing, forKey: key)
        try archive.upsert(thing)
      case 2:
        let wasThere = texts.remove(forKey: text) != nil
        #expect(try entries.remove(forKey: text) == wasThere, comment)
        things.remove(forKey: key)
        try archive.delete(id: key)
      case 3:
        if let editor = try entries.edit(text) {
          try editor.set(data, at: 0)
          try editor.commit()
          texts.set(data, forKey: text)
        }
      default: break
      }
      #expect(try entries.snapshot(forKey: text)?.data(at: 0) == texts.value(forKey: text), comment)
      #expect(try archive.element(forID: key)?.value == things.value(forKey: key)?.value, comment)
    }
    #expect(try entries.count == texts.count)
    #expect(try archive.elements().count == things.count)
  }

  @Test func rangesAndPrefixesTakeAnyForm() throws {
    let cache = try DiskCache<String, Int>(at: .path(path("a")))
    for (number, key) in ["éa", "e\u{301}b", "ez", "f", "êa"].enumerated() {
      try cache.set(number, forKey: key)
    }
    for prefix in ["é", "e\u{301}"] {
      #expect(try cache.keys(.prefix(prefix)) == ["éa", "éb"])
      #expect(try cache.keys(.range("\(prefix)b"...)) == ["éb", "êa"])
      #expect(try cache.keys(.range(..."\(prefix)a")) == ["ez", "f", "éa"])
    }
    #expect(try cache.keys(.prefix("e")) == ["ez"])
    #expect(try cache.remove(prefix: "e\u{301}") == 2)
    #expect(try cache.count == 3)
  }

  // MARK: - Not-a-number

  @Test func notANumberIsNoKey() throws {
    struct Numbered: Codable, Identifiable { var id: Double }
    for key in [Double.nan, -.nan, .signalingNaN] {
      let disk = try DiskCache<Double, Int>(at: .path(path("nan")))
      #expect(errorCode { try disk.set(1, forKey: key) } == .encoding)
      #expect(errorCode { try disk.value(forKey: key) } == .encoding)
      #expect(errorCode { try disk.remove(forKey: key) } == .encoding)
      #expect(errorCode { try disk.contains(key) } == .encoding)
      #expect(errorCode { try disk.batch { try $0.set(1, forKey: key) } } == .encoding)
      #expect(errorCode { try disk.update(forKey: key) { $0 = 1 } } == .encoding)
      #expect(errorCode { try disk.values(forKeys: [key]) } == .encoding)
      #expect(try disk.isEmpty)
      let entries = try EntryCache<[Double]>(at: .path(path("entries")), valueCount: 1)
      #expect(errorCode { try entries.setValues([Data()], forKey: [key]) } == .encoding)
      #expect(errorCode { try entries.snapshot(forKey: [key]) } == .encoding)
      #expect(errorCode { try entries.edit([key]) } == .encoding)
      let archive = try Archive<Numbered>(at: .path(path("archive")))
      #expect(errorCode { try archive.upsert(Numbered(id: key)) } == .encoding)
      #expect(errorCode { try archive.element(forID: key) } == .encoding)
      #expect(errorCode { try archive.delete(id: key) } == .encoding)
      let both = try Cache<Double, Int>(at: .path(path("both")))
      #expect(errorCode { try both.set(1, forKey: key) } == .encoding)
      #expect(errorCode { try both.value(forKey: key) } == .encoding)
      #expect(errorCode { try both.value(forKey: key) { 1 } } == .encoding)
      #expect(errorCode { try both.remove(forKey: key) } == .encoding)
      #expect(errorCode { try both.update(forKey: key) { $0 = 1 } } == .encoding)
      try both.close()
    }
  }

  @Test func notANumberIsLoadedByNobody() async throws {
    let both = try Cache<Double, Int>(at: .path(path("both")))
    await #expect(throws: LarderError.self) { try await both.value(forKey: .nan) { 1 } }
    await #expect(throws: LarderError.self) { try await both.set(1, forKey: .nan) }
    try await both.close()
  }

  @Test func notANumberWaitsForNoTier() async throws {
    var configuration = CacheConfiguration<Double, Int>()
    configuration.writePolicy = .writeBack()
    let both = try Cache<Double, Int>(at: .path(path("both")), configuration: configuration)
    await #expect(throws: LarderError.self) { try await both.set(1, forKey: .nan) }
    await #expect(throws: LarderError.self) { try await both.update(forKey: .nan) { $0 = 1 } }
    await #expect(throws: LarderError.self) { try await both.remove(forKey: .nan) }
    try await both.close()
  }

  @Test func notANumberIsNeverFoundInMemory() {
    let memory = MemoryCache<Double, Int>(countLimit: 3)
    for number in 0..<10 { memory.set(number, forKey: .nan) }
    #expect(memory.value(forKey: .nan) == nil && memory.count <= 3)
    #expect(errorCode { try memory.value(forKey: .nan) { 1 } } == .encoding)
    memory.remove(forKey: .nan)
    memory.removeAll()
    #expect(memory.isEmpty)
  }
}
