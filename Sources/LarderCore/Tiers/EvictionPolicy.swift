// SPDX-License-Identifier: MIT

/// Which entry a full cache evicts first.
///
/// A struct and not an enum, so that a later version can add policies.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct EvictionPolicy: Sendable, Hashable, CustomStringConvertible, CaseIterable {
  private enum Value: String, CaseIterable {
    case lru, fifo, s3fifo, adaptive
  }

  private let value: Value

  private init(_ value: Value) { self.value = value }

  /// The entry whose last use is the longest ago, exactly.
  ///
  /// One pass over more keys than fit empties the cache of everything else.
  public static let lru = EvictionPolicy(.lru)
  /// The entry that was stored first. Reads change nothing.
  public static let fifo = EvictionPolicy(.fifo)
  /// Three queues, after S3-FIFO: what is read only once goes soon.
  ///
  /// Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023.
  public static let s3fifo = EvictionPolicy(.s3fifo)
  /// Recency and frequency, in shares that adapt to what is asked for.
  ///
  /// W-TinyLFU (Einziger et al., ACM Transactions on Storage 2017) with a window
  /// whose size follows two lists of entries that were evicted too early.
  ///
  /// With a limit of cost, uses count per cost: many small entries that are used
  /// outlast a large one that is not. So a value that is heavier than the window's
  /// share of the cache, 1 % and more, may be evicted by the call that stores it: if
  /// more than one entry would have to go for it, one of them was used again since it
  /// was stored, and they have more uses per cost than it has.
  public static let adaptive = EvictionPolicy(.adaptive)

  /// What a cache uses if nothing else is asked for: ``adaptive``.
  public static let standard = adaptive

  /// Every policy there is.
  public static var allCases: [EvictionPolicy] { Value.allCases.map(EvictionPolicy.init) }

  /// The policy's name, as in `adaptive`.
  public var description: String { value.rawValue }
}
