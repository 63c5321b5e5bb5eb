// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The files of an older copy, put over those of a store: what is newer and still there is not lost
/// by what happens next, and what is not shown any more is said to be.
struct OlderFilesTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("store").path }
  private var copy: String { directory.file("copy").path }

  private func open() throws -> DiskCache<Int, Data> {
    var configuration = DiskCacheConfiguration<Int, Data>()
    configuration.checkpointInterval = .zero
    return try DiskCache(at: .path(path), configuration: configuration)
  }

  /// Writes versions, in order, so that no two values are the same.
  private func work(
    _ cache: DiskCache<Int, Data>, _ versions: inout [Int: Int], _ random: inout SeededGenerator
  ) throws {
    for _ in 0..<Int.random(in: 1...400, using: &random) {
      let key = Int.random(in: 0..<40, using: &random)
      let version = (versions.values.max() ?? 0) + 1
      if Int.random(in: 0..<200, using: &random) == 0 { try cache.checkpoint() }
      let rest = Data(count: Int.random(in: 0..<2000, using: &random))
      try cache.set(Data("\(version);".utf8) + rest, forKey: key)
      versions[key] = version
    }
  }

  private func versions(_ cache: DiskCache<Int, Data>) throws -> [Int: Int] {
    var found: [Int: Int] = [:]
    for key in 0..<40 {
      guard let value = try cache.value(forKey: key) else { continue }
      found[key] = Int(String(decoding: value.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self))
    }
    return found
  }

  private func salvaged(_ name: String) throws -> [Int: Int] {
    let target = directory.file(name).path
    _ = try DiskCache<Int, Data>.salvage(from: .path(path), to: .path(target))
    let cache = try DiskCache<Int, Data>(at: .path(target))
    defer { try? cache.close() }
    return try versions(cache)
  }

  private func files(_ path: String) throws -> [String] {
    let manager = FileManager.default
    return try manager.subpathsOfDirectory(atPath: path).filter { name in
      var isFolder: ObjCBool = false
      return manager.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }
  }

  @Test(arguments: 0..<effort(20, long: 500))
  func nothingIsLostUntold(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let manager = FileManager.default
    var all: [Int: Int] = [:]
    var cache = try open()
    try work(cache, &all, &random)
    let closesFirst = Bool.random(using: &random)
    // Nothing is made or deleted meanwhile.
    if closesFirst { try cache.close() } else { try cache.suspend() }
    try manager.copyItem(atPath: path, toPath: copy)
    if closesFirst { cache = try open() } else { try cache.resume() }
    let older = all
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      try work(cache, &all, &random)
      if Bool.random(using: &random) {
        try cache.close()
        cache = try open()
      }
    }
    // All of the copy, or some of its files alone.
    try cache.close()
    let isAll = Bool.random(using: &random)
    for name in try files(copy).sorted() where isAll || Bool.random(using: &random) {
      try? manager.removeItem(atPath: "\(path)/\(name)")
      try manager.copyItem(atPath: "\(copy)/\(name)", toPath: "\(path)/\(name)")
    }
    let before = try salvaged("before")
    do {
      cache = try open()
    } catch let error as LarderError {
      // Said, and nothing was done.
      #expect(try salvaged("refused") == before, "\(error)")
      return
    }
    let recovery = try cache.recovery
    // Of what is newer something has to be there still; what cannot be read is told by that.
    if before != older, let shown = try? versions(cache), shown != all {
      #expect(!recovery.isIntact || recovery.inconsistencies > 0, "\(seed)")
    }
    for round in 0..<2 {
      if round == 1 {
        try cache.set(Data(), forKey: 1000)
        try cache.checkpoint()
      }
      try cache.close()
      let after = try salvaged("after \(round)")
      for (key, version) in before {
        #expect((after[key] ?? 0) >= version, "seed \(seed), round \(round), key \(key)")
      }
      cache = try open()
    }
    try cache.close()
  }

  /// The index of a backup, which is another store, does not say what the log has.
  @Test(arguments: [20, 2000]) func theIndexOfABackupLeadsNoRepairAstray(size: Int) throws {
    let backup = directory.file("backup").path
    do {
      let cache = try open()
      for key in 0..<30 { try cache.set(Data("1;".utf8) + Data(count: size), forKey: key) }
      try cache.backup(to: backup)
      for key in 0..<20 { try cache.set(Data("2;".utf8) + Data(count: size), forKey: key) }
      try cache.close()
    }
    let data = "/data.mdb"
    try FileManager.default.removeItem(atPath: path + data)
    try FileManager.default.copyItem(atPath: backup + data, toPath: path + data)
    #expect(errorCode { try open() } == .damaged)
    let wanted = Dictionary(uniqueKeysWithValues: (0..<30).map { ($0, $0 < 20 ? 2 : 1) })
    #expect(try salvaged("salvaged") == wanted)
    let report = try DiskCache<Int, Data>.rebuild(at: .path(path))
    #expect(report.intact == 30 && report.lost == 0)
    do {
      let cache = try open()
      #expect(try versions(cache) == wanted)
      #expect(try cache.verify().isIntact)
      try cache.close()
    }
    // All of the backup's files, put beside those that are there.
    for name in try files(backup) {
      try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
      try FileManager.default.copyItem(atPath: "\(backup)/\(name)", toPath: "\(path)/\(name)")
    }
    _ = try DiskCache<Int, Data>.rebuild(at: .path(path))
    let cache = try open()
    #expect(try versions(cache).count == 30)
    #expect(try cache.verify().isIntact)
  }
}
