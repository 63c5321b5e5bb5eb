// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension Cache {
  /// Reads the value under a key; if neither memory nor a tier has one, loads and stores it.
  ///
  /// ```swift
  /// let user = try await users.value(forKey: id) { try await server.user(id) }
  /// ```
  ///
  /// As the blocking form of the same name, but those who wait are suspended, and the load
  /// runs in a task of its own. A task that is cancelled stops waiting; the load goes on for
  /// the others, and is cancelled when nobody is left who waits.
  ///
  /// With ``LarderCore/MemoryCacheConfiguration/refreshAfter`` all get the old value until the load
  /// that the first of them started in the background is done.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long a loaded entry lives; nil: as each tier has it.
  ///   - load: Makes the value. Called at most once.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: What the closure throws, this one or the one waited for;
  ///   `CancellationError` if the task is cancelled before there is a value;
  ///   `.invalidArgument` if a load asks for its own key; `.closed`.
  /// - Complexity: For a value that is in memory, that of `value(forKey:)`; nothing is
  ///   suspended.
  @inlinable
  public nonisolated(nonsending) func value(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    if let (value, isOld) = memoryCache.valueAndAge(forKey: key) {
      if isOld { refreshInBackground(key, cost, expiration, load) }
      return value
    }
    return try await self.load(key, cost, expiration, load)
  }

  /// Reads the value under a key; if neither memory nor a tier has one, looks for it and
  /// stores what was found.
  ///
  /// As the blocking form of the same name; suspends as
  /// `value(forKey:cost:expiration:orLoad:)`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long a loaded entry lives; nil: as each tier has it.
  ///   - load: Makes the value, or gives nil if there is none. Called at most once.
  /// - Returns: The value that was there or was found; nil if there is none.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is in memory, that of `value(forKey:)`.
  public nonisolated(nonsending) func valueIfFound(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable () async throws -> Value?
  ) async throws -> Value? {
    if let (value, isOld) = memoryCache.valueAndAge(forKey: key) {
      if isOld { refreshInBackground(key, cost, expiration, load) }
      return value
    }
    if isKnownAbsent(key) { return nil }
    return try await run(key, cost, expiration, mustFind: false, load)
  }

  @usableFromInline
  nonisolated(nonsending) func load(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard let value = try await run(key, cost, expiration, mustFind: true, load) else {
      throw LarderError(.invalidArgument, "A load ended without a value.")
    }
    return value
  }

  @usableFromInline @inline(never)
  func refreshInBackground(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @escaping @Sendable () async throws -> Value?
  ) {
    guard let ongoing = loads.joinUnlessBusy(key) else { return }
    loads.refreshes.add(1, ordering: .relaxed)
    start(ongoing, key) { [self] in
      try await loadAndStore(ongoing, key, cost, expiration, replaces: true, load)
    }
  }

  private func start(
    _ ongoing: MemoryLoad<Value?>, _ key: Key,
    _ body: @escaping @Sendable () async throws -> Value?
  ) {
    let task = MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id]) {
      Task {
        let outcome: Result<Value?, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        loads.end(ongoing, key, with: outcome)
      }
    }
    ongoing.setTask(task)
  }

  private nonisolated(nonsending) func run(
    _ key: Key, _ cost: Int?, _ expiration: Expiration?, mustFind: Bool,
    _ load: @escaping @Sendable () async throws -> Value?
  ) async throws -> Value? {
    try checkOpen()
    while true {
      try Task.checkCancellation()
      switch try loads.join(key) {
      case .wait(let ongoing):
        if let value = try await ongoing.value() { return value }
        if !mustFind { return nil }
      case .load(let ongoing):
        start(ongoing, key) { [self] in
          try await find(ongoing, key, cost, expiration, load)
        }
        return try await ongoing.value()
      }
    }
  }

  private func find(
    _ ongoing: MemoryLoad<Value?>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    _ load: @Sendable () async throws -> Value?
  ) async throws -> Value? {
    if let value = memoryCache.peek(forKey: key) { return value }
    // A tier that fails, and has counted that, is no reason not to load.
    if let entry = try? await lowerEntry(forKey: key) { return entry.value }
    return try await loadAndStore(ongoing, key, cost, expiration, replaces: false, load)
  }

  private func loadAndStore(
    _ ongoing: MemoryLoad<Value?>, _ key: Key, _ cost: Int?, _ expiration: Expiration?,
    replaces: Bool, _ load: @Sendable () async throws -> Value?
  ) async throws -> Value? {
    let start = ContinuousClock.now
    let outcome: Result<Value?, any Error>
    do { outcome = .success(try await load()) } catch { outcome = .failure(error) }
    count(outcome, since: start)
    let value = try outcome.get()
    do {
      if value != nil { try await makeRoom(for: key) }
      let token = await writers.begin(key)
      defer { writers.end(key, token) }
      if ongoing.isSuperseded { return value }
      guard let value else {
        if replaces { try await store(nil, key, token) }
        absent?.set(true, forKey: key)
        return nil
      }
      try await store(Entry(value: value, cost: cost, expiration: expiration), key, token)
    } catch {
      report(key, error)
    }
    return value
  }
}
