// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// A folder for a cache, and a clock that stands still until it is moved.
struct DiskPlace {
  let directory: TemporaryDirectory
  let clock = DiskClock()

  init() throws { directory = try TemporaryDirectory() }

  var url: URL { directory.file("cache") }
  var path: String { url.path }

  /// Opens the cache there: it does nothing by itself, and little may wait for a checkpoint.
  func open<Key: Hashable & Sendable & Codable, Value: Sendable>(
    _ key: Key.Type, coder: Coder<Value>,
    _ change: (inout DiskCacheConfiguration<Key, Value>) -> Void = { _ in }
  ) throws -> DiskCache<Key, Value> {
    var configuration = DiskCacheConfiguration<Key, Value>()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 1 << 20
    configuration.clock = clock.clock
    change(&configuration)
    return try DiskCache(at: .path(path), coder: coder, configuration: configuration)
  }

  /// A cache of bytes under texts.
  func openData(
    _ change: (inout DiskCacheConfiguration<String, Data>) -> Void = { _ in }
  ) throws -> DiskCache<String, Data> {
    try open(String.self, coder: .data, change)
  }

  /// A cache of texts under numbers.
  func openText(
    _ change: (inout DiskCacheConfiguration<Int, String>) -> Void = { _ in }
  ) throws -> DiskCache<Int, String> {
    try open(Int.self, coder: .string, change)
  }

  /// The log, to look at and to damage.
  var log: StoreLog { StoreLog(url) }

  /// Changes a file's bytes behind the cache's back.
  func edit(_ file: URL, _ change: (inout Data) -> Void) throws {
    var bytes = try Data(contentsOf: file)
    change(&bytes)
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }
}

/// The calendar of a test.
final class DiskClock: Sendable {
  private let milliseconds = Locked(Int64(0))
  private let start = Locked(Date(timeIntervalSince1970: 1_800_000_000))

  var date: Date { start.withLock { $0 } + Double(milliseconds.withLock { $0 }) / 1000 }
  var clock: CacheClock {
    CacheClock(
      now: { .milliseconds(self.milliseconds.withLock { $0 }) }, date: { self.date })
  }

  func advance(_ seconds: Double) {
    milliseconds.withLock { $0 += Int64((seconds * 1000).rounded()) }
  }

  /// Sets the calendar, forwards or back.
  func set(_ date: Date) {
    milliseconds.withLock { $0 = 0 }
    start.withLock { $0 = date }
  }
}

/// What a cache keeps that is more than a number or a text.
struct DiskPage: Codable, Equatable, Sendable {
  var title: String
  var body: Data
  var visited: Date
  var links: [String: Int]?

  static let sample = DiskPage(
    title: "größe", body: Data([0, 1, 255]), visited: Date(timeIntervalSince1970: 1_234_567.125),
    links: ["a": 1, "b": -2])
}

extension DiskCache where Key == Int, Value == String {
  /// Stores values that are called like their keys.
  func fill(_ keys: some Sequence<Int>) throws {
    for key in keys { try set("\(key)", forKey: key) }
  }
}
