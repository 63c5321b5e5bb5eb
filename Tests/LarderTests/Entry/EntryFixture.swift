// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport

/// A folder for a cache of entries, and a clock that stands still until it is moved.
struct EntryPlace {
  let directory: TemporaryDirectory
  let clock = DiskClock()

  init() throws { directory = try TemporaryDirectory() }

  var url: URL { directory.file("entries") }
  var path: String { url.path }

  var configuration: EntryCacheConfiguration {
    var configuration = EntryCacheConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 1 << 20
    configuration.clock = clock.clock
    var tuning = StoreTuning()
    tuning.isMaintainedByHost = true
    configuration.tuning = tuning
    return configuration
  }

  /// Opens the cache there: it does nothing by itself, and little may wait for a checkpoint.
  func open(
    values: Int = 2, version: Int = 100, at path: String? = nil,
    _ change: (inout EntryCacheConfiguration) -> Void = { _ in }
  ) throws -> EntryCache<String> {
    var configuration = configuration
    change(&configuration)
    return try EntryCache(
      at: .path(path ?? self.path), valueCount: values, version: version,
      configuration: configuration)
  }

  /// The files of a cache as a `kill -9` would leave them at this moment, in another folder.
  func afterKill(_ name: String = "after-kill") throws -> String {
    let copy = directory.file(name)
    try FileManager.default.copyItem(at: url, to: copy)
    return copy.path
  }

  /// The log, to look at and to damage.
  var log: StoreLog { StoreLog(url) }

  /// What is in the cache's folder.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }
}

extension EntryCache where Key == String {
  /// Stores texts.
  func set(_ key: String, _ values: String...) throws {
    try setValues(values.map { Data($0.utf8) }, forKey: key)
  }

  /// The values of an entry as texts; nil if there is none.
  func texts(_ key: String) throws -> [String?]? {
    guard let snapshot = try snapshot(forKey: key) else { return nil }
    return try (0..<snapshot.valueCount).map { try snapshot.string(at: $0) }
  }

  /// An editor that nobody stands in the way of.
  func editor(_ key: String) throws -> EntryEditor {
    guard let editor = try edit(key) else {
      throw LarderError(.conflict, "The key is being edited.")
    }
    return editor
  }
}

/// Bytes of which no two places look alike.
func entryBytes(_ count: Int, seed: UInt64 = 1) -> Data {
  var generator = SeededGenerator(seed: seed)
  return generator.bytes(count)
}

/// All that is in a stream.
func drain(_ stream: InputStream) -> Data {
  stream.open()
  defer { stream.close() }
  var bytes = Data()
  var buffer = [UInt8](repeating: 0, count: 1000)
  while true {
    let count = stream.read(&buffer, maxLength: buffer.count)
    if count <= 0 { return bytes }
    bytes.append(contentsOf: buffer[..<count])
  }
}
