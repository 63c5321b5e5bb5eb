// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

/// The values of one version of an entry, as they were when it was read.
///
/// It stays as it is whatever happens to the entry: that it is overwritten, removed or
/// evicted, and that its cache is closed or deleted. Values of up to 20 KiB together were
/// copied when the entry was read; longer ones lie on the pages of the log, and as long as
/// the snapshot is kept, the room that their segment takes is not given back.
///
/// ```swift
/// if let page = try pages.snapshot(forKey: "home") {
///   let head = try page.string(at: 0)
///   let body = try page.data(at: 1)
/// }
/// ```
///
/// It keeps neither the cache nor the entry from anything, and need not be closed.
///
/// **Concurrency.** A value; safe to pass between threads.
///
/// Unchecked, because its memory never changes once it is made.
public struct EntrySnapshot: @unchecked Sendable {
  let bytes: EntryBytes

  init(_ bytes: EntryBytes) { self.bytes = bytes }

  /// A number that grows with every write to the cache, and so tells whether the entry is
  /// still the same.
  ///
  /// - Complexity: O(1).
  public var version: UInt64 { bytes.header.version }

  /// How many values the entry has, whether they were asked for or not.
  ///
  /// - Complexity: O(1).
  public var valueCount: Int { bytes.header.valueCount }

  /// A value.
  ///
  /// - Parameter index: Which one, from 0.
  /// - Returns: Its bytes. Those of a file of their own are not copied; they stay good as
  ///   long as the data.
  /// - Throws: `.invalidArgument` if there is no such value, or it was not asked for.
  /// - Complexity: O(bytes) for up to 4 KiB, O(1) above.
  public func data(at index: Int) throws -> Data {
    try check(index)
    return bytes.withBytes(at: index) { value in
      guard value.count > Self.longestCopy, let start = value.baseAddress else {
        return Data(copied: value)
      }
      return Data(
        bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: value.count,
        deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} })
    }
  }

  /// Lends a value to a closure, without a copy.
  ///
  /// - Parameters:
  ///   - index: Which one, from 0.
  ///   - body: Gets the bytes, which are valid until it returns.
  /// - Returns: What the closure returns.
  /// - Throws: `.invalidArgument` if there is no such value, or it was not asked for; and
  ///   what the closure throws.
  /// - Complexity: O(1).
  public func withBytes<R>(
    at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    try check(index)
    return try bytes.withBytes(at: index, body)
  }

  /// A value as text.
  ///
  /// - Parameters:
  ///   - index: Which one, from 0.
  ///   - encoding: What its bytes are; UTF-8 by default.
  /// - Returns: The text; nil if the bytes are none in that encoding.
  /// - Throws: `.invalidArgument` if there is no such value, or it was not asked for.
  /// - Complexity: O(bytes).
  public func string(at index: Int, encoding: String.Encoding = .utf8) throws -> String? {
    if encoding != .utf8 { return String(data: try data(at: index), encoding: encoding) }
    return try withBytes(at: index) { String(validating: $0, as: UTF8.self) }
  }

  /// A value as a stream.
  ///
  /// - Parameter index: Which one, from 0.
  /// - Returns: A stream of its own at the value's beginning; it is not open yet.
  /// - Throws: `.invalidArgument` if there is no such value, or it was not asked for.
  /// - Complexity: As ``data(at:)``.
  public func inputStream(at index: Int) throws -> InputStream {
    InputStream(data: try data(at: index))
  }

  /// How many bytes a value has, whether it was asked for or not.
  ///
  /// - Parameter index: Which one, from 0.
  /// - Returns: Its length.
  /// - Throws: `.invalidArgument` if there is no such value.
  /// - Complexity: O(1).
  public func length(at index: Int) throws -> Int {
    try checkRange(index)
    return bytes.length(at: index)
  }

  /// All values, in order.
  ///
  /// - Throws: `.invalidArgument` if one was not asked for.
  /// - Complexity: As that many calls of ``data(at:)``.
  public var values: [Data] {
    get throws { try (0..<valueCount).map { try data(at: $0) } }
  }

  /// Whether it has all values.
  var isWhole: Bool { (0..<valueCount).allSatisfy { bytes.isRead($0) } }

  /// Above, a copy costs more than sharing the memory.
  private static let longestCopy = 4 << 10

  private func check(_ index: Int) throws(LarderError) {
    try checkRange(index)
    if bytes.isRead(index) { return }
    throw LarderError(
      .invalidArgument, "Value \(index) was not among those that the snapshot was to have.")
  }

  private func checkRange(_ index: Int) throws(LarderError) {
    if index >= 0, index < valueCount { return }
    throw LarderError(
      .invalidArgument, "There is no value \(index); the entry has 0 to \(valueCount - 1).")
  }
}
