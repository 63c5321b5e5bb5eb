// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport

/// A status other than LARDER_OK.
struct StoreFailure: Error, Equatable, CustomStringConvertible {
  let status: Int

  var description: String { "\(status): \(String(cString: larder_strerror(Int32(status))))" }
}

/// Throws what is not LARDER_OK.
func check(_ status: larder_status) throws {
  if status != 0 { throw StoreFailure(status: Int(status)) }
}

/// The status that `body` fails with; LARDER_OK if it does not.
func status<R>(of body: () throws -> R) -> Int {
  do {
    _ = try body()
    return Int(LARDER_OK)
  } catch {
    return (error as? StoreFailure)?.status ?? Int.min
  }
}

/// The bytes as the C API takes them; they are valid inside `body`.
func withBytes<R>(_ bytes: [UInt8], _ body: (larder_bytes) throws -> R) rethrows -> R {
  try bytes.withUnsafeBytes { try body(larder_bytes(data: $0.baseAddress, length: $0.count)) }
}

extension larder_bytes {
  /// A copy.
  var array: [UInt8] { [UInt8](UnsafeRawBufferPointer(start: data, count: length)) }
}

/// A clock that a test sets.
final class StoreClock {
  var now: Int64
  init(_ now: Int64) { self.now = now }
}

/// An entry as read, copied.
struct StoreEntry: Equatable {
  var key: [UInt8]
  var value: [UInt8]
  var extended: [UInt8]
  var valueBytes: UInt64
  var sequence: UInt64
  var written: Int64
  var expires: Int64
  var idle: Int64
  var cost: UInt64
  /// It was read from a segment, and not from a row of the tree.
  var isInLog: Bool

  init(_ entry: larder_store_entry) {
    key = entry.key.array
    value = entry.value.array
    extended = entry.extended.array
    valueBytes = entry.value_bytes
    sequence = entry.sequence
    written = entry.written_ns
    expires = entry.expires_ns
    idle = entry.idle_ns
    cost = entry.cost
    isInLog = entry.flags & UInt32(LARDER_STORE_ENTRY_IN_LOG) != 0
  }
}

/// A store opened by the C API, with as little between as there can be.
final class Store {
  let pointer: OpaquePointer
  /// The C side holds it unretained.
  private let clock: StoreClock?
  private var isOpen = true

  /// Opens with little that may wait for a checkpoint and no thread; `set` changes what matters.
  init(
    _ url: URL, clock: StoreClock? = nil, detail: UnsafeMutablePointer<larder_store_detail>? = nil,
    tuning: larder_store_tuning = tuned { _ in },
    _ set: (inout larder_store_options) -> Void = { _ in }
  ) throws {
    self.clock = clock
    var options = larder_store_options()
    larder_store_options_init(&options)
    options.journal_bytes = 64 << 10
    options.flags = UInt32(LARDER_STORE_HOST_MAINTENANCE)
    if let clock {
      options.context = Unmanaged.passUnretained(clock).toOpaque()
      options.clock = { Unmanaged<StoreClock>.fromOpaque($0!).takeUnretainedValue().now }
    }
    set(&options)
    var opened: OpaquePointer?
    try withUnsafePointer(to: tuning) { tuning in
      options.tuning = tuning
      try check(larder_store_open(url.path, &options, detail, &opened))
    }
    pointer = opened!
  }

  deinit { close() }

  func close() {
    if isOpen { larder_store_close(pointer) }
    isOpen = false
  }

  @discardableResult
  func put(
    _ key: [UInt8], _ value: [UInt8], extended: [UInt8] = [], indexes: [(UInt16, [UInt8])] = [],
    _ set: (inout larder_store_item) -> Void = { _ in }
  ) throws -> UInt64 {
    // All bytes of index values in one place, so that pointers to them hold.
    let joined = indexes.flatMap(\.1)
    return try withBytes(key) { key in
      try withBytes(value) { value in
        try withBytes(extended) { extended in
          try joined.withUnsafeBytes { joined in
            var offset = 0
            let entries = indexes.map { index, value in
              defer { offset += value.count }
              return larder_store_index_entry(
                index: index,
                value: larder_bytes(
                  data: joined.baseAddress.map { $0 + offset }, length: value.count)
              )
            }
            return try entries.withUnsafeBufferPointer { entries in
              var item = larder_store_item()
              larder_store_item_init(&item, key, value)
              item.extended = extended
              item.indexes = entries.baseAddress
              item.index_count = entries.count
              set(&item)
              var sequence: UInt64 = 0
              try check(larder_store_put(pointer, &item, &sequence))
              return sequence
            }
          }
        }
      }
    }
  }

