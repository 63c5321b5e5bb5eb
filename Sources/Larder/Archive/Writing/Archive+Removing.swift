// SPDX-License-Identifier: MIT

import CLarderStore
import Foundation
import LarderCore

// What all deleting has in common.
extension Archive {
  func remove(
    _ id: Element.ID, _ durability: Durability?, _ how: StoreReading = .use
  ) throws {
    let isSynced = (durability ?? self.durability) == .power
    try keyCoder.borrow(id) { try store.remove($0, isSynced: isSynced, how) }
    memory.remove(forKey: id)
    changes.notify()
  }

  func remove(all ids: some Sequence<Element.ID>, _ durability: Durability?) throws {
    let durability = durability ?? self.durability
    var chunk: [Element.ID] = []
    var keys: [StoreOwnKey] = []
    var size = 0
    func commit(_ durability: Durability) throws {
      if keys.isEmpty { return }
      let batch = try StoreBatch(store)
      for key in keys { try key.withKey { try batch.remove($0) } }
      _ = try batch.commit(isSynced: durability == .power)
      for id in chunk { memory.remove(forKey: id) }
      chunk = []
      keys = []
      size = 0
      changes.notify()
    }
    for id in ids {
      let key = try keyCoder.own(id)
      let room = batchLimit - key.count - ArchiveBatchSize.overhead
      if keys.count == ArchiveBatchSize.count || size > room { try commit(.process) }
      chunk.append(id)
      keys.append(key)
      size += key.count + ArchiveBatchSize.overhead
    }
    try commit(durability)
  }

  /// Deletes what is stored under these keys and those of these elements: all of it, or nothing.
  ///
  /// - Returns: Whether each had that version still.
  func remove(
    _ keys: ArchiveKeys, _ others: [(id: Element.ID, version: UInt64)], _ durability: Durability?
  ) throws -> Bool {
    let batch = try StoreBatch(store)
    for number in 0..<keys.count {
      try keys.withKey(number) { key, version in
        try batch.require(StoreKey(key), version: version)
        try batch.remove(key)
      }
    }
    for (id, version) in others {
      try keyCoder.borrow(id) { key in
        try batch.require(key, version: version)
        try batch.remove(key)
      }
    }
    let isSynced = (durability ?? self.durability) == .power
    guard try batch.commit(isSynced: isSynced) != nil else { return false }
    if !memory.isEmpty {
      for number in 0..<keys.count {
        // What cannot be decoded is not in memory.
        keys.withKey(number) { key, _ in
          if let id = try? keyCoder.decode(key) { memory.remove(forKey: id) }
        }
      }
      for (id, _) in others { memory.remove(forKey: id) }
    }
    changes.notify()
    return true
  }

  func removeAll(olderThan age: Duration) throws -> Int {
    try flushAccesses()
    var (limit, overflows) = clock.nanoseconds.subtractingReportingOverflow(age.inNanoseconds)
    if overflows { limit = age < .zero ? .max : .min }
    var old: [(key: Data, version: UInt64)] = []
    var selection = catalog.selection()
    selection.isWithoutValues = true
    let isStrict = selection.refusesDamage
    selection.refusesDamage = false
    var damage: LarderError?
    do {
      var cursor = try StoreCursor(store, selection)
      while try cursor.next({ entry in
        if entry.accessed ?? entry.raw.written_ns < limit {
          old.append((Data(copied: entry.key), entry.sequence))
        }
      }) {}
      damage = cursor.damage
    }
    var count = 0
    for start in stride(from: 0, to: old.count, by: ArchiveBatchSize.count) {
      let chunk = old[start..<min(old.count, start + ArchiveBatchSize.count)]
      count += try removeUnchanged(chunk)
    }
    if count > 0 { changes.notify() }
    if isStrict, let damage { throw damage }
    return count
  }

  /// Removes what has not been written again meanwhile.
  private func removeUnchanged(_ entries: ArraySlice<(key: Data, version: UInt64)>) throws -> Int {
    if entries.isEmpty { return 0 }
    let batch = try StoreBatch(store)
    for entry in entries {
      try entry.key.withUnsafeBytes { key in
        try batch.require(StoreKey(key), version: entry.version)
        try batch.remove(StoreKey(key))
      }
    }
    if try batch.commit(isSynced: durability == .power) != nil {
      for entry in entries {
        // What cannot be decoded is not in memory.
        if let id = try? keyCoder.decode(entry.key) { memory.remove(forKey: id) }
      }
      return entries.count
    }
    if entries.count == 1 { return 0 }
    let middle = entries.startIndex + entries.count / 2
    return try removeUnchanged(entries[..<middle]) + removeUnchanged(entries[middle...])
  }
}

/// Keys as they are stored, one behind the other, and the versions of their entries.
struct ArchiveKeys {
  private var bytes: [UInt8] = []
  private var ends: [(end: Int, version: UInt64)] = []

  var count: Int { ends.count }

  mutating func append(_ key: UnsafeRawBufferPointer, _ version: UInt64) {
    bytes += key
    ends.append((bytes.count, version))
  }

  /// The numbers of the keys in the order of these.
  func order() -> [Int] {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      // Most are told apart by eight bytes.
      var rows: [(head: UInt64, key: UnsafeRawBufferPointer, number: Int)] = []
      rows.reserveCapacity(ends.count)
      for (number, end) in ends.enumerated() {
        let key = UnsafeRawBufferPointer(rebasing: bytes[start..<end.end])
        var head: UInt64 = 0
        for at in 0..<8 { head = head << 8 | (at < key.count ? UInt64(key[at]) : 0) }
        rows.append((head, key, number))
        start = end.end
      }
      rows.sort { a, b in
        a.head == b.head ? a.key.lexicographicallyPrecedes(b.key) : a.head < b.head
      }
      return rows.map(\.number)
    }
  }

  func withKey(
    _ number: Int, _ body: (UnsafeRawBufferPointer, _ version: UInt64) throws -> Void
  ) rethrows {
    let start = number == 0 ? 0 : ends[number - 1].end
    try bytes.withUnsafeBytes { bytes in
      try body(
        UnsafeRawBufferPointer(rebasing: bytes[start..<ends[number].end]), ends[number].version)
    }
  }
}
