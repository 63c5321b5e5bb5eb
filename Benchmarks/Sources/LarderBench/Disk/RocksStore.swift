// SPDX-License-Identifier: MIT
import Foundation

#if HAS_ROCKSDB
  import CRocksDB

  /// RocksDB by its C interface, with options objects made once, as its users do it.
  final class RocksStore {
    static let absence: String? = nil
    /// Its C interface does not tell.
    static let version = installedVersion(of: "rocksdb") ?? "of some version"

    private let options: OpaquePointer?
    private let writing: OpaquePointer?
    private let reading: OpaquePointer?
    private let database: OpaquePointer

    init(_ path: String, compresses: Bool = true, cacheBytes: Int = 256 << 20) throws {
      options = rocksdb_options_create()
      rocksdb_options_set_create_if_missing(options, 1)
      rocksdb_options_set_compression(
        options, Int32(compresses ? rocksdb_lz4_compression : rocksdb_no_compression))
      let table = rocksdb_block_based_options_create()
      // The table takes the filter over, and shares the cache.
      rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(10))
      let cache = rocksdb_cache_create_lru(cacheBytes)
      rocksdb_block_based_options_set_block_cache(table, cache)
      rocksdb_options_set_block_based_table_factory(options, table)
      rocksdb_cache_destroy(cache)
      rocksdb_block_based_options_destroy(table)
      writing = rocksdb_writeoptions_create()
      rocksdb_writeoptions_set_sync(writing, 0)
      reading = rocksdb_readoptions_create()
      var message: UnsafeMutablePointer<CChar>?
      guard let opened = rocksdb_open(options, path, &message) else {
        throw Self.failure(message)
      }
      database = opened
    }

    deinit {
      rocksdb_close(database)
      rocksdb_readoptions_destroy(reading)
      rocksdb_writeoptions_destroy(writing)
      rocksdb_options_destroy(options)
    }

    @inline(__always)
    func put(_ bytes: UnsafeRawBufferPointer, under key: Int) throws {
      var message: UnsafeMutablePointer<CChar>?
      withUnsafeBytes(of: key) { name in
        rocksdb_put(
          database, writing, name.bindMemory(to: CChar.self).baseAddress, name.count,
          bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, &message)
      }
      if message != nil { throw Self.failure(message) }
    }

    /// Gives the value to `body` where it lies: no copy is made.
    @inline(__always)
    func read<Result>(
      _ key: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws -> Result? {
      var message: UnsafeMutablePointer<CChar>?
      let slice = withUnsafeBytes(of: key) { name in
        rocksdb_get_pinned(
          database, reading, name.bindMemory(to: CChar.self).baseAddress, name.count, &message)
      }
      if message != nil { throw Self.failure(message) }
      guard let slice else { return nil }
      defer { rocksdb_pinnableslice_destroy(slice) }
      var length = 0
      let bytes = rocksdb_pinnableslice_value(slice, &length)
      return body(UnsafeRawBufferPointer(start: bytes, count: length))
    }

    /// Everything that is only in memory and the log goes to tables, which are synced, and the log
    /// is synced.
    func flushAndSync() throws {
      var message: UnsafeMutablePointer<CChar>?
      let flushing = rocksdb_flushoptions_create()
      rocksdb_flushoptions_set_wait(flushing, 1)
      rocksdb_flush(database, flushing, &message)
      rocksdb_flushoptions_destroy(flushing)
      if message == nil { rocksdb_flush_wal(database, 1, &message) }
      if message != nil { throw Self.failure(message) }
    }

    /// Makes everything written survive a power cut.
    func syncLog() throws {
      var message: UnsafeMutablePointer<CChar>?
      rocksdb_flush_wal(database, 1, &message)
      if message != nil { throw Self.failure(message) }
    }

    /// Waits until no thread of its own has anything to do.
    func settle() {
      let busy = [
        "rocksdb.num-running-compactions", "rocksdb.num-running-flushes",
        "rocksdb.compaction-pending", "rocksdb.mem-table-flush-pending",
      ]
      func isBusy() -> Bool {
        busy.contains { name in
          var value: UInt64 = 0
          return rocksdb_property_int(database, name, &value) == 0 && value > 0
        }
      }
      while isBusy() { usleep(1000) }
    }

    /// Gives the entries from `key` on, at most `limit`, to `body`, in the order of their bytes.
    func scan(
      from key: Int, limit: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) -> Int {
      let iterator = rocksdb_create_iterator(database, reading)
      defer { rocksdb_iter_destroy(iterator) }
      withUnsafeBytes(of: key) { name in
        rocksdb_iter_seek(iterator, name.bindMemory(to: CChar.self).baseAddress, name.count)
      }
      var count = 0
      while count < limit, rocksdb_iter_valid(iterator) != 0 {
        var keyLength = 0
        var length = 0
        let name = rocksdb_iter_key(iterator, &keyLength)
        let value = rocksdb_iter_value(iterator, &length)
        body(
          UnsafeRawBufferPointer(start: name, count: keyLength),
          UnsafeRawBufferPointer(start: value, count: length))
        count += 1
        rocksdb_iter_next(iterator)
      }
      return count
    }

    private static func failure(_ message: UnsafeMutablePointer<CChar>?) -> Failure {
      defer { rocksdb_free(message) }
      return Failure(
        description: "RocksDB: \(message.map { String(cString: $0) } ?? "no database")")
    }
  }
