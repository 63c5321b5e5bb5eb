// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore
import Synchronization

/// Writes one value of an entry piece by piece; see ``EntryEditor/writer(at:)``.
///
/// What it takes is kept in memory up to 256 KiB, and above that in a file without a name
/// in the cache's folder, so that a value can be larger than memory. A write that fails
/// makes the commit fail as well: never is half a value stored.
///
/// The value is what was written when the editor commits, whether the writer was closed or
/// not.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time; each write
/// is whole.
public final class EntryWriter: Sendable {
  private let editor: EntryEditor
  private let spool: EntrySpool
  /// Which value is written.
  public let index: Int

  init(_ editor: EntryEditor, _ spool: EntrySpool, _ index: Int) {
    self.editor = editor
    self.spool = spool
    self.index = index
  }

  /// How many bytes were written.
  ///
  /// - Complexity: O(1).
  public var count: Int { spool.count }

  /// Writes bytes behind those that are there.
  ///
  /// - Parameter data: The bytes.
  /// - Throws: `.conflict` if the writer is closed, the editor committed or aborted, or its
  ///   value set otherwise; `.diskFull`, `.io`.
  /// - Complexity: O(bytes).
  public func write(_ data: Data) throws { try data.withUnsafeBytes { try write($0) } }

  /// Writes text behind what is there, as UTF-8.
  ///
  /// - Parameter text: The text.
  /// - Throws: As `write(_:)` of data.
  /// - Complexity: O(bytes).
  public func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes bytes behind those that are there, in a closure that is lent them. There is no
  /// asynchronous form: a pointer is good for no longer than its closure runs.
  ///
  /// - Parameter bytes: The bytes.
  /// - Throws: As `write(_:)` of data.
  /// - Complexity: O(bytes).
  @available(*, noasync, message: "Await write(_:) of data.")
  public func write(_ bytes: UnsafeRawBufferPointer) throws {
    do throws(LarderError) {
      if try spool.append(bytes) { return }
    } catch {
      // Part of it may have been written: the value is none any more.
      spool.seal()
      editor.fail(error)
      throw error
    }
    throw LarderError(
      .conflict,
      "The writer of value \(index) is closed, or its editor has ended.")
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func write(_ data: Data) async throws {
    try await editor.store.executor.run { try self.write(data) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func write(_ text: String) async throws {
    try await editor.store.executor.run { try self.write(text) }
  }

  /// Says that the value is whole. Closing twice is harmless, and none is needed.
  ///
  /// - Throws: What a write threw before.
  /// - Complexity: O(1).
  public func close() throws {
    spool.seal()
    if let failure = editor.state.withLock({ $0.failure }) { throw failure }
  }
}
