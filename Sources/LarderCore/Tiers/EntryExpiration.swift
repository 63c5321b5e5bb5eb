// SPDX-License-Identifier: MIT

public import Synchronization

/// How long an entry lives that is being stored: as the call says, else as a closure makes it
/// from key and value, else as the cache has it for all. What is spread is drawn here.
@usableFromInline
package struct EntryExpiration<Key: Sendable, Value: Sendable>: ~Copyable, Sendable {
  @usableFromInline let ofEntry: (@Sendable (Key, Value) -> Expiration?)?
  /// Whether an entry may get one of its own that did not ask for it: where not, a store looks
  /// at nothing else.
  @usableFromInline let isWanted: Atomic<Bool>
  private let standard: Mutex<Expiration>

  /// - Parameters:
  ///   - ofEntry: Makes an expiration of key and value; nil if nothing does.
  ///   - standard: The cache's, for all entries without one of their own.
  package init(
    _ ofEntry: (@Sendable (Key, Value) -> Expiration?)?, standard: Expiration = .never
  ) {
    self.ofEntry = ofEntry
    isWanted = Atomic(ofEntry != nil || standard.spread != 0)
    self.standard = Mutex(standard)
  }

  /// The cache has another expiration now.
  package func setStandard(_ expiration: Expiration) {
    standard.withLock { $0 = expiration }
    isWanted.store(ofEntry != nil || expiration.spread != 0, ordering: .relaxed)
  }

  /// The expiration that an entry has of its own; nil if it has the cache's.
  ///
  /// - Parameter asked: What the call says; nil if it does not.
  @inlinable @inline(__always)
  package func own(_ asked: Expiration?, _ key: Key, _ value: Value) -> Expiration? {
    if asked == nil, !isWanted.load(ordering: .relaxed) { return nil }
    return draw(asked, key, value)
  }

  @usableFromInline @inline(never)
  func draw(_ asked: Expiration?, _ key: Key, _ value: Value) -> Expiration? {
    if let asked = asked ?? ofEntry?(key, value) { return asked.drawn }
    let standard = standard.withLock { $0 }
    return standard.spread == 0 ? nil : standard.drawn
  }
}
