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
