// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension Cache {
  /// A load, which may ask for what there is.
  @usableFromInline
  typealias BlockingLoader<Loaded: Sendable> =
    (@escaping () -> OldValue<Value>?) throws -> LoadedValue<Loaded>

  // The blocking forms are disfavoured, or a closure without `await` in asynchronous code
  // would fit both.

  /// Reads the value under a key; if neither memory nor a tier has one, loads and stores it.
  ///
  /// ```swift
  /// let rows = try cache.value(forKey: query) { try database.run(query) }
  /// ```
  ///
  /// However many ask for a key at once, one of them looks in the tiers and loads, and the
  /// others wait for it and get the same value or the same error. An error is not stored.
  ///
  /// What is set or removed under the key meanwhile is newer than what is loaded, which is not
  /// stored then. The callers that wait need not wait any longer: they get the value that was
  /// set, or start over after a removal. The caller that loads gets what it loads. So do they
  /// all if it is the load itself that sets or removes its key.
  ///
  /// A tier that cannot be read does not keep the value from being loaded, nor one that
  /// cannot be written from being returned: ``CacheConfiguration/onWriteFailure`` and the
  /// statistics tell. If the farthest tier is shared with others and cannot say whether to load
  /// (``CacheTier/beginLoad(forKey:reason:)``), what is loaded is returned, and kept nowhere:
  /// others may have changed the key meanwhile.
  ///
  /// If the memory's configuration sets
  /// ``LarderCore/MemoryCacheConfiguration/refreshAfter``, the first caller that finds a
  /// value of that age loads it again, synchronously, and stores it in every tier. Until
  /// that load is done all others get the old value; if it fails, so does this caller.
  ///
  /// The closure runs while nothing is locked and may use the cache; asking for its own
  /// key throws. Loads that ask for each other's keys wait for each other for ever.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long a loaded entry lives; nil: as each tier has it.
  ///   - load: Makes the value. Called at most once.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: What the closure throws, this one or the one waited for;
  ///   `.invalidArgument` if a load asks for its own key; `.closed`.
  /// - Complexity: For a value that is there, that of `value(forKey:)`.
  @inlinable
  @_disfavoredOverload
  public func value(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: () throws -> Value
  ) throws -> Value {
    let found = memoryCache.valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try self.load(found?.value, key) { _ in
      LoadedValue(bare: try load(), cost: cost, expiration: expiration)
    }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, loads it, and stores it
  /// as the load says.
  ///
  /// As `value(forKey:cost:expiration:orLoad:)`, for a load that knows what its value costs, how
  /// long it lives, or that it must not be kept, in no tier.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Makes the value. Called at most once.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is there, that of `value(forKey:)`.
  @inlinable
  @_disfavoredOverload
  public func value(
    forKey key: Key, orLoad load: () throws -> LoadedValue<Value>
  ) throws -> Value {
    let found = memoryCache.valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try self.load(found?.value, key) { _ in try load() }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, or it is time to load it
  /// again, loads it by a closure that gets what there is, and stores it as that says.
  ///
  /// As `value(forKey:cost:expiration:orLoad:)`, for a load that can find out that the old value is
  /// still right: see ``LarderCore/OldValue``. One that has expired is there where
  /// ``LarderCore/MemoryCacheConfiguration/staleIfError`` keeps it.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Gets the old value, nil if there is none. Makes the value, or says that it is
  ///     unchanged. Called at most once.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is there, that of `value(forKey:)`.
  @inlinable
  @_disfavoredOverload
  public func value(
    forKey key: Key, orLoad load: (OldValue<Value>?) throws -> LoadedValue<Value>
  ) throws -> Value {
    let found = memoryCache.valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try self.load(found?.value, key) { try load($0()) }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, looks for it and
  /// stores what was found.
  ///
  /// As `value(forKey:cost:expiration:orLoad:)`, for what need not exist: with
  /// ``CacheConfiguration/negativeLifetime`` it is remembered that there is nothing, and
  /// nobody looks for it again during that time, neither in the tiers nor by a closure.
  /// What is loaded again because it is old, and is not found any more, is removed.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long a loaded entry lives; nil: as each tier has it.
  ///   - load: Makes the value, or gives nil if there is none. Called at most once.
  /// - Returns: The value that was there or was found; nil if there is none.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is there, that of `value(forKey:)`.
  @_disfavoredOverload
  public func valueIfFound(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: () throws -> Value?
  ) throws -> Value? {
    try lookUp(key) { _ in
      let value = try load()
      return LoadedValue(bare: value, cost: cost, expiration: value == nil ? nil : expiration)
    }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, looks for it, and stores
  /// what was found as the load says.
  ///
  /// As `valueIfFound(forKey:cost:expiration:orLoad:)`. A load that found nothing can say how
  /// long that is remembered, instead of ``CacheConfiguration/negativeLifetime``: by the
  /// expiration of nil.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Makes the value, or gives one of nil if there is none. Called at most once.
  /// - Returns: The value that was there or was found; nil if there is none.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is there, that of `value(forKey:)`.
  @_disfavoredOverload
  public func valueIfFound(
    forKey key: Key, orLoad load: () throws -> LoadedValue<Value?>
  ) throws -> Value? {
    try lookUp(key) { _ in try load() }
  }

  private func lookUp(
    _ key: Key, _ load: BlockingLoader<Value?>
  ) throws -> Value? {
    if let (value, isOld) = memoryCache.valueAndAge(forKey: key) {
      return isOld ? try refresh(value, key, nil, load) : value
    }
    if isKnownAbsent(key) { return nil }
    return try run(key, mustFind: false, load)
  }

  @usableFromInline
  func load(
    _ old: Value?, _ key: Key, _ load: BlockingLoader<Value>
  ) throws -> Value {
    let load: BlockingLoader<Value?> = { try load($0).found }
    if let old { return try refresh(old, key, nil, load) ?? old }
    return try required(run(key, mustFind: true, load))
  }

  /// - Parameter entry: What a tier has; nil if it is memory that has it.
  private func refresh(
    _ old: Value, _ key: Key, _ entry: Entry?,
    _ load: BlockingLoader<Value?>
  ) throws -> Value? {
    guard let ongoing = loads.joinUnlessBusy(key) else { return old }
    let outcome = outcome(of: ongoing, key) { run in
      let permission = permissionNow(forKey: key, reason: .refresh)
      return try loadAndStore(run, ongoing, key, true, permission) {
        try load { entry.map { OldValue($0, self.clock.date) } ?? self.old(forKey: key) }
      }
    }
    // The failure is counted, and there is a value.
    if case .failure = outcome { return old }
    return try outcome.get()
  }

  private func run(
    _ key: Key, mustFind: Bool,
    _ load: BlockingLoader<Value?>
  ) throws -> Value? {
    try checkOpen()
    var due: Entry?
    let value = try loads.value(key, mustFind: mustFind, old: oldValue(forKey:)) { ongoing in
      outcome(of: ongoing, key) { run in
        // Another load may have ended between this one's miss and its beginning.
        if let value = memoryCache.peek(forKey: key) { return value }
        var permission: CacheTierLoad<Value>?
        for _ in 0..<maximumLooks {
          var failure: (any Error)?
          do {
            if let entry = try lowerEntry(forKey: key) {
              if isDue(entry) { due = entry }
              return entry.value
            }
          } catch {
            // A tier that fails, and has counted that, is no reason not to load.
            failure = error
          }
          permission = permissionNow(forKey: key, failure: failure)
          guard case .changed? = permission, failure == nil else { break }
        }
        return try loadAndStore(run, ongoing, key, false, permission) {
          try load { self.old(forKey: key) }
        }
      }
    }
    guard let due, let value else { return value }
    return try refresh(value, key, due, load)
  }

  private func outcome(
    of ongoing: MemoryLoad<Value>, _ key: Key, _ body: (MemoryLoadRun) throws -> Value?
  ) -> Result<Value?, any Error> {
    let run = MemoryLoadRun(count: 1)
    loads.begin(run, [(key, ongoing)])
    let outcome = Result {
      try MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id]) { try body(run) }
    }
    loads.end(ongoing, key, with: outcome)
    return outcome
  }

  private func loadAndStore(
    _ run: MemoryLoadRun, _ ongoing: MemoryLoad<Value>, _ key: Key, _ replaces: Bool,
    _ permission: CacheTierLoad<Value>?, _ load: () throws -> LoadedValue<Value?>
  ) throws -> Value? {
    let start = ContinuousClock.now
    let outcome = Result { try load() }
    count(run, outcome, since: start)
    keep(outcome, key, of: ongoing, replaces: replaces, permission)
    return try outcome.get().value
  }

  /// As the suspending form.
  func permissionNow(
    forKey key: Key, failure: (any Error)? = nil, reason: CacheTierLoadReason = .missing
  ) -> CacheTierLoad<Value>? {
    guard let slot = slots.last, slot.mayWait else { return .allowed }
    return try? blocking {
      await self.permission(forKey: key, failure: failure, reason: reason)
    }
  }

  /// As the suspending form.
  func keep(
    _ outcome: Result<LoadedValue<Value?>, any Error>, _ key: Key, of ongoing: MemoryLoad<Value>,
    replaces: Bool, _ permission: CacheTierLoad<Value>?
  ) {
    if case .allowed? = permission {
      guard case .success(let loaded) = outcome else { return }
      return keep(loaded, key, of: ongoing, replaces: replaces)
    }
    // What is thrown is what did not wait, and nothing does not.
    try? blocking {
      await self.keep(outcome, key, of: ongoing, replaces: replaces, permission)
    }
  }

  /// Stores what was loaded, in every tier, unless the key was written or removed meanwhile.
  ///
  /// - Parameter replaces: Whether a tier may have an old value.
  func keep(
    _ loaded: LoadedValue<Value?>, _ key: Key, of ongoing: MemoryLoad<Value>, replaces: Bool
  ) {
    let entry = entry(loaded, key, replaces)
    do {
      if entry != nil { try makeRoom(for: key) }
      let token = writers.begin(key)
      defer { writers.end(key, token) }
      // A writer of the key says so before it releases the lock.
      if ongoing.isSuperseded { return }
      if let entry { return try store(entry, key, token, of: ongoing) }
      if replaces || hasExpired(key) {
        try storeNothing(key)
      } else {
        memoryCache.remove(forKey: key)
      }
      rememberAbsence(loaded, key, token)
    } catch {
      report(key, error)
    }
  }

  // MARK: - Both

  /// How often to look again because others changed the key, before it is loaded all the same.
  var maximumLooks: Int { 10 }

  func required(_ value: Value?) throws -> Value {
    guard let value else {
      throw LarderError(.invalidArgument, "A load ended without a value.")
    }
    return value
  }

  /// What is to be stored; nil for nothing.
  ///
  /// - Parameter replaces: Whether there may be an old value.
  func entry(_ loaded: LoadedValue<Value?>, _ key: Key, _ replaces: Bool) -> Entry? {
    guard let value = loaded.value, loaded.isStored else { return nil }
    var entry = Entry(
      value: value, cost: loaded.cost, extendedData: loaded.extendedData,
      expiration: loaded.expiration)
    entry.refreshAfter = loaded.refreshAfter
    entry.isUnchanged = loaded.isUnchanged
    if loaded.keepsExtendedData, replaces {
      let old = memoryCache.old(forKey: key)
      // Without it the value is stored all the same.
      entry.extendedData =
        old == nil ? try? diskCache?.extendedData(forKey: key) : old?.extendedData
    }
    return entry
  }

  /// A load found nothing. The key's lock is held.
  func rememberAbsence(_ loaded: LoadedValue<Value?>, _ key: Key, _ token: Writers.Token) {
    guard loaded.value == nil, loaded.isStored,
      let life = loaded.expiration ?? negativeLifetime.map(Expiration.after)
    else { return }
    hasAbsent.store(true, ordering: .releasing)
    absent.set(true, forKey: key, expiration: life)
    // A removal of everything does not wait for the key's lock.
    if !writers.isGoodForAll(token) { absent.remove(forKey: key) }
  }

  func isKnownAbsent(_ key: Key) -> Bool {
    guard hasAbsent.load(ordering: .acquiring), absent.contains(key) else { return false }
    counters.negativeHits.add(1, ordering: .relaxed)
    return true
  }

  /// Counts a call of a loader, and what it did not find.
  func count(
    _ run: MemoryLoadRun, _ outcome: Result<LoadedValue<Value?>, any Error>,
    since start: ContinuousClock.Instant
  ) {
    if case .success(let loaded) = outcome, loaded.value == nil { countEmpty() }
    countCall(run, outcome, since: start)
  }

  func countEmpty() { counters.emptyLoads.add(1, ordering: .relaxed) }

  func countCall<R>(
    _ run: MemoryLoadRun, _ outcome: Result<R, any Error>, since start: ContinuousClock.Instant
  ) {
    var hasFailed = false
    if case .failure = outcome { hasFailed = true }
    let time = (ContinuousClock.now - start).inNanoseconds
    loads.counts.count(run, nanoseconds: time, failed: hasFailed)
  }
}
