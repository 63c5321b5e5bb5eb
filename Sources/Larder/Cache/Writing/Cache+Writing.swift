// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore
public import Synchronization

extension Cache {
  /// Stores a value under a key, in memory and in every tier.
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
  /// - Throws: What a tier throws that refuses it: `.encoding`, `.tooLarge`, `.diskFull`,
  ///   `.readOnly` and others. Then memory has nothing under the key, and no tier a value
  ///   that one below it has not. With write-back: what keeps a full queue from becoming
  ///   shorter, and then nothing changed. `.closed`.
  /// - Complexity: That of the tiers; with write-back that of memory. With a durability of
  ///   `.power` one sync of the device for each tier; for many writes `sync()` is cheaper.
  @inlinable
  public func set(
    _ value: Value?, forKey key: Key, cost: Int? = nil, extendedData: Data? = nil,
    expiration: Expiration? = nil, durability: Durability? = nil
  ) throws {
    guard let value else { return try erase(key, durability) }
    let token = try begin(key)
    defer { writers.end(key, token) }
    try store(
      Entry(value: value, cost: cost, extendedData: extendedData, expiration: expiration), key,
      token, durability)
  }

  /// Removes a key and its value from memory and every tier.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: as each tier has
  ///     it. As `set` with write-back.
  /// - Throws: What a tier throws that does not remove it; memory and the other tiers
  ///   have. As `set` with write-back.
  /// - Complexity: As there.
  @inlinable
  public func remove(forKey key: Key, durability: Durability? = nil) throws {
    try erase(key, durability)
  }

  @inlinable
  func erase(_ key: Key, _ durability: Durability? = nil) throws {
    let token = try begin(key)
    defer { writers.end(key, token) }
    try storeNothing(key, durability)
  }

  /// Takes the key's lock, for a write.
  @inlinable
  func begin(_ key: Key) throws -> Writers.Token {
    try checkCanWrite(key)
    if queue != nil { try makeRoom(for: key) }
    return writers.begin(key)
  }

  /// Writes, by whoever holds the key's lock: from the last tier up, so that none shows what one
  /// below it has not.
  ///
  /// - Parameter load: Whose value it is; nil: nobody's.
  @inlinable
  func store(
    _ entry: Entry, _ key: Key, _ token: Writers.Token, _ durability: Durability? = nil,
    of load: MemoryLoad<Value>? = nil
  ) throws {
    let entry = dated(entry, key)
    if queue != nil, durability == nil {
      try enqueue(entry, key)
    } else {
      if queue != nil { holdQueue() }
      do {
        var depth = slots.count
        if depth > 1 { try checkFits(entry, key) }
        while depth > 0 {
          depth -= 1
          do {
            try slots[depth].set(copy(entry, at: depth), forKey: key, durability: durability)
          } catch {
            takeBack(key, refusedBy: depth)
            throw error
          }
        }
      } catch {
        // An older value may still wait, and is what there is.
        if queue != nil { releaseQueue(without: nil) }
        forget(key)
        throw error
      }
      if queue != nil {
        releaseQueue(without: key)
      } else if !writers.isGoodForAll(token) {
        dropCopies(of: key)
      }
    }
    // A removal of everything does not wait for the key's lock, and may have come before this.
    if let load, isOutdated(load) { return try storeNothing(key) }
    settle(entry, key, token)
  }

  @usableFromInline
  func isOutdated(_ load: MemoryLoad<Value>) -> Bool { load.isSuperseded }

  /// Removes, by whoever holds the key's lock.
  @inlinable
  func storeNothing(_ key: Key, _ durability: Durability? = nil) throws {
    defer { forget(key) }
    if queue != nil, durability == nil { return try enqueue(nil, key) }
    if queue != nil { holdQueue() }
    // What waits is older, also if a tier refuses the removal: the others have made it.
    defer { if queue != nil { releaseQueue(without: key) } }
    try removeFromTiers(key, durability)
  }

  /// Holds the queue back for a write that does not wait in it: what is being written from it may
  /// be an older value of the key.
  @usableFromInline
  func holdQueue() { drainLock.lock() }

