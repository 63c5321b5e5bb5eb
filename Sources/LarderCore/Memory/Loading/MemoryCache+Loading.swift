// SPDX-License-Identifier: MIT

package import Foundation
import Synchronization

extension MemoryCache {
  // The blocking forms are disfavoured, or a closure without `await` in asynchronous code
  // would fit both.

  /// Reads the value under a key; if there is none, loads and stores it.
  ///
  /// ```swift
  /// let rows = try cache.value(forKey: query) { try database.run(query) }
  /// ```
  ///
  /// Concurrent misses for a key share one load: one caller loads, and the others block
  /// their threads and get the same value or the same error. An error is not stored: the
  /// next caller loads again.
  ///
  /// What is set or removed under the key during a load is newer than what it loads, which
  /// is not stored then; later callers start a load of their own. The callers that wait need
  /// not wait any longer: they get the value that was set, or start over after a removal. The
  /// caller that loads gets what it loads. So do they all if it is the load itself that sets
  /// or removes its key.
  ///
  /// With ``MemoryCacheConfiguration/refreshAfter`` the first caller that finds a value of
  /// that age loads it again, synchronously; until that is done all others get the old
  /// value. If this load fails, the old value is returned.
  ///
  /// The closure runs while nothing is locked and may use the cache; asking for its own
  /// key throws. Loads that ask for each other's keys wait for each other for ever.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what
  ///     ``MemoryCacheConfiguration/cost`` says.
  ///   - expiration: How long a loaded entry lives; nil: as ``expiration`` says.
  ///   - load: Makes the value. Called at most once.
  /// - Returns: The value that was there or was loaded. It is returned even if the limits
  ///   leave no room for it.
  /// - Throws: What the closure throws, this one or the one waited for;
  ///   `.invalidArgument` if a load asks for its own key.
  /// - Complexity: For a value that is there, that of ``value(forKey:)``.
  @inlinable
  @_disfavoredOverload
  public func value(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: () throws -> Value
  ) throws -> Value {
    if !index.hasTerms, let value = value(forKey: key) { return value }
    return try self.load(key) { LoadedValue(bare: try load(), cost: cost, expiration: expiration) }
  }

  /// Reads the value under a key; if there is none, loads it, and stores it as the load says.
  ///
  /// As `value(forKey:cost:expiration:orLoad:)`, for a load that knows what its value costs,
  /// how long it lives, or that it must not be kept.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Makes the value. Called at most once.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As there.
  /// - Complexity: As there.
  @inlinable
  @_disfavoredOverload
  public func value(
    forKey key: Key, orLoad load: () throws -> LoadedValue<Value>
  ) throws -> Value {
    if !index.hasTerms, let value = value(forKey: key) { return value }
    return try self.load(key, load)
  }

  /// Reads the value under a key; if there is none, or it is time to load it again, loads it by a
  /// closure that gets what there is, and stores it as that says.
  ///
  /// As `value(forKey:cost:expiration:orLoad:)`, for a load that can find out that the old value
  /// is still right: see ``OldValue``.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Gets the old value, which may have expired, nil if there is none. Makes the value,
  ///     or says that it is unchanged. Called at most once.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As there.
  /// - Complexity: As there.
  @_disfavoredOverload
  public func value(
    forKey key: Key, orLoad load: (OldValue<Value>?) throws -> LoadedValue<Value>
  ) throws -> Value {
    try value(forKey: key) { try load(old(forKey: key)) }
  }

  /// Reads the value under a key; if there is none, loads and stores it.
  ///
  /// ```swift
  /// let user = try await users.value(forKey: id) { try await server.user(id) }
  /// ```
  ///
  /// As the blocking form of the same name, but callers that wait are suspended, and the
  /// load runs in a task of its own, for which all of them wait. It is cancelled when nobody
  /// waits any more: because the key was set or removed, or with the last caller whose task
  /// is cancelled.
  ///
  /// With ``MemoryCacheConfiguration/refreshAfter`` all get the old value until the load
  /// that the first of them started in the background is done.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what
  ///     ``MemoryCacheConfiguration/cost`` says.
  ///   - expiration: How long a loaded entry lives; nil: as ``expiration`` says.
  ///   - load: Makes the value. Called at most once, and once more if the key is removed
  ///     while it runs.
  /// - Returns: The value that was there or was loaded. It is returned even if the limits
  ///   leave no room for it.
  /// - Throws: What the closure throws, this one or the one waited for;
  ///   `CancellationError` if the task is cancelled before there is a value;
  ///   `.invalidArgument` if a load asks for its own key.
  /// - Complexity: For a value that is there, that of ``value(forKey:)``; nothing is
  ///   suspended.
  @inlinable
  public nonisolated(nonsending) func value(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let found = valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try await self.load(found?.value, key) {
      LoadedValue(bare: try await load(), cost: cost, expiration: expiration)
    }
  }

