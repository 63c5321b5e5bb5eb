// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension Cache {
  // MARK: - Blocking

  /// Stores a value under a key, in memory and in every tier.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - cost: What the entry weighs for the memory's limit of cost, now and when it is
  ///     promoted later; nil: what its configuration says.
  ///   - extendedData: Kept with the value, but not in memory; nil for nothing.
  ///   - expiration: How long it lives; nil: as each tier has it.
  /// - Throws: What a tier throws that refuses it: `.encoding`, `.tooLarge`, `.diskFull`,
  ///   `.readOnly` and others. Then memory has nothing under the key, and no tier a value
  ///   that one below it has not. With write-back: what keeps a full queue from becoming
  ///   shorter, and then nothing changed. `.closed`.
  /// - Complexity: That of the tiers; with write-back that of memory.
  @inlinable
  @available(*, noasync, message: "It blocks; await the asynchronous form.")
  public func set(
    _ value: Value?, forKey key: Key, cost: Int? = nil, extendedData: Data? = nil,
    expiration: Expiration? = nil
  ) throws {
    guard let value else { return try erase(key) }
    try write(
      Entry(value: value, cost: cost, extendedData: extendedData, expiration: expiration), key)
  }

  /// Removes a key and its value from memory and every tier.
  ///
  /// - Parameter key: The key.
  /// - Throws: What a tier throws that does not remove it; memory and the other tiers
  ///   have. As `set` with write-back.
  /// - Complexity: As there.
  @inlinable
  @available(*, noasync, message: "It blocks; await the asynchronous form.")
  public func remove(forKey key: Key) throws { try erase(key) }

  @inlinable
  func write(_ entry: Entry, _ key: Key) throws {
    let token = try begin(key)
    defer { writers.end(key, token) }
    try store(entry, key, token)
  }

  @inlinable
  func erase(_ key: Key) throws {
    let token = try begin(key)
    defer { writers.end(key, token) }
    try storeNothing(key)
  }

  /// Takes the key's lock, for a write.
  @inlinable
  func begin(_ key: Key) throws -> Writers.Token {
    try checkOpen()
    if queue != nil { try makeRoom(for: key) }
    return writers.begin(key)
  }

  /// Writes, by whoever holds the key's lock.
  @inlinable
  func store(_ entry: Entry, _ key: Key, _ token: Writers.Token) throws {
    if let queue {
      try enqueue(entry, key, queue)
    } else {
      do { try writeTiers(entry, key) } catch {
        forget(key)
        throw error
      }
    }
    settle(entry, key, token)
  }

  /// Removes, by whoever holds the key's lock.
  @inlinable
  func storeNothing(_ key: Key) throws {
    if let queue {
      try enqueue(nil, key, queue)
      forget(key)
    } else {
      defer { forget(key) }
      try removeFromTiers(key)
    }
  }

  /// Writes from the last tier up, so that none shows what one below it has not.
  @inlinable
  func writeTiers(_ entry: Entry, _ key: Key) throws {
    var depth = slots.count
    while depth > 0 {
      depth -= 1
      do { try slots[depth].set(entry, forKey: key) } catch {
        takeBack(key, refusedBy: depth)
        throw error
      }
    }
  }

  @usableFromInline
  func takeBack(_ key: Key, refusedBy depth: Int) {
    for slot in slots[..<withoutCopies(depth)] {
      // The slot counts the failure, and there is one to throw already.
      try? slot.remove(forKey: key)
    }
  }

  @inlinable
  func removeFromTiers(_ key: Key) throws {
    var failure: (any Error)?
    var depth = slots.count
    while depth > 0 {
      depth -= 1
      do { try slots[depth].remove(forKey: key) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  // MARK: - Suspending

  /// Stores a value under a key, in memory and in every tier.
  ///
  /// As the blocking form, but for the caller's thread, which is left.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - cost: What the entry weighs for the memory's limit of cost, now and when it is
  ///     promoted later; nil: what its configuration says.
  ///   - extendedData: Kept with the value, but not in memory; nil for nothing.
  ///   - expiration: How long it lives; nil: as each tier has it.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func set(
    _ value: Value?, forKey key: Key, cost: Int? = nil, extendedData: Data? = nil,
    expiration: Expiration? = nil
  ) async throws {
    try await write(
      value.map {
        Entry(value: $0, cost: cost, extendedData: extendedData, expiration: expiration)
      }, key)
  }

  /// Removes a key and its value from memory and every tier.
  ///
  /// - Parameter key: The key.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func remove(forKey key: Key) async throws { try await write(nil, key) }

  func write(_ entry: Entry?, _ key: Key) async throws {
    try checkOpen()
    try await makeRoom(for: key)
    let token = await writers.begin(key)
    defer { writers.end(key, token) }
    try await store(entry, key, token)
  }

  func store(_ entry: Entry?, _ key: Key, _ token: Writers.Token) async throws {
    if let queue {
      try enqueue(entry, key, queue)
    } else {
      do { try await writeTiers(entry, key) } catch {
        forget(key)
        throw error
      }
    }
    if let entry { settle(entry, key, token) } else { forget(key) }
  }

  func writeTiers(_ entry: Entry?, _ key: Key) async throws {
    var failure: (any Error)?
    for (depth, slot) in slots.enumerated().reversed() {
      do {
        if let entry {
          try await slot.set(entry, forKey: key)
        } else {
          try await slot.remove(forKey: key)
        }
      } catch {
        failure = failure ?? error
        if entry == nil { continue }
        for slot in slots[..<withoutCopies(depth)] {
          // The slot counts the failure, and there is one to throw already.
          try? await slot.remove(forKey: key)
        }
        break
      }
    }
    if let failure { throw failure }
  }

  // MARK: - Both

  /// How many tiers must forget a key when one refuses it: those above, and itself if
  /// tiers below have the new value.
  private func withoutCopies(_ depth: Int) -> Int {
    depth == slots.count - 1 ? depth : depth + 1
  }

  /// Lets a write wait for the tiers. The key's lock is held.
  @usableFromInline
  func enqueue(
    _ entry: Entry?, _ key: Key, _ queue: WriteBackQueue<Key, Value>
  ) throws {
    guard let begins = queue.add(entry, key, at: clock.date) else {
      throw closed()
    }
    if begins { drainInBackground() }
  }

  /// Writes memory, when the tiers are written. The key's lock is held.
  @inlinable
  func settle(_ entry: Entry, _ key: Key, _ token: Writers.Token) {
    if let absent { absent.remove(forKey: key) }
    memoryCache.replace(
      with: entry.value, forKey: key, cost: entry.cost, expiration: entry.expiration
    ) { writers.isGoodForAll(token) }
    if flights.isBusy { flights.supersede(key) }
  }

  /// What is in memory may not be what the tiers have. The key's lock is held.
  @inlinable
  func forget(_ key: Key) {
    memoryCache.remove(forKey: key)
    if let absent { absent.remove(forKey: key) }
    if flights.isBusy { flights.supersede(key) }
  }
}
