// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore
import Synchronization

// What an editor knows of the entry as it was when the edit began.
extension EntryEditor {
  /// A value as it was committed last; not what this editor has set.
  ///
  /// - Parameter index: Which one, from 0.
  /// - Returns: Its bytes; nil if there was no entry, or it had left when the
  ///   editor read first.
  /// - Throws: `.invalidArgument` (no such value), `.conflict` (the editor is committed or
  ///   aborted), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + bytes) the first time.
  public func data(at index: Int) throws -> Data? {
    try store.check(index)
    return try committed()?.data(at: index)
  }

  /// A value as it was committed last, as text.
  ///
  /// - Parameters:
  ///   - index: Which one, from 0.
  ///   - encoding: What its bytes are; UTF-8 by default.
  /// - Returns: The text; nil if there was no entry, it has left since, or the bytes are
  ///   none in that encoding.
  /// - Throws: As `data(at:)`.
  /// - Complexity: As `data(at:)`.
  public func string(at index: Int, encoding: String.Encoding = .utf8) throws -> String? {
    try store.check(index)
    return try committed()?.string(at: index, encoding: encoding)
  }

  /// A value as it was committed last, as a stream.
  ///
  /// - Parameter index: Which one, from 0.
  /// - Returns: A stream that is not open yet; nil if there was no entry, or it has left
  ///   since.
  /// - Throws: As `data(at:)`.
  /// - Complexity: As `data(at:)`.
  public func inputStream(at index: Int) throws -> InputStream? {
    try store.check(index)
    return try committed()?.inputStream(at: index)
  }

  /// The entry as it was.
  private func committed() throws -> EntrySnapshot? {
    let (isOver, old) = state.withLock { ($0.isOver, $0.old) }
    if isOver { throw overFailure }
    if store.isClosed { throw store.closedFailure }
    if let old { return old }
    let found = try key.withKey { try store.snapshot($0, .peek) }
    guard let found, found.version == seen else { return nil }
    state.withLock { if !$0.isOver { $0.old = found } }
    return found
  }
}
