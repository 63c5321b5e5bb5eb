// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import Foundation
import LarderCore
import Synchronization

/// One change of a write, which a feed lends: valid until the body that got it returns.
struct StoreChange {
  enum Kind { case put, removed, removedAll }

  let kind: Kind
  let key: UnsafeRawBufferPointer
  let value: UnsafeRawBufferPointer
  let extended: UnsafeRawBufferPointer

  init(_ raw: larder_store_change) {
    kind =
      switch raw.kind {
      case LARDER_STORE_CHANGE_PUT: .put
      case LARDER_STORE_CHANGE_REMOVE: .removed
      default: .removedAll
      }
    key = UnsafeRawBufferPointer(raw.key)
    value = UnsafeRawBufferPointer(raw.value)
    extended = UnsafeRawBufferPointer(raw.extended)
  }

  /// The change that stored an entry.
  init(_ entry: StoreEntry) {
    kind = .put
    key = entry.key
    value = entry.value
    extended = entry.extended
  }
}

/// An event, lent likewise.
struct StoreFeedEvent {
  enum Kind {
    case write
    case gap(Int?)
    case rewound
  }

  private let raw: larder_store_feed_event

  init(_ raw: larder_store_feed_event) { self.raw = raw }

  var kind: Kind {
    switch raw.kind {
    case LARDER_STORE_FEED_GAP: .gap(raw.missing == .max ? nil : Int(clamping: raw.missing))
    case LARDER_STORE_FEED_REWOUND: .rewound
    default: .write
    }
  }

  var token: ChangeToken { ChangeToken(raw.token) }
  var version: UInt64 { raw.sequence }

  func map<T>(_ body: (StoreChange) throws -> T) rethrows -> [T] {
    try UnsafeBufferPointer(start: raw.changes, count: Int(raw.count)).map {
      try body(StoreChange($0))
    }
  }
}

/// Owns one `larder_store_feed`, which goes on behind its last event when its store was suspended
/// and resumed.
final class StoreFeed: Sendable {
  /// Sendable, although Swift cannot see it: but for `larder_store_feed_interrupt`, which any
  /// thread may call, it is used under a lock.
  private final class Opened: @unchecked Sendable {
    let pointer: OpaquePointer
    /// What the feed reads from has to be kept as long.
    private let owner: any SuspendableHandle.Owner

    init(_ pointer: OpaquePointer, _ owner: any SuspendableHandle.Owner) {
      self.pointer = pointer
      self.owner = owner
    }

    deinit { larder_store_feed_close(pointer) }
  }

  let store: StoreHandle
  private let name: [UInt8]
  private let flags: UInt32
  private let maximumLag: UInt64
  /// Where it goes on when it is opened again. Held while C uses the feed.
  private let token: Mutex<ChangeToken?>
  private let opened = Mutex<Opened?>(nil)
  /// Calls that take no time, and those that may wait and make way for them.
  private let others = Atomic<Int>(0)
  private let waiters = Atomic<Int>(0)

  init(
    _ store: StoreHandle, since token: ChangeToken?, name: String?, _ options: ChangeFeedOptions
  ) throws {
    self.store = store
    self.name = [UInt8]((name ?? "").utf8)
    guard name == nil || 1...Int(LARDER_STORE_FEED_NAME_MAX_BYTES) ~= self.name.count,
      options.maximumLag.bytes > 0
    else {
      throw LarderError(
        .invalidArgument,
        "A named cursor has a name of 1 to \(LARDER_STORE_FEED_NAME_MAX_BYTES) bytes, and may lag"
          + " by 1 byte at least.")
    }
    var flags = options.startsWithOldest ? UInt32(LARDER_STORE_FEED_FROM_START) : 0
    switch options.certainty {
    case .written: flags |= UInt32(LARDER_STORE_FEED_UNSYNCED)
    case .synced: flags |= UInt32(LARDER_STORE_FEED_SYNCED)
    case nil: break
    }
    self.flags = flags
    maximumLag = UInt64(options.maximumLag.bytes)
    // Else it would go on from another moment after a suspension.
    let isNow = token == nil && !options.startsWithOldest
    self.token = Mutex(isNow ? try store.latestChange() : token)
    _ = try self.token.withLock { try open(&$0, waits: true) }
  }

  // MARK: - Events

  /// Lends the next event to the body.
  ///
  /// - Parameters:
  ///   - timeout: In nanoseconds; `Int64.max` for no limit.
  ///   - waits: Whether the thread may be blocked while the store is suspended.
  ///   - isCancelled: Asked after ``interrupt()``, and first.
  /// - Returns: nil if none came in time.
  func next<R: Sendable>(
    timeout: Int64, waits: Bool, isCancelled: () -> Bool, _ body: (StoreFeedEvent) throws -> R
  ) throws -> R? {
    if timeout == 0 {
      return try beforeOthers {
        while true { if let found = try look(0, waits, isCancelled, body) { return found } }
      }
    }
    let start = ContinuousClock.now
    waiters.add(1, ordering: .sequentiallyConsistent)
    defer { waiters.subtract(1, ordering: .sequentiallyConsistent) }
    while true {
      var left = timeout
      if timeout != .max { left = max(0, timeout - (ContinuousClock.now - start).inNanoseconds) }
      if let found = try look(left, waits, isCancelled, body) { return found }
      while others.load(ordering: .sequentiallyConsistent) > 0 {
        Thread.sleep(forTimeInterval: 0.000_05)
      }
    }
  }

