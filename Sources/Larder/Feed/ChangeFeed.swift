// SPDX-License-Identifier: MIT

import LarderCore

/// A consumer of a store's changes: one event after the other, from where it began.
///
/// ```swift
/// for try await event in try cache.changes(since: token) {
///   for change in event.changes { print(change) }
/// }
/// ```
///
/// Each write is told once, in order, and whole. Evictions and expirations are not writes, and
/// are not told. See <doc:ChangeFeed>.
///
/// While the store is suspended the feed waits, and goes on behind its last event; with a named
/// cursor, behind what was acknowledged. It keeps the store open that it belongs to, but ends
/// when that is closed.
///
/// **Concurrency.** Safe to pass between threads and tasks, and used by one at a time: a call
/// waits for another one that is under way, events go to whoever asks first.
///
/// **Durability.** What was acknowledged survives the end of the process; see
/// ``acknowledge(_:durability:)``.
public final class ChangeFeed<Change: Sendable>: Sendable, AsyncSequence {
  /// An event.
  public typealias Element = ChangeEvent<Change>

  private let feed: StoreFeed
  private let decode: @Sendable (StoreChange) throws -> Change
  private let executor: DiskExecutor

  init(_ feed: StoreFeed, _ decode: @escaping @Sendable (StoreChange) throws -> Change) {
    self.feed = feed
    self.decode = decode
    executor = DiskExecutor("larder.feed", feed.store.suspension, isSerial: true)
  }

  /// Waits for the next event, on the caller's thread.
  ///
  /// - Parameter timeout: How long to wait; zero to look only, nil for no limit.
  /// - Returns: The event; nil if none came in time.
  /// - Throws: `.decoding` (of a key; the next call goes on behind that write), `.closed`,
  ///   `.suspended`, `.io`: the next call tries again.
  /// - Complexity: O(bytes of the write), and what decoding takes; O(segments) for the first
  ///   event, and for the one behind a gap.
  public func next(timeout: Duration?) throws -> ChangeEvent<Change>? {
    let timeout = timeout.map { Swift.max(0, $0.inNanoseconds) } ?? .max
    return try feed.next(timeout: timeout, waits: true, isCancelled: { false }, event)
  }

  /// Notes that everything up to a token is done: with the feed's named cursor, the next feed
  /// begins behind it, and the log before it may be deleted.
  ///
  /// - Parameters:
  ///   - token: The last event's.
  ///   - durability: What the note survives: `.process`, the default, after which a power cut may
  ///     have events told again, or `.power`.
  /// - Throws: `.invalidArgument` (the feed has no name, or the token is of another store),
  ///   `.closed`, `.suspended`, `.io`.
  /// - Complexity: O(1); `.power` syncs a file.
  public func acknowledge(_ token: ChangeToken, durability: Durability = .process) throws {
    try feed.acknowledge(token, isSynced: StoreTerms.flags(durability) != 0)
  }

  /// Begins to take events from the feed.
  ///
  /// - Returns: An iterator. Iterators of one feed share its events.
  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: self) }

  /// Takes events from a feed, on a thread of the feed's own.
  ///
  /// **Concurrency.** Belongs to one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let feed: ChangeFeed

    /// Waits for the next event.
    ///
    /// - Returns: The event; nil when the store was closed, or the task is cancelled.
    /// - Throws: `.decoding` (of a key), `.io`; the next call goes on, or tries again.
    /// - Complexity: As ``ChangeFeed/next(timeout:)``, and a change of threads.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> ChangeEvent<Change>? {
      do {
        return try await feed.nextWhenResumed()
      } catch let error as LarderError where error.code == .closed {
        // The end that the documentation promises.
        return nil
      } catch is CancellationError {
        // Likewise.
        return nil
      }
    }
  }

  private func nextWhenResumed() async throws -> ChangeEvent<Change>? {
    try await feed.store.suspension.retryingWhenResumed(always: true) {
      let flag = DiskCancellation()
      return try await withTaskCancellationHandler {
        try await executor.run {
          try self.feed.next(
            timeout: .max, waits: false, isCancelled: { flag.isCancelled }, self.event)
        }
      } onCancel: {
        flag.cancel()
        feed.interrupt()
      }
    }
  }

  @Sendable
  private func event(_ raw: StoreFeedEvent) throws -> ChangeEvent<Change> {
    let kind: ChangeEvent<Change>.Kind =
      switch raw.kind {
      case .write: .changes(try raw.map(decode))
      case .gap(let missing): .gap(missing: missing)
      case .rewound: .rewound
      }
    return ChangeEvent(kind: kind, token: raw.token, version: raw.version)
  }
}
