// SPDX-License-Identifier: MIT

/// The values that leave a cache from now on.
///
/// ```swift
/// let removals = cache.removals
/// Task {
///   for await removal in removals where removal.cause == .expired {
///     print("\(removal.key) expired")
///   }
/// }
/// ```
///
/// It begins when it is made, not when it is first asked. What nobody has asked for
/// yet waits in a buffer; when that is full the oldest removal is dropped, and the
/// next one says in ``Removal/lost`` how many were. The sequence ends when the cache
/// is gone or the task is cancelled. It does not keep the cache.
///
/// **Concurrency.** Safe to pass between tasks. Iterators of one sequence share its
/// buffer: each removal goes to one of them. Each sequence of a cache has a buffer of
/// its own.
public struct RemovalSequence<Key: Sendable, Value: Sendable>: AsyncSequence, Sendable {
  /// A removal.
  public typealias Element = Removal<Key, Value>
  /// Nothing is thrown.
  public typealias Failure = Never

  let subscription: RemovalSubscription<Key, Value>

  /// Begins to take removals from the buffer.
  ///
  /// - Returns: An iterator.
  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

  /// Takes removals from a sequence's buffer.
  ///
  /// **Concurrency.** Belongs to one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let subscription: RemovalSubscription<Key, Value>

    /// Waits for the next removal.
    ///
    /// - Returns: The removal; nil when the cache is gone or the task cancelled.
    /// - Complexity: O(1) amortised.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> Removal<Key, Value>? {
      await subscription.buffer.next()
    }
  }
}
