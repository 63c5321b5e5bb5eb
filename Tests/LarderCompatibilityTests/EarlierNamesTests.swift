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
    let disk = try DiskCache<Int, String>(at: .path(directory.file("disk").path))
    try disk.set("one", forKey: 1)
    try disk.flush()
    #expect(try disk.statistics.pendingCount == 0)
    let cache = Cache(name: "texts", tiers: [disk])
    try cache.set("two", forKey: 1)
    try cache.flush()
    try cache.close()
    let entries = try EntryCache<Int>(at: .path(directory.file("entries").path), valueCount: 1)
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
      at: .path(directory.file("disk").path), configuration: configuration)
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
    let disk = try DiskCache<Int, String>(at: .path(directory.file("disk").path))
    try await disk.set("one", forKey: 1)
    try await disk.flush()
    #expect(try disk.statistics.pendingCount == 0)
    #expect(try await disk.trim(toCost: 0) == 1)
    let cache = Cache(name: "texts", tiers: [disk])
    try await cache.flush()
    try await cache.close()
    let entries = try EntryCache<Int>(at: .path(directory.file("entries").path), valueCount: 1)
    try await entries.delete()
    #expect(!FileManager.default.fileExists(atPath: entries.path))
    let archive = try Archive<Item>(at: .url(directory.file("archive")))
    try await archive.setMaximumDiskSize(1.megabytes)
    try await archive.insert(Item(id: 1))
    #expect(try await archive.ids(limitedBy: 1) == [1])
    #expect(try await archive.unindexedIDs(limitedBy: 1).isEmpty)
    #expect(archive.sizeLimit == 1.megabytes)
  }

  @available(*, deprecated)
  @Test func logsAreOpenedByTheURLOfTheirFile() throws {
    let (url, other) = (directory.file("log"), directory.file("other"))
    let bytes = try #require(MessageLog<String>.maximumBytes(forMessages: 4, ofSize: 8))
    #expect(MessageLog<String>.capacity(forMessages: 4, ofSize: 8)?.bytes == Int(bytes))
    try MessageLog<String>(
      fileURL: url, maximumBytes: bytes, whenFull: .refuse, coder: .string
    ).append("one")
    #expect(try MessageLog(readingFrom: url, coder: .string).messages() == ["one"])
    try MessageLog<String>.resize(fileURL: url, toMaximumBytes: 2 * bytes)
    #expect(try MessageLog<String>.salvage(from: url, to: other).intact == 1)
    #expect(try MessageLog(readingFrom: other, coder: .string).statistics.capacity == 2 * bytes)
    let typed = directory.file("typed")
    try MessageLog<Int>(fileURL: typed, maximumBytes: 1 << 16, whenFull: .refuse).append(1)
    #expect(try MessageLog<Int>(readingFrom: typed).messages() == [1])
  }

  @available(*, deprecated)
  @Test func countsSizesAndLimitsHaveTheirOldNames() throws {
    var configuration = DiskCacheConfiguration<Int, String>()
    #expect(configuration.costLimit == .max)
    configuration.costLimit = 100
    #expect(configuration.sizeLimit == 100)
    let disk = try DiskCache<Int, String>(
      at: .url(directory.file("disk")), configuration: configuration)
    try disk.set("one", forKey: 1)
    #expect(try disk.totalCount == 1 && disk.totalCost == disk.size.bytes)
    #expect(try disk.statistics.cost == disk.totalCost && disk.costLimit == 100)
    disk.costLimit = .max
    #expect(disk.sizeLimit == nil && disk.costLimit == .max)
    #expect(try disk.trim(toCost: 100) == 0)
    let memory = MemoryCache<Int, String>()
    memory.set("one", forKey: 1)
    #expect(memory.totalCount == 1)

    var settings = EntryCacheConfiguration()
    settings.byteLimit = 100
    #expect(settings.sizeLimit == 100 && settings.byteLimit == 100)
    let entries = try EntryCache<Int>(
      at: .url(directory.file("entries")), valueCount: 1, configuration: settings)
    entries.byteLimit = -1
    #expect(entries.sizeLimit == -1 && entries.byteLimit == 0)

    var sizes = ArchiveConfiguration()
    sizes.maximumDiskSize = 2.megabytes
    sizes.maximumMemorySize = 1.megabytes
    #expect(sizes.sizeLimit == 2.megabytes && sizes.memorySizeLimit == 1.megabytes)
    #expect(sizes.maximumDiskSize == 2.megabytes && sizes.maximumMemorySize == 1.megabytes)
    let archive = try Archive<Item>(at: .url(directory.file("archive")), configuration: sizes)
    try archive.insert(Item(id: 1))
    #expect(try archive.currentDiskSize == archive.size && archive.size > .zero)
    #expect(archive.currentMemorySize == archive.memorySize)
    #expect(try archive.ids(limitedBy: 1) == [1] && archive.unindexedIDs(limitedBy: 1).isEmpty)
    try archive.setMaximumDiskSize(3.megabytes)
    #expect(archive.maximumDiskSize == 3.megabytes)
    try archive.setMaximumDiskSize(nil)
    archive.maximumMemorySize = .zero
    #expect(archive.sizeLimit == nil && archive.maximumMemorySize == .zero)
  }

  private struct Item: Codable, Identifiable, Sendable { var id: Int }

  /// Each is one folder with what `at:` opens.
  @available(*, deprecated)
  @Test func storesAreOpenedByTheirPath() throws {
    func path(_ name: String) -> String { directory.file(name).path }
    try DiskCache<Int, String>(path: path("1"), coder: .string, keyCoder: .standard)
      .set("one", forKey: 1)
    #expect(try DiskCache<Int, String>(path: path("1"), coder: .string).value(forKey: 1) == "one")
    try DiskCache<Int, String>(path: path("2")).set("two", forKey: 2)
    #expect(try DiskCache<Int, String>(at: .path(path("2"))).value(forKey: 2) == "two")
    try DiskCache<Int, Data>(path: path("3")).set(Data([3]), forKey: 3)
    #expect(try DiskCache<Int, Data>(at: .path(path("3"))).value(forKey: 3) == Data([3]))
    try Cache<Int, String>(path: path("4"), coder: .string, keyCoder: .standard).close()
    try Cache<Int, String>(path: path("4"), coder: .string).close()
    try Cache<Int, String>(path: path("5")).close()
    try Cache<Int, Data>(path: path("6")).close()
    try EntryCache<Int>(path: path("7"), valueCount: 1, keyCoder: .standard).close()
    try EntryCache<Int>(path: path("7"), valueCount: 1).close()
    try Archive<Item>(path: path("8"), coder: .cbor).insert(Item(id: 8))
    #expect(try Archive<Item>(path: path("8")).element(forID: 8) != nil)
    #expect(errorCode { try DiskCache<Int, String>(name: "a/b") } == .invalidArgument)
    #expect(errorCode { try Cache<Int, Data>(name: "a/b") } == .invalidArgument)
    #expect(errorCode { try EntryCache<Int>(name: "a/b", valueCount: 1) } == .invalidArgument)
    #expect(errorCode { try Archive<Item>(name: "a/b") } == .invalidArgument)
  }

  @available(*, deprecated)
  @Test func closedCachesAreMendedByTheirPath() throws {
    let path = directory.file("disk").path
    try DiskCache<Int, String>(at: .path(path)).set("one", forKey: 1)
    let compaction: DiskCacheCompaction = try DiskCache<Int, String>.compact(path: path)
    #expect(compaction.logSize > 0)
    #expect(try DiskCache<Int, String>.rebuild(path: path).isIntact)
    let rescued: String = directory.file("rescued").path
    #expect(try DiskCache<Int, String>.salvage(from: path, to: rescued).intact == 1)
    try DiskCache<Int, String>.delete(path: path)
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
