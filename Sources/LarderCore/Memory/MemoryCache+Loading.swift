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
  /// However many ask for a key at once, one of them loads and the others wait for it,
  /// blocking their threads, and get the same value or the same error. An error is not
  /// stored: who asks next loads again.
  ///
  /// What is set or removed under the key while a load is under way is newer than what
  /// it loads: those who waited get that, but it is not stored, and who asks from then
  /// on starts a load of their own.
  ///
  /// With ``MemoryCacheConfiguration/refreshAfter`` the first one who comes upon a value
  /// of that age loads it again, here and now; until that is done all others get the
  /// old value. If this load fails, the old value is returned.
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
  @available(*, noasync, message: "It blocks; await the asynchronous form.")
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
  /// As the blocking form of the same name, but those who wait are suspended, and the load
  /// runs in a task of its own. A task that is cancelled
  /// stops waiting; the load goes on for the others, and is cancelled when nobody is left
  /// who waits.
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
    switch try flights.join(key) {
    case .wait(let flight):
      return try flight.wait()
    case .load(let flight):
      if let value = landed(flight, key) { return value }
      return try fly(flight, key, cost, expiration, load)
    }
  }

  @usableFromInline
  func refresh(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?, _ load: () throws -> Value
  ) throws -> Value {
    guard let (value, isOld) = agedValue(forKey: key) else {
      return try self.load(key, cost, expiration, load)
    }
    guard isOld, let flight = flights.joinUnlessBusy(key) else { return value }
    flights.refreshes.add(1, ordering: .relaxed)
    // The failure is counted, and there is a value.
    return (try? fly(flight, key, cost, expiration, load)) ?? value
  }

  private func fly(
    _ flight: MemoryFlight<Value>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: () throws -> Value
  ) throws -> Value {
    let start = index.now
    let outcome = Result {
      try MemoryLoading.$flights.withValue(MemoryLoading.flights + [flight.id], operation: load)
    }
    land(flight, key, cost, expiration, outcome, start)
    return try outcome.get()
  }

  // MARK: - Suspending

  @usableFromInline
  nonisolated(nonsending) func load(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    switch try flights.join(key) {
    case .wait(let flight):
      return try await flight.value()
    case .load(let flight):
      if let value = landed(flight, key) { return value }
      takeOff(flight, key, cost, expiration, load)
      return try await flight.value()
    }
  }

  @usableFromInline @inline(never)
  func refreshInBackground(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) {
    guard let flight = flights.joinUnlessBusy(key) else { return }
    flights.refreshes.add(1, ordering: .relaxed)
    takeOff(flight, key, cost, expiration, load)
  }

  private func takeOff(
    _ flight: MemoryFlight<Value>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) {
    let start = index.now
    let task = MemoryLoading.$flights.withValue(MemoryLoading.flights + [flight.id]) {
      Task {
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await load()) } catch { outcome = .failure(error) }
        land(flight, key, cost, expiration, outcome, start)
      }
    }
    flight.setTask(task)
  }

  // MARK: - Landing

  /// Another load may have ended between this one's miss and its beginning.
  private func landed(_ flight: MemoryFlight<Value>, _ key: Key) -> Value? {
    guard let value = peek(forKey: key) else { return nil }
    flights.end(flight, key, with: .success(value))
    return value
  }

  private func land(
    _ flight: MemoryFlight<Value>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ outcome: Result<Value, any Error>, _ start: Int64
  ) {
    let (nanoseconds, _) = index.now.subtractingReportingOverflow(start)
    switch outcome {
    case .success(let value):
      flights.count(nanoseconds: nanoseconds, failed: false)
      store(value, key, cost, expiration, of: flight)
    case .failure:
      flights.count(nanoseconds: nanoseconds, failed: true)
    }
    flights.end(flight, key, with: outcome)
  }

  /// Stores what was loaded, unless the key was written or removed meanwhile: those who
  /// do that say so while the index is locked.
  private func store(
    _ value: Value, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    of flight: MemoryFlight<Value>
  ) {
    let cost = weigh(key, value, cost)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var departures = Departures()
    var replaced: Value?
    let candidate = beginLocked(hash, &probe, &departures)
    if !flight.isSuperseded {
      replaced = put(value, key, cost, expiration, candidate, &probe, &departures)
    }
    end(&probe, &departures)
    if let replaced { settle(replaced: replaced, key) }
    settle(&departures)
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
