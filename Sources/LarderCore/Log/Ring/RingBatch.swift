// SPDX-License-Identifier: MIT

import CLarder

/// Messages collected to be appended together.
///
/// One block of memory for all of them, which only grows: an array of bytes would
/// take longer to add a message than the ring takes to append it.
package struct RingBatch: ~Copyable {
  private struct Item {
    var offset: Int
    var length: Int
    var flags: UInt32
  }

  private var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var items: [Item] = []

  /// How many bytes the messages have together.
  package private(set) var byteCount = 0

  package init() {}

  deinit { bytes.deallocate() }

  /// How many messages there are.
  package var count: Int { items.count }

  /// Adds a copy of one message.
  ///
  /// - Parameter isPartial: Whether the message is marked as not ended.
  package mutating func add(_ message: UnsafeRawBufferPointer, isPartial: Bool = false) {
    if message.count > bytes.count - byteCount { grow(by: message.count) }
    UnsafeMutableRawBufferPointer(rebasing: bytes[byteCount...]).copyMemory(from: message)
    let flags = isPartial ? UInt32(LARDER_MESSAGE_PARTIAL) : 0
    items.append(Item(offset: byteCount, length: message.count, flags: flags))
    byteCount += message.count
  }

  /// Forgets all messages and keeps the memory for the next ones.
  package mutating func removeAll() {
    byteCount = 0
    items.removeAll(keepingCapacity: true)
  }

  private mutating func grow(by count: Int) {
    let grown = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(4096, 2 * bytes.count, byteCount + count), alignment: 16)
    grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount]))
    bytes.deallocate()
    bytes = grown
  }

  borrowing func withMessages<R>(_ body: (UnsafeBufferPointer<larder_message>) -> R) -> R {
    let start = UnsafeRawPointer(bytes.baseAddress)
    let messages = items.map { item in
      larder_message(
        payload: larder_bytes(data: start?.advanced(by: item.offset), length: item.length),
        flags: item.flags)
    }
    return messages.withUnsafeBufferPointer(body)
  }
}
