// SPDX-License-Identifier: MIT

import Dispatch
import LarderCore
public import Synchronization

/// Which keys are being written, so that copies of what was read never outlive it.
///
/// A cache keeps copies of what is further down. They agree because of three rules:
///
/// 1. **One writer a key.** A write goes from the last tier up to memory, and holds the
///    key's lock meanwhile: two writes of one key arrive everywhere in the same order.
/// 2. **A copy is made only if nobody wrote.** A reader that wants to copy what it finds
///    further down to memory takes a token before it reads. A writer is *begun* before it
///    changes anything and *ended* after it has changed memory. A token holds the number of
///    writers that had ended. It is valid as long as that many, and no more, have begun:
///    then nobody was writing when the read began, and nobody has begun since. That is
///    checked while memory is locked. If a writer begins after the check, its own change of
///    memory comes after the copy, and undoes it. So neither what was removed nor what was
///    replaced comes back.
/// 3. **Copies between tiers are writes.** They hold the key's lock, and the cache's gate,
///    which a removal of everything holds too; the token is asked once both are held.
///
/// A removal of everything counts as a writer of all keys, but does not take their locks. So
/// a writer asks, as rule 2 has it for copies, that no such removal was under way since it
/// began; else it leaves memory without the key, which is always right.
///
/// Keys are counted in 64 groups. That two of them share a group costs a copy now and then.
/// Nearly always a key is the only one of its group that is held, and nobody waits for it:
/// that is what is inlined into programs.
///
/// Sendable, although Swift cannot see it: the pointer never changes, and all that it points to
/// is behind locks. An array of them would need an object for each lock, which is retained and
/// released by every use.
@usableFromInline
final class CacheWriters<Key: Hashable & Sendable>: @unchecked Sendable {
  /// What rule 2 is about.
  @usableFromInline
  struct Token: Sendable {
    @usableFromInline let group: Int
    @usableFromInline let ended: UInt64
    @usableFromInline let endedAll: UInt64

    @inlinable
    init(group: Int, ended: UInt64, endedAll: UInt64) {
      self.group = group
      self.ended = ended
      self.endedAll = endedAll
    }
  }

  @usableFromInline
  struct State {
    @usableFromInline var begun: UInt64 = 0
    @usableFromInline var ended: UInt64 = 0
    /// A key that is held; the first one, if nobody held another one then.
    @usableFromInline var held: Key?
    /// Who waits for that.
    @usableFromInline var waiting: [CacheWaiter] = []
    /// Further keys that are held, and who waits for them.
    @usableFromInline var others: [Key: [CacheWaiter]] = [:]

    init() {}

    /// - Returns: Whether the key is the caller's now; else it is held, and nothing changed.
    @inlinable
    mutating func take(_ key: Key) -> Bool {
      if held == nil, others.isEmpty {
        held = key
        return true
      }
      return takeOther(key)
    }

    @usableFromInline
    mutating func takeOther(_ key: Key) -> Bool {
      if held == key || others[key] != nil { return false }
      others[key] = []
      return true
    }

    /// Adds to those who wait for a key that is held.
    mutating func wait(for key: Key, _ waiter: CacheWaiter) {
      if held == key { waiting.append(waiter) } else { others[key]?.append(waiter) }
    }

    /// - Returns: Whether nobody has the key now; else it is still held, and nothing changed.
    @inlinable
    mutating func free(_ key: Key) -> Bool {
      guard held == key, waiting.isEmpty else { return false }
      held = nil
      return true
    }

    /// Passes a key that is held to the next waiter, if any, for the caller to wake.
    mutating func pass(_ key: Key) -> CacheWaiter? {
      if free(key) { return nil }
      if held == key { return waiting.removeFirst() }
      if others[key]?.isEmpty ?? true {
        others[key] = nil
        return nil
      }
      return others[key]?.removeFirst()
    }
  }

  private static var count: Int { 64 }

  @usableFromInline let groups: UnsafeMutablePointer<Mutex<State>>
  @usableFromInline let begunAll = Atomic<UInt64>(0)
  @usableFromInline let endedAll = Atomic<UInt64>(0)
  @usableFromInline let hashing = MemoryHashing()

