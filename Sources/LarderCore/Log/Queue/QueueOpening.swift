// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// What opening a queue finds in the log and in the queue's file.
struct QueueOpening {
  let file: QueueFile
  let recovery: LogQueueRecovery
  /// What the log has as the queue's watermark.
  let acknowledged: UInt64
  /// Every message up to this number is done.
  let watermark: UInt64
  /// What is known of messages beyond it.
  let slots: [UInt64: QueueSlot]
  /// Numbers that no message ever had: the log skipped them when it was opened.
  let skipped: Range<UInt64>

  /// - Throws: As ``QueueFile/open(_:_:)``; `.full` if the log has no consumer slot left.
  init<Message>(_ name: String, of log: MessageLog<Message>, window: Int) throws {
    let statistics = try log.handle.rawStatistics(waits: false)
    var known = try log.handle.acknowledged(name)
    var recovery = LogQueueRecovery()
    let (file, slots) = try log.handle.withSideFile(Self.suffix(of: name)) { place in
      if known == nil {
        // A queue that cannot keep its watermark is refused before it has done any work.
        do { try log.handle.acknowledge(name, through: 0) } catch { throw log.appendFailure(error) }
        known = 0
      }
      let request = QueueFile.Request(
        place: place,
        header: QueueHeader(
          window: UInt32(clamping: window), logCreated: statistics.created_ns, name: name),
        nextSequence: statistics.next_sequence, trustsOtherUsers: log.handle.trustsOtherUsers)
      let opened = try QueueFile.open(request, &recovery)
      try log.handle.files.apply(to: place.path)
      return opened
    }
    self.file = file
    self.recovery = recovery
    let first = statistics.opened_sequence
    skipped = first.subtracting(clamping: statistics.opened_skipped)..<first
    let acknowledged = known ?? 0
    self.acknowledged = acknowledged
    // Who has the slot now got it when the message that had it before was done.
    let newest = slots.reduce(0) { max($0, $1.sequence) }
    let watermark = max(acknowledged, newest.subtracting(clamping: UInt64(file.header.window)))
    self.watermark = watermark
    self.slots = slots.reduce(into: [:]) { known, slot in
      if slot.sequence > watermark { known[slot.sequence] = slot }
    }
  }

  /// What the name of the queue's file has behind the log's: the queue's name as far as every file
  /// system takes it; other bytes as `%` and two digits.
  static func suffix(of name: String) -> String {
    let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789-_.".utf8)
    let escaped = name.utf8.map { byte in
      plain.contains(byte)
        ? String(UnicodeScalar(byte))
        : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
    return ".queue-" + escaped.joined()
  }
}
