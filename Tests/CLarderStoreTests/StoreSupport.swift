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
  var isSpilled: Bool

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
    isSpilled = entry.flags & UInt32(LARDER_STORE_ENTRY_SPILLED) != 0
  }
}

/// A store opened by the C API, with as little between as there can be.
final class Store {
  let pointer: OpaquePointer
  /// The C side holds it unretained.
  private let clock: StoreClock?
  private var isOpen = true

  /// Opens with a small journal and no thread; `set` changes what matters.
  init(
    _ url: URL, clock: StoreClock? = nil, detail: UnsafeMutablePointer<larder_store_detail>? = nil,
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
    try check(larder_store_open(url.path, &options, detail, &opened))
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
    return larder_store_check(pointer, nil, nil, &report) == LARDER_OK && report.orphans == 0
  }
}

extension String {
  var bytes: [UInt8] { [UInt8](utf8) }
}