  init() {
    groups = .allocate(capacity: Self.count)
    for group in 0..<Self.count { (groups + group).initialize(to: Mutex(State())) }
  }

  deinit {
    groups.deinitialize(count: Self.count)
    groups.deallocate()
  }

  @inlinable
  func group(of key: Key) -> Int {
    // The upper 6 bits: dictionaries of these keys use the lower ones.
    Int(truncatingIfNeeded: hashing.hash(key) >> (UInt64.bitWidth - 6))
  }

  // MARK: - Tokens

  /// To be taken before reading.
  @inlinable
  func token(_ key: Key) -> Token {
    let all = endedAll.load(ordering: .acquiring)
    let group = group(of: key)
    return Token(
      group: group, ended: groups[group].withLock { $0.ended }, endedAll: all)
  }

  /// Whether nobody has written the key since before the token was taken.
  @inlinable
  func isGood(_ token: Token) -> Bool {
    isGoodForAll(token) && groups[token.group].withLock { $0.begun == token.ended }
  }

  /// Likewise, for removals of everything.
  @inlinable
  func isGoodForAll(_ token: Token) -> Bool {
    begunAll.load(ordering: .acquiring) == token.endedAll
  }

  // MARK: - Writing a key

  /// Takes the key's lock.
  ///
  /// - Parameter counts: Whether to be counted as a writer.
  /// - Returns: A token from before; ``end(_:_:counts:)`` wants it.
  @inlinable
  func begin(_ key: Key, counts: Bool = true) -> Token {
    take(key, counts) ?? beginInTurn(key, counts)
  }

  @inlinable
  nonisolated(nonsending) func begin(_ key: Key, counts: Bool = true) async -> Token {
    if let token = take(key, counts) { return token }
    return await beginInTurn(key, counts)
  }

  /// - Returns: nil if the key is held; then nothing has changed.
  @inlinable
  func take(_ key: Key, _ counts: Bool) -> Token? {
    let all = endedAll.load(ordering: .acquiring)
    let group = group(of: key)
    return groups[group].withLock { state -> Token? in
      if !state.take(key) { return nil }
      let token = Token(group: group, ended: state.ended, endedAll: all)
      if counts { state.begun += 1 }
      return token
    }
  }

  @usableFromInline @inline(never)
  func beginInTurn(_ key: Key, _ counts: Bool) -> Token {
    let semaphore = DispatchSemaphore(value: 0)
    let (token, isTaken) = take(key, counts, .thread(semaphore))
    if !isTaken { semaphore.wait() }
    return token
  }

  @usableFromInline
  nonisolated(nonsending) func beginInTurn(_ key: Key, _ counts: Bool) async -> Token {
    var token: Token?
    await withCheckedContinuation { continuation in
      let (taken, isTaken) = take(key, counts, .task(continuation))
      token = taken
      if isTaken { continuation.resume() }
    }
    return token ?? self.token(key)
  }

  private func take(_ key: Key, _ counts: Bool, _ waiter: CacheWaiter) -> (Token, Bool) {
    let all = endedAll.load(ordering: .acquiring)
    let group = group(of: key)
    return groups[group].withLock { state in
      let token = Token(group: group, ended: state.ended, endedAll: all)
      if counts { state.begun += 1 }
      let isTaken = state.take(key)
      if !isTaken { state.wait(for: key, waiter) }
      return (token, isTaken)
    }
  }

  /// Gives the key's lock to the next.
  ///
  /// - Parameter token: What ``begin(_:counts:)`` gave.
  @inlinable
  func end(_ key: Key, _ token: Token, counts: Bool = true) {
    let isFree = groups[token.group].withLock { state in
      if counts { state.ended += 1 }
      return state.free(key)
    }
    if !isFree { pass(key, token.group) }
  }

  @usableFromInline @inline(never)
  func pass(_ key: Key, _ group: Int) {
    let next = groups[group].withLock { $0.pass(key) }
    next?.wake()
  }

  // MARK: - Writing all keys

  func beginAll() { begunAll.add(1, ordering: .acquiringAndReleasing) }
  func endAll() { endedAll.add(1, ordering: .acquiringAndReleasing) }
}