  func remove(_ key: [UInt8]) throws {
    try withBytes(key) { try check(larder_store_remove(pointer, $0, 0)) }
  }

  /// nil if there is none.
  func get(_ key: [UInt8], flags: Int = 0) throws -> StoreEntry? {
    try withBytes(key) { key in
      var entry = larder_store_entry()
      let status = larder_store_get(pointer, key, UInt32(flags), &entry)
      defer { larder_store_release(&entry) }
      if status == LARDER_ENOTFOUND { return nil }
      try check(status)
      return StoreEntry(entry)
    }
  }

  func flush() throws { try check(larder_store_flush(pointer)) }

  /// Writes what `fill` puts into a batch.
  func commit(_ fill: (OpaquePointer) throws -> Void) throws {
    var batch: OpaquePointer?
    try check(larder_store_batch_create(pointer, &batch))
    defer { larder_store_batch_destroy(batch) }
    try fill(batch!)
    try check(larder_store_batch_commit(batch!, 0, nil))
  }

  var figures: larder_store_statistics {
    get throws {
      var figures = larder_store_statistics()
      try check(larder_store_statistics_get(pointer, &figures))
      return figures
    }
  }

  func keys(_ set: (inout larder_store_query) -> Void = { _ in }) throws -> [[UInt8]] {
    var query = larder_store_query()
    larder_store_query_init(&query)
    set(&query)
    var cursor: OpaquePointer?
    try check(larder_store_cursor_open(pointer, &query, &cursor))
    defer { larder_store_cursor_close(cursor) }
    var keys: [[UInt8]] = []
    var entry = larder_store_entry()
    while true {
      let status = larder_store_cursor_next(cursor!, &entry)
      if status == LARDER_END { return keys }
      try check(status)
      keys.append(entry.key.array)
    }
  }

  /// A cursor over everything, by key.
  func cursor() throws -> OpaquePointer {
    var query = larder_store_query()
    larder_store_query_init(&query)
    var cursor: OpaquePointer?
    try check(larder_store_cursor_open(pointer, &query, &cursor))
    return cursor!
  }

  /// What a cursor has still to give.
  func values(of cursor: OpaquePointer) throws -> [[UInt8]] {
    var values: [[UInt8]] = []
    var entry = larder_store_entry()
    while true {
      let status = larder_store_cursor_next(cursor, &entry)
      if status == LARDER_END { return values }
      try check(status)
      values.append(entry.value.array)
    }
  }

  func values() throws -> [[UInt8]] {
    let cursor = try cursor()
    defer { larder_store_cursor_close(cursor) }
    return try values(of: cursor)
  }

  /// As larder_store_count gives it.
  func count(
    limit: UInt64 = UInt64.max, _ set: (inout larder_store_query) -> Void = { _ in }
  ) throws -> UInt64 {
    var query = larder_store_query()
    larder_store_query_init(&query)
    set(&query)
    var count: UInt64 = 0
    try check(larder_store_count(pointer, &query, limit, &count))
    return count
  }

  var totals: (count: UInt64, bytes: UInt64) {
    get throws {
      var count: UInt64 = 0
      var bytes: UInt64 = 0
      try check(larder_store_totals(pointer, &count, &bytes))
      return (count, bytes)
    }
  }

  /// Whether its own check finds nothing.
  var isSound: Bool {
    var report = larder_store_report()
    return larder_store_check(pointer, nil, nil, &report) == LARDER_OK
      && report.inconsistencies == 0
  }
}

/// The usual thresholds, but for what `set` changes.
func tuned(_ set: (inout larder_store_tuning) -> Void) -> larder_store_tuning {
  var tuning = larder_store_tuning()
  larder_store_tuning_init(&tuning)
  set(&tuning)
  return tuning
}

/// Segments of that size, and cleaning as soon as there is anything to clean.
func small(_ bytes: UInt64 = 4096, upTo most: UInt64? = nil) -> larder_store_tuning {
  tuned {
    $0.segment_min_bytes = bytes
    $0.segment_max_bytes = most ?? bytes
    $0.space_percent = 100
  }
}

/// Adds a write to a batch.
func put(_ key: [UInt8], _ value: [UInt8], in batch: OpaquePointer) throws {
  try withBytes(key) { key in
    try withBytes(value) { value in
      var item = larder_store_item()
      larder_store_item_init(&item, key, value)
      try check(larder_store_batch_put(batch, &item))
    }
  }
}

/// Copies every intact entry of the folder into a new store.
@discardableResult
func salvage(_ source: URL, to target: URL) throws -> larder_store_report {
  var report = larder_store_report()
  try check(larder_store_salvage(source.path, target.path, nil, nil, nil, &report))
  return report
}

extension String {
  var bytes: [UInt8] { [UInt8](utf8) }
}
