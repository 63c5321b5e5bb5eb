// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

/// What ``EntryBytes`` knows besides where values are.
struct EntryBytesHead {
  /// Of the entry: grows with every write to the store.
  let version: UInt64
  let valueCount: Int
  let keyCount: Int
  /// The values, where they are lent; nil if they are in the buffer.
  let lent: Data?
  let reference: EntryReference
  /// Those of the key.
  let others: StoreKeyForms
}

/// Key and values of one version of an entry, in one piece of memory: reading an entry
/// allocates this and nothing else.
///
/// Its words are, for each value, offset and length; then come the bytes of the key and,
/// where they are not lent, of the values. The offset of a value that was not asked for is
/// `notRead`. Nothing changes once it is made.
final class EntryBytes: ManagedBuffer<EntryBytesHead, UInt64> {
  private static let notRead = UInt64.max

  /// Takes what the store lends.
  ///
  /// - Parameters:
  ///   - key: What the entry was found by.
  ///   - chosen: Which values are wanted; nil for all.
  /// - Returns: nil if the entry is not one of so many values.
  static func make(
    _ entry: inout StoreEntry, _ key: StoreKey, valueCount: Int, chosen: [Bool]?,
    _ reference: EntryReference
  ) -> EntryBytes? {
    guard
      let head = EntryHead(entry.extended, valueCount: valueCount, size: entry.valueCount)
    else { return nil }
    let others = key.others
    let key = key.bytes
    var copied = 0
    if !entry.isLent {
      copied = entry.value.count
      if let chosen {
        copied = 0
        for index in 0..<valueCount where chosen[index] { copied += Int(head.length(at: index)) }
      }
    }
    let words = 2 * valueCount + (key.count + copied + 7) / 8
    let version = entry.sequence
    let lent = entry.isLent ? entry.takeData() : nil
    let made = create(minimumCapacity: words) { _ in
      EntryBytesHead(
        version: version, valueCount: valueCount, keyCount: key.count, lent: lent,
        reference: reference, others: others)
    }
    let bytes = unsafeDowncast(made, to: EntryBytes.self)
    bytes.fill(key: key, head: head, values: lent == nil ? entry.value : nil, chosen: chosen)
    return bytes
  }

  private func fill(
    key: UnsafeRawBufferPointer, head: EntryHead, values: UnsafeRawBufferPointer?, chosen: [Bool]?
  ) {
    withUnsafeMutablePointers { known, words in
      let count = known.pointee.valueCount
      let target = UnsafeMutableRawPointer(words + 2 * count)
      if let start = key.baseAddress { target.copyMemory(from: start, byteCount: key.count) }
      var source = 0
      var offset = 0
      for index in 0..<count {
        let length = head.length(at: index)
        (words + 2 * index + 1).initialize(to: length)
        guard chosen?[index] ?? true else {
          (words + 2 * index).initialize(to: Self.notRead)
          source += Int(length)
          continue
        }
        (words + 2 * index).initialize(to: UInt64(values == nil ? source : offset))
        if chosen != nil, let start = values?.baseAddress {
          (target + key.count + offset).copyMemory(from: start + source, byteCount: Int(length))
        }
        source += Int(length)
        offset += Int(length)
      }
      // All of them in one piece.
      if chosen == nil, let values, let start = values.baseAddress {
        (target + key.count).copyMemory(from: start, byteCount: values.count)
      }
    }
  }

  /// The bytes of a value, even if it was not read; `index` is in range.
  func length(at index: Int) -> Int {
    withUnsafeMutablePointerToElements { Int($0[2 * index + 1]) }
  }

  func isRead(_ index: Int) -> Bool {
    withUnsafeMutablePointerToElements { $0[2 * index] != Self.notRead }
  }

  /// Lends a value that was read; `index` is in range.
  func withBytes<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeMutablePointers { head, words in
      let offset = Int(words[2 * index])
      let length = Int(words[2 * index + 1])
      guard let lent = head.pointee.lent else {
        let start = UnsafeRawPointer(words + 2 * head.pointee.valueCount) + head.pointee.keyCount
        return try body(UnsafeRawBufferPointer(start: start + offset, count: length))
      }
      return try lent.withUnsafeBytes {
        try body(UnsafeRawBufferPointer(rebasing: $0[offset..<offset + length]))
      }
    }
  }

  /// The key's bytes.
  var key: StoreOwnKey {
    withUnsafeMutablePointers { head, words in
      let bytes = UnsafeRawBufferPointer(
        start: words + 2 * head.pointee.valueCount, count: head.pointee.keyCount)
      return StoreOwnKey(StoreKey(bytes, others: head.pointee.others))
    }
  }
}
