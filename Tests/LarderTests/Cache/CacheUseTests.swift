// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What is read from memory alone counts as used on the disk below, too.
struct CacheUseTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("cache").path }

  init() throws { directory = try TemporaryDirectory() }

  /// Checkpoints come when they are asked for, or when more waits than a limit leaves room
  /// for.
  private func open(
    _ change: (inout CacheConfiguration<Int, Data>) -> Void
  ) throws -> (Cache<Int, Data>, DiskCache<Int, Data>) {
    var configuration = CacheConfiguration<Int, Data>()
    configuration.disk.checkpointInterval = .zero
    configuration.disk.syncInterval = .zero
    change(&configuration)
    let cache = try Cache(at: .path(path), configuration: configuration)
    return (cache, try #require(cache.diskCache))
  }

  private func value(_ key: Int) -> Data {
    Data(repeating: UInt8(truncatingIfNeeded: key), count: 1000)
  }

  /// The keys below 0 that are on the disk.
  private func hotKeys() throws -> [Int] {
    let disk = try DiskCache<Int, Data>(at: .path(path))
    defer { try? disk.close() }
    return try disk.keys(.range(Int.min..<0))
  }

  @Test(arguments: EvictionPolicy.allCases, [Int.max, 1000])
  func whatIsReadFromMemoryOutlivesAStreamOfNewKeys(
    policy: EvictionPolicy, countLimit: Int
  ) throws {
    let (cache, disk) = try open {
      $0.memory.policy = policy
      $0.memory.countLimit = countLimit
      $0.disk.sizeLimit = 1_000_000
    }
    for key in -100 ..< -50 { try cache.set(value(key), forKey: key) }
    for key in -50..<0 { try cache.set(value(key), forKey: key) }
    try disk.checkpoint()
    for key in 0..<12_000 {
      // Some ten of them between two checkpoints, each one sooner or later.
      if key.isMultiple(of: 10) {
        #expect(try cache.value(forKey: -1 - key / 10 % 50) != nil)
      }
      try disk.set(value(key), forKey: key)
      if key == 6000 {
        try cache.suspend()
        try cache.resume()
      }
      if key.isMultiple(of: 400) { try disk.checkpoint() }
    }
    try disk.checkpoint()
    #expect(cache.statistics.tiers[0].hits == 0)
    // Since it was suspended.
    #expect(try disk.statistics.evicted > 4000)
    #expect(try disk.statistics.usesDropped == 0)
    try cache.close()
    // Those that nobody read are gone, and the others there.
    #expect(try hotKeys() == Array(-50..<0))
  }

  @Test func theSameWithDefaultsAndAStreamThroughMemory() throws {
    var configuration = CacheConfiguration<Int, Data>()
    configuration.memory.countLimit = 500
    configuration.disk.sizeLimit = 4_000_000
    let cache = try Cache<Int, Data>(at: .path(path), configuration: configuration)
    for key in -100..<0 { try cache.set(value(key), forKey: key) }
    for key in 0..<40_000 {
      try cache.set(value(key), forKey: key)
      let hot = -1 - key % 100
      #expect(try cache.value(forKey: hot) == value(hot))
    }
    try cache.close()
    #expect(try hotKeys() == Array(-100..<0))
  }

  @Test func timeToLiveAfterAccessGoesOnFromTheReadInMemory() throws {
    let clock = CacheTestClock()
    let (cache, disk) = try open {
      $0.clock = clock.clock
      $0.disk.autoTrimInterval = .zero
    }
    for key in 1...2 {
      try cache.set(value(key), forKey: key, expiration: .afterAccess(.seconds(10)))
    }
    try disk.checkpoint()
    clock.advance(6)
    #expect(try cache.value(forKey: 1) != nil)
    clock.advance(3)
    // Three seconds after the read.
    try disk.checkpoint()
    clock.advance(6.9)
    #expect(try disk.peek(forKey: 1) != nil)
    #expect(try disk.peek(forKey: 2) == nil)
    clock.advance(0.1)
    #expect(try disk.peek(forKey: 1) == nil)
    try cache.close()
  }

  /// How an entry can leave memory before a checkpoint asks what was used.
  enum Leaving: CaseIterable {
    case evicted, trimmed, removed, removedWithAll
  }

  @Test(arguments: EvictionPolicy.allCases, Leaving.allCases)
  func aUseCountsAlthoughTheEntryLeftMemory(policy: EvictionPolicy, leaving: Leaving) throws {
    let clock = CacheTestClock()
    let (cache, disk) = try open {
      $0.clock = clock.clock
      $0.disk.autoTrimInterval = .zero
      $0.memory.policy = policy
      $0.memory.countLimit = 5
    }
    try cache.set(value(1), forKey: 1, expiration: .afterAccess(.seconds(60)))
    try disk.checkpoint()
    clock.advance(40)
    #expect(try cache.value(forKey: 1) != nil)
    switch leaving {
    case .evicted:
      for key in 2...50 {
        try cache.set(value(key), forKey: key)
        #expect(try cache.value(forKey: key) != nil)
      }
    case .trimmed: cache.memoryCache.trim(toCount: 0)
    case .removed: cache.memoryCache.remove(forKey: 1)
    case .removedWithAll: cache.memoryCache.removeAll()
    }
    #expect(!cache.memoryCache.contains(1))
    try disk.checkpoint()
    clock.advance(40)
    #expect(try cache.value(forKey: 1) != nil)
    clock.advance(60)
    #expect(try cache.value(forKey: 1) == nil)
    try cache.close()
  }

  @Test(arguments: [false, true])
  func whatIsCalledUnchangedLivesOnFromItsUses(isReopened: Bool) throws {
    let clock = CacheTestClock()
    func open() throws -> (Cache<Int, Data>, DiskCache<Int, Data>) {
      try self.open {
        $0.clock = clock.clock
        $0.disk.autoTrimInterval = .zero
        $0.memory.staleIfError = .seconds(50)
      }
    }
    var (cache, disk) = try open()
    try cache.set(value(1), forKey: 1, expiration: .afterAccess(.seconds(44)))
    try disk.checkpoint()
    clock.advance(50)
    if isReopened {
      try cache.close()
      (cache, disk) = try open()
    }
    let loaded = try cache.value(forKey: 1) { (old: OldValue<Data>?) throws -> LoadedValue<Data> in
      try #require(old).unchanged()
    }
    #expect(loaded == value(1))
    try disk.checkpoint()
    clock.advance(38)
    #expect(try cache.value(forKey: 1) != nil)
    try disk.checkpoint()
    #expect(try disk.info(forKey: 1)?.expires == clock.date + 44)
    clock.advance(11)
    #expect(try cache.value(forKey: 1) != nil)
    try cache.close()
  }

  @Test func readsInMemoryReachTheDiskWithoutAWrite() throws {
    let clock = CacheTestClock()
    let (cache, disk) = try open {
      $0.clock = clock.clock
      $0.disk.autoTrimInterval = .zero
      $0.disk.checkpointInterval = .milliseconds(5)
    }
    try cache.set(value(1), forKey: 1, expiration: .afterAccess(.seconds(10)))
    try disk.checkpoint()
    for _ in 1...3 {
      clock.advance(6)
      let flushes = try disk.statistics.checkpoints
      #expect(try cache.value(forKey: 1) != nil)
      try blockUntil { try disk.statistics.checkpoints != flushes }
      clock.advance(1)
      #expect(try disk.peek(forKey: 1) != nil)
    }
    try cache.close()
  }

  @Test func closingKeepsTheReadsInMemory() throws {
    let clock = CacheTestClock()
    func open() throws -> (Cache<Int, Data>, DiskCache<Int, Data>) {
      try self.open {
        $0.clock = clock.clock
        $0.disk.autoTrimInterval = .zero
      }
    }
    let (cache, disk) = try open()
    try cache.set(value(1), forKey: 1, expiration: .afterAccess(.seconds(10)))
    try disk.checkpoint()
    clock.advance(6)
    #expect(try cache.value(forKey: 1) != nil)
    try cache.close()
    clock.advance(6)
    let (again, _) = try open()
    #expect(try again.value(forKey: 1) != nil)
    try again.close()
  }

  @Test func readsOfTheDiskReachItWithoutAWrite() throws {
    let (cache, disk) = try open {
      $0.disk.countLimit = 100
      $0.disk.checkpointInterval = .milliseconds(5)
    }
    for key in 1...5 { try disk.set(value(key), forKey: key) }
    try disk.checkpoint()
    let flushes = try disk.statistics.checkpoints
    #expect(try disk.value(forKey: 1) != nil)
    try blockUntil { try disk.statistics.checkpoints != flushes }
    let copy = directory.file("copy").path
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let copied = try DiskCache<Int, Data>(at: .path(copy))
    #expect(try copied.keys(order: .leastRecentFirst) == [2, 3, 4, 5, 1])
    try copied.close()
    try cache.close()
  }

  @Test func readsThatThereIsNoRoomForAreCounted() throws {
    let (cache, disk) = try open { $0.disk.countLimit = 200_000 }
    let keys = 0..<100_000
    for key in keys { try cache.set(Data([1]), forKey: key) }
    try disk.checkpoint()
    let before = try disk.statistics.usesDropped
    for key in keys { #expect(try cache.value(forKey: key) != nil) }
    try disk.checkpoint()
    let dropped = try disk.statistics.usesDropped - before
    #expect((1..<50_000).contains(dropped))
    try cache.close()
  }

  @Test func aDiskThatOutlivesItsMemoryGoesOnAlone() throws {
    var (cache, disk): (Cache<Int, Data>?, DiskCache<Int, Data>) = try open {
      $0.disk.sizeLimit = 1_000_000
    }
    try cache?.set(value(1), forKey: 1)
    _ = try cache?.value(forKey: 1)
    cache = nil
    for key in 0..<3000 { try disk.set(value(key), forKey: key) }
    try disk.checkpoint()
    #expect(try disk.count == 1000)
    try disk.close()
  }
}