  /// - Returns: nil if it was interrupted, and nil in nil if there was nothing in time.
  private func look<R: Sendable>(
    _ timeout: Int64, _ waits: Bool, _ isCancelled: () -> Bool,
    _ body: (StoreFeedEvent) throws -> R
  ) throws -> R?? {
    try token.withLock { token in
      let feed = try open(&token, waits: waits)
      if isCancelled() { throw CancellationError() }
      // Whoever comes behind this look at it sees that somebody waits, and interrupts that.
      if timeout > 0, others.load(ordering: .sequentiallyConsistent) > 0 { return nil }
      var status = larder_store_feed_wait(feed.pointer, timeout)
      var event = larder_store_feed_event()
      if status == LARDER_OK { status = larder_store_feed_next(feed.pointer, &event) }
      if status == LARDER_OK {
        token = ChangeToken(event.token)
        return try body(StoreFeedEvent(event))
      }
      if status == ETIMEDOUT { return .some(nil) }
      if status == LARDER_ECLOSED {
        opened.withLock { $0 = nil }
      } else if status != ECANCELED, status != LARDER_END {
        throw store.failure(status, "follow the changes of \(store.path)")
      }
      return nil
    }
  }

  /// Has a wait that is under way end, and go on behind the body.
  private func beforeOthers<R>(_ body: () throws -> R) rethrows -> R {
    others.add(1, ordering: .sequentiallyConsistent)
    defer { others.subtract(1, ordering: .sequentiallyConsistent) }
    // It wakes up everybody who waits for the store.
    if waiters.load(ordering: .sequentiallyConsistent) > 0 { interrupt() }
    return try body()
  }

  /// Ends the wait that is under way, or the next one.
  func interrupt() {
    opened.withLock { feed in
      if let feed { larder_store_feed_interrupt(feed.pointer) }
    }
  }

  func acknowledge(_ done: ChangeToken, isSynced: Bool) throws {
    try beforeOthers { try acknowledgeInTurn(done, isSynced) }
  }

  private func acknowledgeInTurn(_ done: ChangeToken, _ isSynced: Bool) throws {
    try token.withLock { token in
      while true {
        let feed = try open(&token, waits: true)
        var raw = done.raw
        let status = larder_store_feed_acknowledge(
          feed.pointer, &raw, isSynced ? UInt32(LARDER_STORE_SYNCED) : 0)
        if status == LARDER_ECLOSED {
          opened.withLock { $0 = nil }
        } else {
          return try store.check(status, "acknowledge changes of \(store.path)")
        }
      }
    }
  }

  /// What is open, or opens it behind the token.
  private func open(_ token: inout ChangeToken?, waits: Bool) throws -> Opened {
    if let opened = opened.withLock({ $0 }) { return opened }
    var options = larder_store_feed_options()
    options.flags = flags
    options.max_lag_bytes = maximumLag
    var made: OpaquePointer?
    let from = token?.raw
    let (status, owner) = try store.suspension.callKeeping(waits: waits) { pointer in
      name.withUnsafeBytes { name in
        options.name = larder_bytes(name)
        return withUnsafePointer(to: from ?? larder_store_token()) { start in
          options.from = from == nil ? nil : start
          return larder_store_feed_open(pointer, &options, &made)
        }
      }
    }
    if status == LARDER_EBUSY {
      throw LarderError(
        status: status, doing: "follow the changes of \(store.path)",
        reason: "another feed has that cursor; release it, also where its store was closed")
    }
    guard status == LARDER_OK, let made else {
      throw store.failure(
        status == LARDER_OK ? Int32(LARDER_EINVALID) : status,
        "follow the changes of \(store.path)")
    }
    let feed = Opened(made, owner)
    opened.withLock { $0 = feed }
    return feed
  }
}

extension StoreHandle {
  func latestChange() throws(LarderError) -> ChangeToken {
    var token = larder_store_token()
    let status = try suspension.call { larder_store_token_now($0, &token) }
    try check(status, "find the newest change of \(path)")
    return ChangeToken(token)
  }

  func changeCursors() throws(LarderError) -> [ChangeCursor] {
    var cursors = [larder_store_feed_cursor](
      repeating: .init(), count: Int(LARDER_STORE_FEED_CURSORS_MAX))
    var count = 0
    let status = try suspension.call {
      larder_store_feed_cursors($0, &cursors, cursors.count, &count)
    }
    try check(status, "list the cursors of \(path)")
    return cursors.prefix(count).map { ChangeCursor($0) }
  }

  /// - Returns: false if there is none.
  func removeChangeCursor(named name: String) throws(LarderError) -> Bool {
    let name = [UInt8](name.utf8)
    let status = try suspension.call { store in
      name.withUnsafeBytes { larder_store_feed_cursor_remove(store, larder_bytes($0)) }
    }
    if status == LARDER_ENOTFOUND { return false }
    try check(status, "remove a cursor of \(path)")
    return true
  }
}
