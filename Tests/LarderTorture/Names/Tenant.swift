// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore

/// Something that may be asked of a handle.
struct Call {
  enum Effect {
    /// It reads or writes.
    case use
    /// The handle is not to be used afterwards.
    case close
    /// Nor are its files there afterwards.
    case delete
    case suspend, resume
  }

  let name: String
  var effect = Effect.use
  let body: () throws -> Void

  init(_ name: String, _ effect: Effect = .use, _ body: @escaping () throws -> Void) {
    self.name = name
    self.effect = effect
    self.body = body
  }
}

/// A handle of any kind.
protocol Tenant: AnyObject {
  var calls: [Call] { get }
}

/// What lies under a name.
enum Kind: String, CaseIterable {
  case archive, entries, cache, disk, log

  /// Opens what lies at a path, and creates it if it is missing. Nothing works there on its own:
  /// what changes, a call has changed.
  ///
  /// - Parameters:
  ///   - scratch: Where copies may go.
  func open(_ path: String, isReader: Bool, scratch: String, _ plant: Plant?) throws -> any Tenant {
    switch self {
    case .archive: try ArchiveTenant(path, isReader, plant)
    case .entries: try EntryTenant(path, isReader, plant)
    case .cache: try CacheTenant(path, isReader, plant)
    case .disk: try DiskTenant(path, isReader, scratch)
    case .log: try LogTenant(path, isReader)
    }
  }
}

/// An element of an archive.
private struct Note: Codable, Identifiable {
  var id: Int
  var text: String
}

private let text = String(repeating: "text ", count: 40)

private final class ArchiveTenant: Tenant {
  private let archive: Archive<Note>
  private let path: String
  private let isReader: Bool
  private let plant: Plant?
  private var feed: ChangeFeed<ArchiveChange<Note>>?
  private var count = 0

  init(_ path: String, _ isReader: Bool, _ plant: Plant?) throws {
    var configuration = ArchiveConfiguration()
    configuration.isReadOnly = isReader
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.autoTrimInterval = .zero
    configuration.journalCapacity = 1 << 20
    archive = try Archive(
      at: .path(path), indexes: [ArchiveIndex("text", \.text)], configuration: configuration)
    self.path = path
    self.isReader = isReader
    self.plant = plant
  }

  var calls: [Call] {
    let reading = [
      Call("count") { [self] in _ = try archive.filter { $0.id > 2 }.results() },
      Call("follow") { [self] in
        feed = try archive.changes(named: isReader ? "reader" : "writer")
        if let event = try feed?.next(timeout: .zero) { try feed?.acknowledge(event.token) }
        feed = nil
      },
      Call("verify") { [self] in _ = try archive.verify() },
      Call("close", .close) { [self] in try archive.close() },
      Call("suspend", .suspend) { [self] in try archive.suspend() },
      Call("resume", .resume) { [self] in try archive.resume() },
    ]
    if isReader { return reading }
    return reading + [
      Call("insert") { [self] in
        count += 1
        try archive.upsert(Note(id: count % 9, text: text))
      },
      Call("flush") { [self] in try archive.checkpoint() },
      Call("sync") { [self] in try archive.sync() },
      Call("destroy", .delete) { [self] in
        if plant != .destroysByPath { return try archive.destroy() }
        try? archive.close()
        try? FileManager.default.removeItem(atPath: path)
      },
    ]
  }
}

private final class EntryTenant: Tenant {
  private let cache: EntryCache<Int>
  private let path: String
  private let isReader: Bool
  private let plant: Plant?
  private var editor: EntryEditor?
  private var count = 0

  init(_ path: String, _ isReader: Bool, _ plant: Plant?) throws {
    var configuration = EntryCacheConfiguration()
    configuration.isReadOnly = isReader
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.autoTrimInterval = .zero
    configuration.journalCapacity = 1 << 20
    cache = try EntryCache(at: .path(path), valueCount: 2, version: 1, configuration: configuration)
    self.path = path
    self.isReader = isReader
    self.plant = plant
  }

  private func edit() throws {
    let spool = URL(fileURLWithPath: path + "/spool.1")
    if plant == .spoolsByPath { try? Data("spool".utf8).write(to: spool) }
    defer {
      if plant == .spoolsByPath { try? FileManager.default.removeItem(at: spool) }
    }
    editor = nil
    guard let begun = try cache.edit(100) else { return }
    try begun.set("head", at: 0)
    let writer = try begun.writer(at: 1)
    for _ in 0..<3 { try writer.write(Data(count: 100_000)) }
    // What fails to write fails the commit, too, when all is well again.
    editor = begun
  }

