// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// The message log: the C ring, and `MessageLog` above it.
enum LogArea: Area {
  static let name = "log"
  static let title = "Message log"

  static var rows: [Row] {
    [
      appendC, appendRaw, appendRawSQLite, appendFill, appendCodable, appendTwoThreads, appendPower,
      appendPowerEightThreads, appendPowerTasks, readRaw, readRawData, open, openKilled, openAppend,
      create, allocations, wake,
    ]
  }

  /// The small ring of most rows: it wraps every few thousand messages and stays in the cache, so
  /// the rows show the work and not the memory.
  static let smallRing: UInt64 = 1 << 20
  static let smallCapacity = DataSize(bytes: Int(smallRing))

  /// Messages that go once round it: appended before a sample, so that neither side pays for what
  /// the other has driven out of the cache.
  static let oneLap = 10_500

  /// What is appended, unless a row says otherwise.
  static let payload = Data((0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) })
}
