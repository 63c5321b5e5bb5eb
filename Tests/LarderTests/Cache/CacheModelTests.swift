// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Thousands of seeded calls against a dictionary, over disks and tiers that fail, with
/// restarts.
struct CacheModelTests {
  private struct Item: Equatable {
    var value: String
    var cost: Int?
    var extendedData: Data?
    var deadline: Date?
  }

  /// A cache that is compared with a dictionary after every call.
  private final class Driver {
    let path: String
    let clock = CacheTestClock()
    let isWriteBack: Bool
    let far: FakeTier<String, String>?
    var cache: Cache<String, String>
    var model: [String: Item] = [:]
    var random: SeededGenerator

    init(path: String, isWriteBack: Bool, hasFar: Bool, seed: UInt64) throws {
      self.path = path
      self.isWriteBack = isWriteBack
      far = hasFar ? FakeTier("far", clock: clock.clock) : nil
      random = SeededGenerator(seed: seed)
      cache = try Self.open(path, clock, isWriteBack, far)
    }

    static func open(
      _ path: String, _ clock: CacheTestClock, _ isWriteBack: Bool, _ far: FakeTier<String, String>?
    ) throws -> Cache<String, String> {
      var configuration = CacheConfiguration<String, String>()
      configuration.clock = clock.clock
      configuration.memory.countLimit = 20
      configuration.memory.cost = { _, _ in 0 }
      configuration.disk.inlineThreshold = 64
      configuration.disk.journalCapacity = 1 << 18
      configuration.disk.autoTrimInterval = .zero
      configuration.negativeLifetime = .seconds(50)
      if isWriteBack { configuration.writePolicy = .writeBack(queueLimit: 8) }
      if let far { configuration.furtherTiers = [far] }
      return try Cache(at: .path(path), configuration: configuration)
    }

    func makeKey() -> String {
      "\(["a", "b", "c"].randomElement(using: &random)!)/\(Int.random(in: 0..<15, using: &random))"
    }

    func makeItem() -> Item {
      let length = [0, 3, 64, 65, 500].randomElement(using: &random)!
      let letter = Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random)))
      return Item(
        value: String(repeating: letter, count: length),
        cost: Bool.random(using: &random) ? Int.random(in: 0...9, using: &random) : nil,
        extendedData: Int.random(in: 0..<3, using: &random) == 0 ? Data([1, 2]) : nil)
    }

    func expected(_ key: String) -> Item? {
      guard let item = model[key] else { return nil }
      if let deadline = item.deadline, clock.date >= deadline {
        model[key] = nil
        return nil
      }
      return item
    }

    func step() throws {
      let key = makeKey()
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<30:
        #expect(try cache.value(forKey: key) == expected(key)?.value, "seed \(random.seed)")
      case 30..<60: try set(key)
      case 60..<70:
        try cache.remove(forKey: key)
        model[key] = nil
      case 70..<75:
        #expect(try cache.contains(key) == (expected(key) != nil), "seed \(random.seed)")
      case 75..<79:
        let both = try cache.valueWithExtendedData(forKey: key)
        #expect(both?.value == expected(key)?.value, "seed \(random.seed)")
        #expect(both?.extendedData == expected(key)?.extendedData, "seed \(random.seed)")
      case 79..<84: try update(key)
      case 84..<88: try load(key)
      case 88..<92: clock.advance(Double(Int.random(in: 1...20, using: &random)))
      case 92..<95: cache.memoryCache.removeAll()
      case 95: try cache.checkpoint()
      case 96:
        let prefix = String(key.prefix(2))
        try cache.remove(prefix: prefix)
        model = model.filter { !$0.key.hasPrefix(prefix) }
      case 97:
        if Int.random(in: 0..<4, using: &random) == 0 {
          try cache.removeAll()
          model = [:]
        }
      case 98: try fail(key)
      default: try restart()
      }
    }

    private func set(_ key: String) throws {
      var item = makeItem()
      var expiration: Expiration?
      if Int.random(in: 0..<3, using: &random) == 0 {
        let seconds = Int.random(in: 1...40, using: &random)
        expiration = .seconds(Double(seconds))
        item.deadline = clock.date + Double(seconds)
      }
      try cache.set(
        item.value, forKey: key, cost: item.cost, extendedData: item.extendedData,
        expiration: expiration)
      model[key] = item
    }

    private func update(_ key: String) throws {
      let old = expected(key)
      try cache.update(forKey: key) { value in
        #expect(value == old?.value, "seed \(random.seed)")
        value = value.map { String($0.suffix(100)) + "+" }
      }
      if var old {
        old.value = String(old.value.suffix(100)) + "+"
        old.deadline = nil
        model[key] = old
      }
    }

    private func load(_ key: String) throws {
      let old = expected(key)
      let item = makeItem()
      let finds = Bool.random(using: &random)
      let found = try cache.valueIfFound(forKey: key, cost: item.cost) {
        finds ? item.value : nil
      }
      guard old == nil else {
        #expect(found == old?.value, "seed \(random.seed)")
        return
      }
      // It may be known that there is nothing.
      #expect(found == nil || (finds && found == item.value), "seed \(random.seed)")
      if let found { model[key] = Item(value: found, cost: item.cost) }
    }

    /// A write that the last tier refuses leaves what was there, or nothing.
    private func fail(_ key: String) throws {
      guard let far, !isWriteBack else { return }
      let old = expected(key)
      far.fail(.write)
      #expect(throws: CacheTestFailure()) { try cache.set("refused", forKey: key) }
      #expect(try cache.value(forKey: key) == old?.value, "seed \(random.seed)")
    }

    private func restart() throws {
      try cache.close()
      far?.state.withLock { $0.isClosed = false }
      cache = try Self.open(path, clock, isWriteBack, far)
    }

    /// Everything that is there, and its cost when it comes back into memory.
    func compareAll() throws {
      try cache.checkpoint()
      cache.memoryCache.removeAll()
      cache.memoryCache.countLimit = .max
      var cost = 0
      for prefix in ["a", "b", "c"] {
        for number in 0..<15 {
          let key = "\(prefix)/\(number)"
          let item = expected(key)
          #expect(try cache.value(forKey: key) == item?.value, "seed \(random.seed)")
          cost += item?.cost ?? 0
        }
      }
      #expect(cache.memoryCache.totalCost == cost, "seed \(random.seed)")
      let report = try #require(try cache.diskCache?.verify())
      #expect(report.isIntact, "seed \(random.seed)")
    }
  }

  @Test(arguments: [false, true], [false, true])
  func cacheDoesWhatADictionaryDoes(isWriteBack: Bool, hasFar: Bool) throws {
    let directory = try TemporaryDirectory()
    let driver = try Driver(
      path: directory.file("model").path, isWriteBack: isWriteBack, hasFar: hasFar,
      seed: 5 + (isWriteBack ? 1 : 0) + (hasFar ? 2 : 0))
    for _ in 0..<4000 { try driver.step() }
    try driver.compareAll()
    try driver.cache.close()
  }
}
