// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension Cache {
  /// Stores a value under a key, in memory and in every tier.
  ///
  /// As the blocking form, but for the caller's thread, which is left.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - cost: What the entry weighs for the memory's limit of cost, now and when it is
  ///     promoted later; nil: what its configuration says.
  ///   - extendedData: Kept with the value; nil for nothing.
  ///   - expiration: How long it lives; nil: as each tier has it.
  ///   - durability: What it survives once the call returns; nil: as each tier has it. With
  ///     write-back a write that says so does not wait: it goes to the tiers at once.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func set(
    _ value: Value?, forKey key: Key, cost: Int? = nil, extendedData: Data? = nil,
    expiration: Expiration? = nil, durability: Durability? = nil
  ) async throws {
    try await write(
      value.map {
        Entry(value: $0, cost: cost, extendedData: extendedData, expiration: expiration)
      }, key, durability)
  }

  /// Removes a key and its value from memory and every tier.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: as each tier has
  ///     it. As `set` with write-back.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func remove(forKey key: Key, durability: Durability? = nil) async throws {
    try await write(nil, key, durability)
  }

  func write(_ entry: Entry?, _ key: Key, _ durability: Durability? = nil) async throws {
    try checkCanWrite(key)
    try await makeRoom(for: key)
    let token = await writers.begin(key)
    defer { writers.end(key, token) }
    try await store(entry, key, token, durability)
  }

  func store(
    _ entry: Entry?, _ key: Key, _ token: Writers.Token, _ durability: Durability? = nil,
    of load: MemoryLoad<Value>? = nil
  ) async throws {
    let entry = entry.map { dated($0, key) }
    if queue != nil, durability == nil {
      try enqueue(entry, key)
    } else {
      if queue != nil { await drainLock.lock() }
      do { try await writeTiers(entry, key, durability) } catch {
        if queue != nil { releaseQueue(without: entry == nil ? key : nil) }
        forget(key)
        throw error
      }
      if queue != nil {
        releaseQueue(without: key)
      } else {
        await dropCopies(of: key, unless: token)
      }
    }
    if entry != nil, load?.isSuperseded == true { return try await store(nil, key, token) }
    if let entry { settle(entry, key, token) } else { forget(key) }
  }

  /// - Parameter limit: How many tiers are written; nil for all.
  func writeTiers(
    _ entry: Entry?, _ key: Key, _ durability: Durability?, above limit: Int? = nil
  ) async throws {
    if let entry, limit == nil { try checkFits(entry, key) }
    var failure: (any Error)?
    for (depth, slot) in slots.prefix(limit ?? slots.count).enumerated().reversed() {
      do {
        if let entry {
          try await slot.set(copy(entry, at: depth), forKey: key, durability: durability)
        } else {
          try await slot.remove(forKey: key, durability: durability)
        }
      } catch {
        failure = failure ?? error
        if entry == nil { continue }
        for slot in slots[..<withoutCopies(depth)] {
          // The slot counts the failure, and there is one to throw already.
          try? await slot.remove(forKey: key, durability: nil)
        }
        break
      }
    }
    if let failure { throw failure }
  }
}
