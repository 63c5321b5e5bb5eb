// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension Cache {
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
  /// What is set or removed under the key meanwhile is newer than what is loaded: those
  /// who waited get that, but it is not stored.
  ///
  /// A tier that cannot be read does not keep the value from being loaded, nor one that
  /// cannot be written from being returned: ``CacheConfiguration/onWriteFailure`` and the
  /// statistics tell.
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
    if let (value, isOld) = memoryCache.valueAndAge(forKey: key) {
      return isOld ? try refresh(value, key, cost, expiration, load) ?? value : value
    }
    return try self.load(key, cost, expiration, load)
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
    if let (value, isOld) = memoryCache.valueAndAge(forKey: key) {
      return isOld ? try refresh(value, key, cost, expiration, load) : value
    }
    if isKnownAbsent(key) { return nil }
    return try run(key, cost, expiration, mustFind: false, load)
  }

  @usableFromInline
  func refresh(
    _ old: Value, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: () throws -> Value?
  ) throws -> Value? {
    guard let ongoing = loads.joinUnlessBusy(key) else { return old }
    loads.refreshes.add(1, ordering: .relaxed)
    let outcome = outcome(of: ongoing) {
      try loadAndStore(ongoing, key, cost, expiration, replaces: true, load)
    }
    loads.end(ongoing, key, with: outcome)
    // The failure is counted, and there is a value.
    if case .failure = outcome { return old }
    return try outcome.get()
  }

  @usableFromInline
  func load(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?, _ load: () throws -> Value
  ) throws -> Value {
    guard let value = try run(key, cost, expiration, mustFind: true, load) else {
      throw LarderError(.invalidArgument, "A load ended without a value.")
    }
    return value
  }

  private func run(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?, mustFind: Bool,
    _ load: () throws -> Value?
  ) throws -> Value? {
    try checkOpen()
    while true {
      switch try loads.join(key) {
      case .wait(let ongoing):
        if let value = try ongoing.wait() { return value }
        // That one looked for something that need not exist, and this one must.
        if !mustFind { return nil }
      case .load(let ongoing):
        let outcome = outcome(of: ongoing) { try find(ongoing, key, cost, expiration, load) }
        loads.end(ongoing, key, with: outcome)
        return try outcome.get()
      }
    }
  }

  private func outcome(
    of ongoing: MemoryLoad<Value?>, _ body: () throws -> Value?
  ) -> Result<Value?, any Error> {
    Result {
      try MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id], operation: body)
    }
  }

  private func find(
    _ ongoing: MemoryLoad<Value?>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: () throws -> Value?
  ) throws -> Value? {
    // Another load may have ended between this one's miss and its beginning.
    if let value = memoryCache.peek(forKey: key) { return value }
    // A tier that fails, and has counted that, is no reason not to load.
    if let entry = try? lowerEntry(forKey: key) { return entry.value }
    return try loadAndStore(ongoing, key, cost, expiration, replaces: false, load)
  }

  private func loadAndStore(
    _ ongoing: MemoryLoad<Value?>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    replaces: Bool, _ load: () throws -> Value?
  ) throws -> Value? {
    let start = ContinuousClock.now
    let outcome = Result { try load() }
    count(outcome, since: start)
    let value = try outcome.get()
    do {
      if value != nil { try makeRoom(for: key) }
      let token = writers.begin(key)
      defer { writers.end(key, token) }
      // A writer of the key says so before it releases the lock.
      if ongoing.isSuperseded { return value }
      guard let value else {
        if replaces { try storeNothing(key) }
        absent?.set(true, forKey: key)
        return nil
      }
      try store(Entry(value: value, cost: cost, expiration: expiration), key, token)
    } catch {
      report(key, error)
    }
    return value
  }

  // MARK: - Both

  func isKnownAbsent(_ key: Key) -> Bool {
    guard let absent, absent.contains(key) else { return false }
    counters.negativeHits.add(1, ordering: .relaxed)
    return true
  }

  func count(_ outcome: Result<Value?, any Error>, since start: ContinuousClock.Instant) {
    var hasFailed = false
    switch outcome {
    case .success(nil): counters.emptyLoads.add(1, ordering: .relaxed)
    case .success: break
    case .failure: hasFailed = true
    }
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    loads.count(
      nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000, failed: hasFailed)
  }
}