#else
  /// Stands in where RocksDB is not installed.
  final class RocksStore {
    static let absence: String? = "RocksDB is not installed (make bench-deps installs it)"
    static let version = "none"

    init(_ path: String, compresses: Bool = true, cacheBytes: Int = 0) throws {}
    func syncLog() throws {}
    func settle() {}
    func scan(
      from key: Int, limit: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) -> Int { 0 }
    func put(_ bytes: UnsafeRawBufferPointer, under key: Int) throws {}
    func read<Result>(_ key: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result? {
      nil
    }
    func flushAndSync() throws {}
  }
#endif

extension RocksStore: DurableStore {
  @inline(__always)
  func put(_ value: Int, under key: Int) throws {
    try withUnsafeBytes(of: value) { try put($0, under: key) }
  }

  @inline(__always)
  func read(_ key: Int) throws -> Int? {
    try read(key) { $0.count == 8 ? $0.loadUnaligned(as: Int.self) : 0 }
  }
}

/// RocksDB with bytes under its keys.
struct RocksDataStore: DurableStore {
  let store: RocksStore

  @inline(__always)
  func put(_ value: Data, under key: Int) throws {
    try value.withUnsafeBytes { try store.put($0, under: key) }
  }

  @inline(__always)
  func read(_ key: Int) throws -> Data? { try store.read(key) { Data($0) } }
}

extension Rival {
  static func rocksDB(_ what: String, compresses: Bool = true, does: String) -> Rival {
    Rival(
      name: "RocksDB \(what)",
      settings: """
        RocksDB \(RocksStore.version) by its C interface, write-ahead log on, sync off, \
        \(compresses ? "LZ4" : "no compression"), bloom filter of 10 bits, block cache of 256 MiB, \
        all else default; options objects made once, keys of 8 bytes, \(does)
        """,
      absence: RocksStore.absence)
  }
}

/// What pkg-config says; `nil` if it says nothing.
private func installedVersion(of library: String) -> String? {
  let pkgConfig = Process()
  pkgConfig.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  pkgConfig.arguments = ["pkg-config", "--modversion", library]
  let pipe = Pipe()
  pkgConfig.standardOutput = pipe
  pkgConfig.standardError = FileHandle.nullDevice
  do {
    try pkgConfig.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    pkgConfig.waitUntilExit()
    let text = String(decoding: output, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    return text.isEmpty ? nil : text
  } catch {
    return nil  // The table then says that it is not known.
  }
}