  /// - Parameter key: Of which nothing is to be written any more.
  @usableFromInline
  func releaseQueue(without key: Key?) {
    if let key { queue?.remove(key) }
    drainLock.unlock()
  }

  @usableFromInline
  func takeBack(_ key: Key, refusedBy depth: Int) {
    for slot in slots[..<withoutCopies(depth)] {
      // The slot counts the failure, and there is one to throw already.
      try? slot.remove(forKey: key, durability: nil)
    }
  }

  @inlinable
  func removeFromTiers(_ key: Key, _ durability: Durability?) throws {
    var failure: (any Error)?
    var depth = slots.count
    while depth > 0 {
      depth -= 1
      do { try slots[depth].remove(forKey: key, durability: durability) } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  // MARK: - For both forms

  /// Throws what a disk refuses in any case, before tiers below it are written.
  @usableFromInline
  func checkFits(_ entry: Entry, _ key: Key) throws {
    for slot in slots.dropLast() { try slot.checkFits(entry, key) }
  }

  /// How many tiers must forget a key when one refuses it: those above, and itself if
  /// tiers below have the new value.
  func withoutCopies(_ depth: Int) -> Int {
    depth == slots.count - 1 ? depth : depth + 1
  }

  /// Lets a write wait for the tiers. The key's lock is held.
  @usableFromInline
  func enqueue(_ entry: Entry?, _ key: Key) throws {
    guard let begins = queue?.add(entry, key, at: clock.date) else {
      throw closed()
    }
    if begins { drainInBackground() }
  }

  /// Writes memory, when the tiers are written. The key's lock is held.
  @inlinable
  func settle(_ entry: Entry, _ key: Key, _ token: Writers.Token) {
    forgetAbsence(key)
    let given = entry.expiration
    let entry = copyLifetime == nil ? entry : copyForMemory(entry, key)
    memoryCache.replace(
      with: entry.value, forKey: key, cost: entry.cost, expiration: entry.expiration,
      company: company(of: entry, given: .some(given))
    ) { writers.isGoodForAll(token) }
    if loads.isBusy { loads.supersede(key)?.release(entry.value) }
  }

  /// What goes with an entry to memory; nil for what the cache has for all.
  ///
  /// - Parameter given: How long who wrote it lets it live; nil if the entry says that.
  @inlinable
  func company(of entry: Entry, given: Expiration?? = nil) -> MemoryCompany? {
    let isBare =
      entry.refreshAfter == nil && entry.age == nil && entry.extendedData == nil
      && entry.expiration == nil && !entry.isUnchanged
    return isBare ? nil : MemoryCompany(entry, given ?? entry.own(clock.date))
  }

  /// What is in memory may not be what the tiers have. The key's lock is held.
  @inlinable
  func forget(_ key: Key) {
    memoryCache.remove(forKey: key)
    forgetAbsence(key)
    if loads.isBusy { loads.supersede(key)?.release(nil) }
  }

  @inlinable
  func forgetAbsence(_ key: Key) {
    if hasAbsent.load(ordering: .acquiring) { absent.remove(forKey: key) }
  }

  /// An expiration that counts from now on in all tiers. A tier that is written sooner than others
  /// must not be the first where the entry expires: its end may be told to nobody who has a copy.
  @usableFromInline
  func dated(_ expiration: Expiration) -> Expiration {
    let fixed = Expiration(afterWrite: expiration.afterWrite, date: expiration.date)
    return Expiration(
      afterAccess: expiration.afterAccess, date: fixed.expirationDate(from: clock.date))
  }

  /// An entry with what all tiers agree on: an expiration, if it has one of its own, and a
  /// version, if one of them confirms copies.
  @inlinable
  func dated(_ entry: Entry, _ key: Key) -> Entry {
    let own = lives.own(entry.expiration, key, entry.value)
    if own == nil, !drawsVersions { return entry }
    var entry = entry
    if let own { entry.expiration = copyLifetime == nil ? own : dated(own) }
    if drawsVersions { entry.version = CacheTierVersion() }
    return entry
  }
}
