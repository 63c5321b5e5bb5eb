// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// Who writes which key, so that copies of what was read never outlive it.
///
/// A cache keeps copies of what is further down. They agree because of three rules:
///
/// 1. **One writer a key.** A write goes from the last tier up to memory, and holds the
///    key's lock meanwhile: two writes of one key arrive everywhere in the same order.
/// 2. **A copy is made only if nobody wrote.** Who reads further down and wants to copy
///    that to memory takes a token before it reads. A writer is *begun* before it changes
///    anything and *ended* after it has changed memory. A token holds the number of writers
///    that had ended; it is good as long as that many, and no more, have begun: then nobody
///    was writing when the read began, and nobody has begun since. That is asked while
///    memory is locked. If a writer begins after the answer, its own change of memory
///    comes after the copy, and undoes it. So what was removed does not come back, and
///    what was replaced neither.
/// 3. **Copies between tiers are writes.** They hold the key's lock, and the cache's gate,
///    which a removal of everything holds too; the token is asked once both are held.
///
/// A removal of everything counts as a writer of all keys, but does not take their locks. So
/// a writer asks, as rule 2 has it for copies, that no such removal was under way since it
/// began; else it leaves memory without the key, which is always right.
///
/// Keys are counted in 64 groups. That two of them share a group costs a copy now and then.
final class CacheWriters<Key: Hashable & Sendable>: Sendable {
  /// What rule 2 is about.
  struct Token: Sendable {
    fileprivate let group: Int
    fileprivate let ended: UInt64
    fileprivate let endedAll: UInt64
  }

  private struct State {
    var begun: UInt64 = 0
    var ended: UInt64 = 0
    /// Who waits for a key that is held.
    var held: [Key: [CacheWaiter]] = [:]
  }

  private final class Group: Sendable {
    let state = Mutex(State())
  }

  private let groups = (0..<64).map { _ in Group() }
  private let begunAll = Atomic<UInt64>(0)
  private let endedAll = Atomic<UInt64>(0)

  private func group(of key: Key) -> Int {
    // The upper bits: dictionaries of these keys use the lower ones.
    Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> (UInt.bitWidth - 6))
  }

  // MARK: - Tokens

  /// To be taken before reading.
  func token(_ key: Key) -> Token {
    let all = endedAll.load(ordering: .acquiring)
    let group = group(of: key)
    return Token(
      group: group, ended: groups[group].state.withLock { $0.ended }, endedAll: all)
  }

  /// Whether nobody has written the key since before the token was taken.
  func isGood(_ token: Token) -> Bool {
    isGoodForAll(token) && groups[token.group].state.withLock { $0.begun == token.ended }
  }

  /// Likewise, for removals of everything.
  func isGoodForAll(_ token: Token) -> Bool {
    begunAll.load(ordering: .acquiring) == token.endedAll
  }

  // MARK: - Writing a key

  /// Takes the key's lock.
  ///
  /// - Parameter counts: Whether to be counted as a writer.
  /// - Returns: A token from before.
  func begin(_ key: Key, counts: Bool = true) -> Token {
    let semaphore = DispatchSemaphore(value: 0)
    let (token, isTaken) = take(key, counts, .thread(semaphore))
    if !isTaken { semaphore.wait() }
    return token
  }

  nonisolated(nonsending) func begin(_ key: Key, counts: Bool = true) async -> Token {
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
    return groups[group].state.withLock { state in
      let token = Token(group: group, ended: state.ended, endedAll: all)
      if counts { state.begun += 1 }
      if state.held[key] != nil {
        state.held[key]?.append(waiter)
        return (token, false)
      }
      state.held[key] = []
      return (token, true)
    }
  }

  /// Gives the key's lock to the next.
  func end(_ key: Key, counts: Bool = true) {
    let next = groups[group(of: key)].state.withLock { state -> CacheWaiter? in
      if counts { state.ended += 1 }
      if state.held[key]?.isEmpty ?? true {
        state.held[key] = nil
        return nil
      }
      return state.held[key]?.removeFirst()
    }
    next?.wake()
  }

  // MARK: - Writing all keys

  func beginAll() { begunAll.add(1, ordering: .acquiringAndReleasing) }
  func endAll() { endedAll.add(1, ordering: .acquiringAndReleasing) }
}