  /// Reads the value under a key; if there is none, loads it, and stores it as the load says.
  ///
  /// As `value(forKey:cost:expiration:orLoad:)`, for a load that knows what its value costs,
  /// how long it lives, or that it must not be kept.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Makes the value. Called at most once, and once more if the key is removed
  ///     while it runs.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As there.
  /// - Complexity: As there.
  @inlinable
  public nonisolated(nonsending) func value(
    forKey key: Key, orLoad load: @escaping @Sendable () async throws -> LoadedValue<Value>
  ) async throws -> Value {
    let found = valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try await self.load(found?.value, key, load)
  }

  /// Reads the value under a key; if there is none, or it is time to load it again, loads it by a
  /// closure that gets what there is, and stores it as that says.
  ///
  /// As the blocking form of the same name; suspends as `value(forKey:cost:expiration:orLoad:)`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Gets the old value, which may have expired, nil if there is none. Makes the value,
  ///     or says that it is unchanged. Called at most once, and once more if the key is removed
  ///     while it runs.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As there.
  /// - Complexity: As there.
  public nonisolated(nonsending) func value(
    forKey key: Key,
    orLoad load: @escaping @Sendable (OldValue<Value>?) async throws -> LoadedValue<Value>
  ) async throws -> Value {
    try await value(forKey: key) { [self] in try await load(old(forKey: key)) }
  }

  // MARK: - Blocking

  @usableFromInline
  func load(_ key: Key, _ load: () throws -> LoadedValue<Value>) throws -> Value {
    if index.hasTerms, let (value, isOld) = valueAndAge(forKey: key) {
      guard isOld, let ongoing = loads.joinUnlessBusy(key) else { return value }
      // The failure is counted, and there is a value.
      return (try? run(ongoing, key, load).get()) ?? value
    }
    let value = try loads.value(key, mustFind: true, old: { oldValue(forKey: $0) }) { ongoing in
      valueLoadedMeanwhile(ongoing, key) ?? run(ongoing, key, load)
    }
    return try required(value)
  }

