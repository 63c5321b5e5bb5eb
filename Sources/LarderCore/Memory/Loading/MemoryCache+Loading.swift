// SPDX-License-Identifier: MIT

import Synchronization

extension MemoryCache {
  // The blocking form is disfavoured, or a closure without `await` in asynchronous code
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
  /// What is set or removed under the key during a load is newer than what it loads. The
  /// callers that waited still get the loaded value, but it is not stored, and later
  /// callers start a load of their own.
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
    if stampOffset != 0 { return try refresh(key, cost, expiration, load) }
    if let value = value(forKey: key) { return value }
    return try self.load(key, cost, expiration, load)
  }

  /// Reads the value under a key; if there is none, loads and stores it.
  ///
  /// ```swift
  /// let user = try await users.value(forKey: id) { try await server.user(id) }
  /// ```
  ///
  /// As the blocking form of the same name, but callers that wait are suspended, and the
  /// load runs in a task of its own. A cancelled task stops waiting; the load continues for
  /// the others, and is cancelled with the last of them.
  ///
  /// With ``MemoryCacheConfiguration/refreshAfter`` all get the old value until the load
  /// that the first of them started in the background is done.
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
  ///   `CancellationError` if the task is cancelled before there is a value;
  ///   `.invalidArgument` if a load asks for its own key.
  /// - Complexity: For a value that is there, that of ``value(forKey:)``; nothing is
  ///   suspended.
  @inlinable
  public nonisolated(nonsending) func value(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    if let (value, isOld) = valueAndAge(forKey: key) {
      if isOld { refreshInBackground(key, cost, expiration, load) }
      return value
    }
    return try await self.load(key, cost, expiration, load)
  }

  // MARK: - Blocking

  @usableFromInline
  func load(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?, _ load: () throws -> Value
  ) throws -> Value {
    switch try loads.join(key) {
    case .wait(let ongoing):
      return try ongoing.wait()
    case .load(let ongoing):
      if let value = valueLoadedMeanwhile(ongoing, key) { return value }
      return try run(ongoing, key, cost, expiration, load)
    }
  }

  @usableFromInline
  func refresh(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?, _ load: () throws -> Value
  ) throws -> Value {
    guard let (value, isOld) = agedValue(forKey: key) else {
      return try self.load(key, cost, expiration, load)
    }
    guard isOld, let ongoing = loads.joinUnlessBusy(key) else { return value }
    loads.refreshes.add(1, ordering: .relaxed)
    // The failure is counted, and there is a value.
    return (try? run(ongoing, key, cost, expiration, load)) ?? value
  }

  private func run(
    _ ongoing: MemoryLoad<Value>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: () throws -> Value
  ) throws -> Value {
    let start = index.now
    let outcome = Result {
      try MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id], operation: load)
    }
    finish(ongoing, key, cost, expiration, outcome, start)
    return try outcome.get()
  }

  // MARK: - Suspending

  @usableFromInline
  nonisolated(nonsending) func load(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    switch try loads.join(key) {
    case .wait(let ongoing):
      return try await ongoing.value()
    case .load(let ongoing):
      if let value = valueLoadedMeanwhile(ongoing, key) { return value }
      start(ongoing, key, cost, expiration, load)
      return try await ongoing.value()
    }
  }

  @usableFromInline @inline(never)
  func refreshInBackground(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) {
    guard let ongoing = loads.joinUnlessBusy(key) else { return }
    loads.refreshes.add(1, ordering: .relaxed)
    start(ongoing, key, cost, expiration, load)
  }

  private func start(
    _ ongoing: MemoryLoad<Value>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) {
    let start = index.now
    let task = MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id]) {
      Task {
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await load()) } catch { outcome = .failure(error) }
        finish(ongoing, key, cost, expiration, outcome, start)
      }
    }
    ongoing.setTask(task)
  }

  // MARK: - Finishing

  /// Another load may have finished between this one's miss and its start.
  private func valueLoadedMeanwhile(_ ongoing: MemoryLoad<Value>, _ key: Key) -> Value? {
    guard let value = peek(forKey: key) else { return nil }
    loads.end(ongoing, key, with: .success(value))
    return value
  }

  private func finish(
    _ ongoing: MemoryLoad<Value>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ outcome: Result<Value, any Error>, _ start: Int64
  ) {
    let (nanoseconds, _) = index.now.subtractingReportingOverflow(start)
    switch outcome {
    case .success(let value):
      loads.count(nanoseconds: nanoseconds, failed: false)
      store(value, key, cost, expiration, of: ongoing)
    case .failure:
      loads.count(nanoseconds: nanoseconds, failed: true)
    }
    loads.end(ongoing, key, with: outcome)
  }

  /// Stores what was loaded, unless the key was written or removed meanwhile: those who
  /// do that say so while the index is locked.
  private func store(
    _ value: Value, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    of ongoing: MemoryLoad<Value>
  ) {
    let cost = weigh(key, value, cost)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var replaced: Value?
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if !ongoing.isSuperseded {
      replaced = put(value, key, cost, expiration, candidate, &probe, &removedEntries)
    }
    end(&probe, &removedEntries)
    if let replaced { settle(replaced: replaced, key) }
    settle(&removedEntries)
  }

  /// As ``value(forKey:)``, and whether it is time to load it again.
  @inlinable
  package func valueAndAge(forKey key: Key) -> (value: Value, isOld: Bool)? {
    if stampOffset != 0 { return agedValue(forKey: key) }
    guard let value = value(forKey: key) else { return nil }
    return (value, false)
  }

  /// The same where there is an age from which values are loaded again.
  @usableFromInline
  func agedValue(forKey key: Key) -> (value: Value, isOld: Bool)? {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    if let entry = match(key, candidate, &probe) {
      let value = entry.pointee.value
      let age = index.age(entry, stampOffset)
      index.endReadingHit(&probe)
      return (value, age >= refreshAfter)
    }
    if index.endReadingMiss(&probe) { expire() }
    return nil
  }
}