  var calls: [Call] {
    let reading = [
      Call("read") { [self] in _ = try cache.snapshot(forKey: 1)?.data(at: 0) },
      Call("close", .close) { [self] in try cache.close() },
      Call("suspend", .suspend) { [self] in try cache.suspend() },
      Call("resume", .resume) { [self] in try cache.resume() },
    ]
    if isReader { return reading }
    return reading + [
      Call("set") { [self] in
        count += 1
        try cache.setValues([Data(text.utf8), Data()], forKey: count % 9)
      },
      Call("edit") { [self] in
        editor?.abortUnlessCommitted()
        try edit()
      },
      Call("edit and commit") { [self] in
        editor?.abortUnlessCommitted()
        try edit()
        try editor?.commit()
        editor = nil
      },
      Call("commit") { [self] in
        defer { editor = nil }
        try editor?.commit()
      },
      Call("flush") { [self] in try cache.checkpoint() },
      Call("delete", .delete) { [self] in try cache.destroy() },
    ]
  }
}

private final class CacheTenant: Tenant {
  private let cache: Cache<Int, String>
  private let path: String
  private let isReader: Bool
  private let plant: Plant?
  private var count = 0

  init(_ path: String, _ isReader: Bool, _ plant: Plant?) throws {
    var configuration = CacheConfiguration<Int, String>()
    configuration.keepsHotKeys = true
    configuration.disk.isReadOnly = isReader
    configuration.disk.checkpointInterval = .zero
    configuration.disk.syncInterval = .zero
    configuration.disk.autoTrimInterval = .zero
    configuration.disk.journalCapacity = 1 << 20
    cache = try Cache(at: .path(path), configuration: configuration)
    self.path = path
    self.isReader = isReader
    self.plant = plant
  }

  var calls: [Call] {
    let reading = [
      Call("read") { [self] in _ = try cache.value(forKey: 1) },
      Call("close", .close) { [self] in
        try cache.close()
        if plant == .keepsHotKeysByPath {
          try? Data("hot".utf8).write(to: URL(fileURLWithPath: path + "/hot"))
        }
      },
      Call("suspend", .suspend) { [self] in try cache.suspend() },
      Call("resume", .resume) { [self] in try cache.resume() },
    ]
    if isReader { return reading }
    return reading + [
      Call("set") { [self] in
        count += 1
        try cache.set(text, forKey: count % 9)
      },
      Call("flush") { [self] in try cache.checkpoint() },
      Call("remove all") { [self] in try cache.removeAll() },
    ]
  }
}

private final class DiskTenant: Tenant {
  private let cache: DiskCache<Int, String>
  private let isReader: Bool
  private let scratch: String
  private var count = 0

  init(_ path: String, _ isReader: Bool, _ scratch: String) throws {
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.isReadOnly = isReader
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.autoTrimInterval = .zero
    configuration.journalCapacity = 1 << 20
    cache = try DiskCache(at: .path(path), configuration: configuration)
    self.isReader = isReader
    self.scratch = scratch
  }

  var calls: [Call] {
    let reading = [
      Call("read") { [self] in _ = try cache.value(forKey: 1) },
      Call("follow") { [self] in
        let feed = try cache.changes(named: isReader ? "reader" : "writer")
        if let event = try feed.next(timeout: .zero) { try feed.acknowledge(event.token) }
      },
      Call("forget the follower") { [self] in
        _ = try cache.changeLog.removeCursor(named: isReader ? "reader" : "writer")
      },
      Call("back up") { [self] in
        try? FileManager.default.removeItem(atPath: scratch)
        try cache.backup(to: scratch)
      },
      Call("verify") { [self] in _ = try cache.verify() },
      Call("close", .close) { [self] in try cache.close() },
      Call("suspend", .suspend) { [self] in try cache.suspend() },
      Call("resume", .resume) { [self] in try cache.resume() },
    ]
    if isReader { return reading }
    return reading + [
      Call("set") { [self] in
        count += 1
        try cache.set(text, forKey: count % 9)
      },
      Call("flush") { [self] in try cache.checkpoint() },
      Call("sync") { [self] in try cache.sync() },
    ]
  }
}

private final class LogTenant: Tenant {
  private let log: MessageLog<String>
  private let isReader: Bool

  init(_ path: String, _ isReader: Bool) throws {
    let url = URL(fileURLWithPath: path)
    self.isReader = isReader
    log =
      isReader
      ? try MessageLog(readingFrom: .url(url))
      : try MessageLog(
        at: .url(url), capacity: 64.kilobytes, whenFull: .overwriteOldest,
        configuration: MessageLogConfiguration(syncInterval: nil))
  }

  var calls: [Call] {
    let reading = [
      Call("read") { [self] in _ = try log.messages() },
      Call("close", .close) { [self] in try log.close() },
      Call("suspend", .suspend) { [self] in try log.suspend() },
      Call("resume", .resume) { [self] in try log.resume() },
    ]
    if isReader { return reading }
    return reading + [
      Call("append") { [self] in try log.append(text) },
      Call("append and sync") { [self] in try log.append(text, durability: .power) },
      Call("sync") { [self] in try log.sync() },
      Call("consume") { [self] in
        let consumer = try log.consumer(named: "one")
        if let next = try consumer.next() { try consumer.acknowledge(through: next.sequence) }
      },
    ]
  }
}
