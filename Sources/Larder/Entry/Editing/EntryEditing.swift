// SPDX-License-Identifier: MIT

import Synchronization

/// Which keys of a cache are being edited or written to.
///
/// An edit has its key for itself. Writes that are one call may meet on a key, where the
/// last one counts; an edit neither begins under one of them nor are they let in while it
/// is open.
final class EntryEditing: Sendable {
  enum Access { case granted, refused, closed }

  private struct Keys {
    var edited: Set<[UInt8]> = []
    var written: [[UInt8]: Int] = [:]
    var isClosed = false
  }

  private let keys = Mutex(Keys())

  var isClosed: Bool { keys.withLock { $0.isClosed } }

  func beginEdit(_ key: [UInt8]) -> Access {
    keys.withLock { keys in
      if keys.isClosed { return .closed }
      if keys.written[key] != nil { return .refused }
      return keys.edited.insert(key).inserted ? .granted : .refused
    }
  }

  func endEdit(_ key: [UInt8]) { _ = keys.withLock { $0.edited.remove(key) } }

  func beginWrite(_ key: [UInt8]) -> Access {
    keys.withLock { keys in
      if keys.isClosed { return .closed }
      if keys.edited.contains(key) { return .refused }
      keys.written[key, default: 0] += 1
      return .granted
    }
  }

  func endWrite(_ key: [UInt8]) {
    keys.withLock { keys in
      guard let count = keys.written[key] else { return }
      keys.written[key] = count > 1 ? count - 1 : nil
    }
  }

  /// Ends all edits: they find out when they commit.
  func close() {
    keys.withLock { keys in
      keys.isClosed = true
      keys.edited = []
    }
  }
}
