// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// Names of earlier versions do what they did.
@Suite struct EarlierNamesTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @available(*, deprecated)
  @Test func storesAreFlushedAndDeleted() throws {
    let disk = try DiskCache<Int, String>(path: directory.file("disk").path)
    try disk.set("one", forKey: 1)
    try disk.flush()
    #expect(try disk.statistics.pendingCount == 0)
    let cache = Cache(name: "texts", tiers: [disk])
    try cache.set("two", forKey: 1)
    try cache.flush()
    try cache.close()
    let entries = try EntryCache<Int>(path: directory.file("entries").path, valueCount: 1)
    try entries.setValues([Data("one".utf8)], forKey: 1)
    try entries.delete()
    #expect(!FileManager.default.fileExists(atPath: entries.path))
  }

  @available(*, deprecated)
  @Test func figuresAndSettingsHaveTheirOldNames() throws {
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.flushInterval = .zero
    #expect(configuration.checkpointInterval == .zero && configuration.flushInterval == .zero)
    var archive = ArchiveConfiguration()
    archive.flushInterval = .seconds(2)
    #expect(archive.checkpointInterval == .seconds(2) && archive.flushInterval == .seconds(2))
    var entries = EntryCacheConfiguration()
    entries.flushInterval = .seconds(3)
    #expect(entries.checkpointInterval == .seconds(3) && entries.flushInterval == .seconds(3))
    let disk = try DiskCache<Int, String>(
      path: directory.file("disk").path, configuration: configuration)
    try disk.set("one", forKey: 1)
    try disk.checkpoint()
    let statistics: DiskCacheStatistics = try disk.statistics
    #expect(statistics.flushes == statistics.checkpoints && statistics.flushes > 0)
    #expect(statistics.flushFailures == 0)
    #expect(statistics.flushTime == statistics.checkpointTime)
    #expect(statistics.flushedVersion == statistics.indexedVersion)
    let report: DiskCacheReport = try disk.verify()
    #expect(report.isIntact)
    let order = DiskCacheOrder.byKeyDescending
    #expect(try disk.keys(order: order) == [1])
  }

  @available(*, deprecated)
  @Test func theSameAwaited() async throws {
    let disk = try DiskCache<Int, String>(path: directory.file("disk").path)
    try await disk.set("one", forKey: 1)
    try await disk.flush()
    #expect(try disk.statistics.pendingCount == 0)
    let cache = Cache(name: "texts", tiers: [disk])
    try await cache.flush()
    try await cache.close()
    let entries = try EntryCache<Int>(path: directory.file("entries").path, valueCount: 1)
    try await entries.delete()
    #expect(!FileManager.default.fileExists(atPath: entries.path))
  }
}
