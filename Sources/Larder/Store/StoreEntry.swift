// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
public import Foundation
import LarderCore

/// An entry that a store lends: valid until the body that got it returns.
@usableFromInline
struct StoreEntry {
  var raw: larder_store_entry

  /// The key's bytes.
  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(raw.key) }

  /// The value's bytes.
  @usableFromInline
  var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(raw.value) }

  /// The extended data's bytes.
  @usableFromInline
  var extended: UnsafeRawBufferPointer { UnsafeRawBufferPointer(raw.extended) }

  /// In an index's order: the bytes that the entry is found by.
  var indexValue: UnsafeRawBufferPointer { UnsafeRawBufferPointer(raw.index_value) }

  /// What the entry was stored with for indexes, in the order of then.
  var indexValues: [StoreIndexValue] {
    var values: [StoreIndexValue] = []
    var offset = 0
    var value = larder_store_index_entry()
    withUnsafePointer(to: raw) { raw in
      while larder_store_entry_index(raw, &offset, &value) == LARDER_OK {
        let bytes = [UInt8](UnsafeRawBufferPointer(value.value))
        values.append(StoreIndexValue(index: value.index, bytes: bytes))
      }
    }
    return values
  }

  /// Up to this many bytes, a copy costs less than retaining a segment of the log.
  private static let copiedCount = 20 << 10

  /// Whether the value is so long that it is lent as data rather than copied.
  @usableFromInline
  var isLent: Bool {
    raw.value.length > Self.copiedCount && raw.flags & UInt32(LARDER_STORE_ENTRY_IN_LOG) != 0
  }

  /// Whether its own times hold instead of the store's limits.
  var hasOwnTimes: Bool { raw.flags & UInt32(LARDER_STORE_ENTRY_OWN_TIMES) != 0 }

  /// How long after its last use it expires, in nanoseconds; nil for never.
  var idle: Int64? {
    raw.idle_ns == .max || raw.idle_ns == StoreTerms.renewable ? nil : raw.idle_ns
  }

  /// How many bytes the value has, even if it was not asked for.
  var valueCount: UInt64 { raw.value_bytes }

  /// What the entry weighs for a cache above; nil if nobody said.
  var cost: Int? {
    var terms = StoreTerms()
    terms.rawCost = raw.cost
    return terms.cost
  }

  /// The entry's version.
  @usableFromInline
  var sequence: UInt64 { raw.sequence }

  /// When it was written.
  var written: Date { Date(nanoseconds: raw.written_ns) }

  /// When it expires as things are, in nanoseconds since 1970; `Int64.max` for never.
  func deadline(_ limits: StoreLimits) -> Int64 {
    if hasOwnTimes { return raw.expires_ns }
    let raw = limits.raw
    let (end, overflows) = self.raw.written_ns.addingReportingOverflow(raw.age_ns)
    return min(self.raw.expires_ns, raw.end_ns, raw.age_ns == .max || overflows ? .max : end)
  }

  /// The value's bytes as data that outlives the entry: a long value is not copied, but
  /// keeps its segment of the log mapped.
  @usableFromInline
  mutating func takeData() -> Data {
    guard isLent, let start = raw.value.data else { return Data(copied: value) }
    var retained: UnsafeMutableRawPointer?
    guard larder_store_retain_value(&raw, &retained) == LARDER_OK else {
      return Data(copied: value)
    }
    return Data(
      bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: raw.value.length,
      deallocator: .custom { _, _ in larder_store_release_value(retained) })
  }
}

extension Data {
  /// A copy of `bytes`, by the initialiser that does not go through `Sequence`.
  init(copied bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else {
      self.init()
      return
    }
    self.init(bytes: start, count: bytes.count)
  }
}

/// How to read an entry: `LARDER_STORE_…` flags. The last is also one of writes.
@usableFromInline
struct StoreReading: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt32

  @inlinable
  init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Counts as a use.
  @inlinable static var use: StoreReading { [] }
  /// Leaves no trace.
  @usableFromInline static let peek = StoreReading(
    rawValue: UInt32(LARDER_STORE_PEEK))
  /// Leaves the value away.
  static let withoutValue = StoreReading(rawValue: UInt32(LARDER_STORE_WITHOUT_VALUE))
  /// Finds expired entries too that were not removed yet.
  static let expiredToo = StoreReading(rawValue: UInt32(LARDER_STORE_EXPIRED_TOO))
  /// Throws ``StoreWait`` where a device or a lock would have to be waited for, and that or
  /// `.suspended` where a resumption would.
  @usableFromInline static let withoutWaiting = StoreReading(
    rawValue: UInt32(LARDER_STORE_NO_WAIT))
}

/// The answer may have to be waited for: it is asked for again on a thread that may wait. Of a
/// write an error with the errno `EAGAIN` says so.
struct StoreWait: Error {}

/// How long an entry lives, and what it survives.
@usableFromInline
struct StoreTerms: Sendable {
  /// In nanoseconds since 1970; `Int64.max` for never.
  @usableFromInline var expires: Int64
  /// In nanoseconds since the last use; `Int64.max` for never.
  @usableFromInline var idle: Int64
  /// `LARDER_STORE_SYNCED` and others.
  @usableFromInline var flags: UInt32
  /// What the entry weighs for a cache above, and 1; 0 if nobody said.
  @usableFromInline var rawCost: UInt64 = 0
  /// When it was written, in nanoseconds since 1970; 0 for now.
  @usableFromInline var written: Int64 = 0
  /// When it is to be loaded again, in nanoseconds since 1970; `Int64.max` for never.
  @usableFromInline var refresh: Int64 = .max

  @inlinable
  init(expires: Int64 = .max, idle: Int64 = .max, flags: UInt32 = 0) {
    self.expires = expires
    self.idle = idle
    self.flags = flags
  }

  /// Whether a thread may be blocked for it.
  var waits: Bool { flags & StoreReading.withoutWaiting.rawValue == 0 }

  /// What the entry weighs for a cache above; nil if nobody said.
  @inlinable
  var cost: Int? {
    get { rawCost == 0 ? nil : Int(clamping: rawCost - 1) }
    set { rawCost = newValue.map { UInt64(max(0, $0)) + 1 } ?? 0 }
  }
}

/// Makes what C stores.
enum StoreItem {
  static func make(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    extended: UnsafeRawBufferPointer, terms: StoreTerms
  ) -> larder_store_item {
    var item = larder_store_item()
    larder_store_item_init(&item, larder_bytes(key), larder_bytes(value))
    item.extended = larder_bytes(extended)
    item.expires_ns = terms.expires
    item.idle_ns = terms.idle
    item.flags = terms.flags
    item.cost = terms.rawCost
    item.written_ns = terms.written
    item.refresh_ns = terms.refresh
    return item
  }
}
