// SPDX-License-Identifier: MIT
import Foundation

/// What the workloads call: ours and the rivals alike. Reads look at all fields and return how many
/// records were what they should be.
protocol YCSBStore: AnyObject {
  static var name: String { get }
  static var settings: String { get }
  /// Why it cannot take part, if it cannot.
  static var absence: String? { get }

  init(_ path: String, records: Int) throws

  func insert(_ record: UnsafeRawBufferPointer, under key: UInt64) throws
  func update(_ field: Int, of key: UInt64, to bytes: UnsafeRawBufferPointer) throws
  func read(_ key: UInt64) throws -> Int
  func scan(from key: UInt64, limit: Int) throws -> Int

  /// Brackets the inserts with which the store is filled.
  func beginLoad() throws
  func endLoad() throws
  /// Called once a second, and at the end of a sample.
  func sync() throws
  /// Called at the end of a sample, in its time.
  func finish() throws
  /// Waits for threads of its own, after the time.
  func settle()
}

extension YCSBStore {
  static var absence: String? { nil }
  func beginLoad() throws {}
  func endLoad() throws {}
  func finish() throws { try sync() }
  func settle() {}
}
