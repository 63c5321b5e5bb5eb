// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// A value that is still the same: its life begins anew, on disk too, and it is not written again.
struct CacheRenewalTests {
  private let clock = CacheTestClock()
  private let folder: TemporaryDirectory
  private let tag = Data("tag".utf8)

  init() throws { folder = try TemporaryDirectory() }

  private func makeCache(
    _ change: (inout CacheConfiguration<Int, String>) -> Void = { _ in }
  ) throws -> Cache<Int, String> {
    try makeCacheOnDisk(in: folder, clock: clock) {
      $0.expiration = .seconds(100)
      $0.memory.staleIfError = .seconds(1000)
      change(&$0)
    }
  }

  /// Loads once, waits until that has expired, and is told that it is the same.
  private func renew(
    _ cache: Cache<Int, String>, after seconds: Double = 100,
    _ first: LoadedValue<String>? = nil,
    _ renewed: (OldValue<String>) -> LoadedValue<String> = { $0.unchanged() }
  ) throws -> (before: DiskCacheInfo<Int>, after: DiskCacheInfo<Int>) {
    let disk = try #require(cache.diskCache)
    let first = first ?? LoadedValue("one", extendedData: tag)
    _ = try cache.value(forKey: 1) { _ in first }
    let before = try #require(try disk.info(forKey: 1))
    clock.advance(seconds)
    let value = try cache.value(forKey: 1) { old in renewed(try #require(old)) }
    #expect(value == "one")
    return (before, try #require(try disk.info(forKey: 1)))
  }

  @Test(arguments: [false, true])
  func whatIsTheSameLivesAnewAndIsNotWritten(_ isReopened: Bool) throws {
    var cache = try makeCache()
    let (before, after) = try renew(cache)
    #expect(after.version == before.version)
    #expect(after.written == before.written + 100 && after.expires == before.written + 200)
    #expect(after.extendedData == tag)
    if isReopened {
      try cache.close()
      cache = try makeCache()
    }
    clock.advance(99)
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: 1) == "one")
    clock.advance(1)
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: 1) == nil)
    // Once more, and by no read.
    #expect(try cache.value(forKey: 1) { try #require($0).unchanged() } == "one")
    let again = try #require(try cache.diskCache?.info(forKey: 1))
    #expect(again.version == before.version && again.written == before.written + 200)
    #expect(again.lastUse == nil)
    let report = try #require(try cache.diskCache?.verify())
    #expect(report.isIntact)
  }

  @Test func aRefreshAsksAgainWhenThatIsDueAfterTheRenewal() throws {
    let cache = try makeCache { $0.memory.refreshAfter = .seconds(10) }
    let first = LoadedValue("one", extendedData: tag, refreshAfter: .seconds(20))
    let (before, after) = try renew(cache, after: 30, first) {
      $0.unchanged(refreshAfter: .seconds(20))
    }
    #expect(after.version == before.version && after.written == before.written + 30)
    cache.memoryCache.removeAll()
    clock.advance(19)
    #expect(try cache.value(forKey: 1) { _ in LoadedValue("early") } == "one")
    cache.memoryCache.removeAll()
    clock.advance(1)
    #expect(try cache.value(forKey: 1) { _ in LoadedValue("due") } == "due")
  }

  @Test func whatIsDifferentIsWritten() throws {
    let other = Data("other".utf8)
    let ways: [(LoadedValue<String>?, (OldValue<String>) -> LoadedValue<String>)] = [
      (nil, { $0.unchanged(extendedData: other) }),
      (nil, { $0.unchanged(expiration: .seconds(50)) }),
      (nil, { $0.unchanged(refreshAfter: .seconds(50)) }),
      (LoadedValue("one"), { $0.unchanged() }),
      (nil, { LoadedValue($0.value, extendedData: $0.extendedData) }),
      (
        LoadedValue("one", extendedData: tag, expiration: .afterAccess(.seconds(100))),
        { $0.unchanged(expiration: .afterAccess(.seconds(100))) }
      ),
    ]
    for (first, renewed) in ways {
      let cache = try makeCache()
      let (before, after) = try renew(cache, first, renewed)
      #expect(after.version > before.version && after.written == before.written + 100)
      try cache.remove(forKey: 1)
      try cache.close()
    }
  }

  /// Or what was given a short life would have that of the cache, or none.
  @Test(arguments: [true, false], [true, false])
  func whatItHadOfItsOwnItHasAgain(isInMemory: Bool, saysSo: Bool) throws {
    let cache = try makeCache()
    let first = LoadedValue("one", extendedData: tag, expiration: .seconds(30))
    let (before, after) = try renew(cache, after: 30, first) {
      saysSo ? $0.unchanged(expiration: .seconds(30)) : $0.unchanged()
    }
    #expect(after.version == before.version && after.expires == before.written + 60)
    for number in 3..<6 {
      if !isInMemory { cache.memoryCache.removeAll() }
      clock.advance(30)
      #expect(try cache.value(forKey: 1) { try #require($0).unchanged() } == "one")
      let again = try #require(try cache.diskCache?.info(forKey: 1))
      #expect(
        again.version == before.version && again.expires == before.written + Double(number) * 30)
    }
  }

  @Test(arguments: [true, false], [true, false])
  func whatWasToBeAskedForSoonerIsSoAgain(isInMemory: Bool, isReopened: Bool) throws {
    var cache = try makeCache { $0.memory.refreshAfter = .seconds(50) }
    let first = LoadedValue("one", extendedData: tag, refreshAfter: .seconds(20))
    _ = try cache.value(forKey: 1) { _ in first }
    for _ in 0..<3 {
      clock.advance(20)
      if isReopened {
        try cache.close()
        cache = try makeCache { $0.memory.refreshAfter = .seconds(50) }
      }
      if !isInMemory { cache.memoryCache.removeAll() }
      let value = try cache.value(forKey: 1) { old in
        #expect(old?.refreshAfter == .seconds(20) && old?.expiration == nil)
        return try #require(old).unchanged()
      }
      #expect(value == "one")
    }
    clock.advance(19)
    #expect(try cache.value(forKey: 1) { _ in LoadedValue("early") } == "one")
    clock.advance(1)
    #expect(try cache.value(forKey: 1) { _ in LoadedValue("due") } == "due")
  }

  @Test func whatIsNeverToExpireNeverDoes() throws {
    let cache = try makeCache { $0.memory.refreshAfter = .seconds(50) }
    _ = try cache.value(forKey: 1) { _ in
      LoadedValue("one", extendedData: tag, expiration: .never)
    }
    clock.advance(60)
    #expect(try cache.value(forKey: 1) { try #require($0).unchanged() } == "one")
    #expect(try cache.diskCache?.info(forKey: 1)?.expires == nil)
    cache.memoryCache.removeAll()
    clock.advance(60)
    #expect(try cache.value(forKey: 1) { try #require($0).unchanged() } == "one")
    #expect(try cache.diskCache?.info(forKey: 1)?.expires == nil)
    clock.advance(1000)
    #expect(try cache.value(forKey: 1) == "one")
  }
}