  private func run(
    _ ongoing: MemoryLoad<Value>, _ key: Key, _ load: () throws -> LoadedValue<Value>
  ) -> MemoryLoad<Value>.Outcome {
    let run = MemoryLoadRun(count: 1)
    loads.begin(run, [(key, ongoing)])
    let start = index.now
    let outcome = Result {
      try MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id], operation: load)
    }
    count(run, outcome, since: start)
    return finish(ongoing, key, outcome.map { $0 })
  }

  // MARK: - Suspending

  @usableFromInline
  nonisolated(nonsending) func load(
    _ old: Value?, _ key: Key, _ load: @escaping @Sendable () async throws -> LoadedValue<Value>
  ) async throws -> Value {
    if let old {
      if let ongoing = loads.joinUnlessBusy(key) { start(ongoing, key, load) }
      return old
    }
    let value = try await loads.value(
      key, mustFind: true, old: { oldValue(forKey: $0) },
      start: { ongoing in
        if valueLoadedMeanwhile(ongoing, key) == nil { start(ongoing, key, load) }
      })
    return try required(value)
  }

  private func start(
    _ ongoing: MemoryLoad<Value>, _ key: Key,
    _ load: @escaping @Sendable () async throws -> LoadedValue<Value>
  ) {
    let run = MemoryLoadRun(count: 1)
    loads.begin(run, [(key, ongoing)])
    let start = index.now
    let task = MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id]) {
      Task {
        let outcome: Result<LoadedValue<Value>?, any Error>
        do { outcome = .success(try await load()) } catch { outcome = .failure(error) }
        count(run, outcome, since: start)
        _ = finish(ongoing, key, outcome)
      }
    }
    run.setTask(task)
  }

  // MARK: - Finishing

  private func required(_ value: Value?) throws -> Value {
    guard let value else {
      throw LarderError(.invalidArgument, "A load ended without a value.")
    }
    return value
  }

  /// Another load may have finished between this one's miss and its start.
  func valueLoadedMeanwhile(
    _ ongoing: MemoryLoad<Value>, _ key: Key
  ) -> MemoryLoad<Value>.Outcome? {
    guard let value = peek(forKey: key) else { return nil }
    loads.end(ongoing, key, with: .success(value))
    return .success(value)
  }

  func count<R>(_ run: MemoryLoadRun, _ outcome: Result<R, any Error>, since start: Int64) {
    var hasFailed = false
    if case .failure = outcome { hasFailed = true }
    let (nanoseconds, _) = index.now.subtractingReportingOverflow(start)
    loads.counts.count(run, nanoseconds: nanoseconds, failed: hasFailed)
  }

  /// - Parameter outcome: nil if there is nothing under the key.
  func finish(
    _ ongoing: MemoryLoad<Value>, _ key: Key, _ outcome: Result<LoadedValue<Value>?, any Error>
  ) -> MemoryLoad<Value>.Outcome {
    if case .success(let loaded) = outcome { keep(loaded, key, of: ongoing) }
    let outcome = outcome.map { $0?.value }
    loads.end(ongoing, key, with: outcome)
    return outcome
  }

  /// Stores what was loaded, or removes what there is if that is to be or nothing was found;
  /// unless the key was written or removed meanwhile: those who do that say so while the
  /// index is locked.
  private func keep(_ loaded: LoadedValue<Value>?, _ key: Key, of ongoing: MemoryLoad<Value>) {
    let loaded = loaded.flatMap { $0.isStored ? $0 : nil }
    let cost = loaded.map { weigh(key, $0.value, $0.cost) }
    let expiration = loaded.flatMap { lives.own($0.expiration, key, $0.value) }
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var replaced: Value?
    var removed: Entry?
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if !ongoing.isSuperseded {
      if let loaded, let cost {
        var company = MemoryCompany(of: loaded)
        if loaded.keepsExtendedData, let old = match(key, candidate, &probe),
          !index.hasExpired(&probe)
        {
          company.extendedData = extendedData(of: old)
        }
        // Searched again, because the candidate above may be past the end.
        let candidate = index.first(hash, &probe)
        replaced = put(
          loaded.value, key, cost, expiration, candidate, &probe, &removedEntries, with: company)
      } else {
        removed = takeLocked(key, candidate, &probe, &removedEntries)
      }
    }
    end(&probe, &removedEntries)
    if let replaced { settle(replaced: replaced, key) }
    settle(&removedEntries)
    if let removed { settle(removed: removed) }
  }

  /// As ``value(forKey:)``, and whether it is time to load it again.
  @inlinable
  package func valueAndAge(forKey key: Key) -> (value: Value, isOld: Bool)? {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    if let entry = match(key, candidate, &probe) {
      let value = entry.pointee.value
      let isOld = index.hasTerms && index.isDue(entry)
      index.endReadingHit(&probe)
      return (value, isOld)
    }
    if index.endReadingMiss(&probe) { expire() }
    return nil
  }

  /// A value that may be returned although it has expired, when a load failed.
  package func oldValue(forKey key: Key) -> Value? {
    grace == 0 ? nil : old(forKey: key)?.value
  }

  /// The same with what was stored with it, also if it has not expired: for a load that may find
  /// that it is still the same.
  package func old(forKey key: Key) -> OldValue<Value>? {
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var old: OldValue<Value>?
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if let entry = match(key, candidate, &probe), !index.isOver(&probe, grace: grace) {
      let own = index.hasTerms ? index.terms(of: entry).pointee.own : nil
      old = OldValue(
        value: entry.pointee.value, extendedData: own?.extendedData, expiration: own?.expiration,
        refreshAfter: own?.refreshAfter)
    }
    end(&probe, &removedEntries)
    settle(&removedEntries)
    return old
  }

  private func extendedData(of entry: UnsafeMutableRawPointer) -> Data? {
    index.hasTerms ? index.terms(of: entry).pointee.own?.extendedData : nil
  }

  /// As ``value(forKey:)``, with what was stored with it.
  package func valueWithExtendedData(forKey key: Key) -> (value: Value, extendedData: Data?)? {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    if let entry = match(key, candidate, &probe) {
      let found = (entry.pointee.value, extendedData(of: entry))
      index.endReadingHit(&probe)
      return found
    }
    if index.endReadingMiss(&probe) { expire() }
    return nil
  }
}
