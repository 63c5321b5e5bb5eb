// SPDX-License-Identifier: MIT

import Synchronization

extension MemoryCache {
  // MARK: - Blocking

  /// Reads the values under many keys; loads those that are missing with one call, and stores
  /// them.
  ///
  /// ```swift
  /// let users = try cache.values(forKeys: ids) { missing in try database.users(missing) }
  /// ```
  ///
  /// The closure is called once, with the keys that have no value and that nobody else is
  /// loading; those are waited for. It is called again only for keys whose load by another
  /// caller was given up because they were removed.
  ///
  /// With ``MemoryCacheConfiguration/refreshAfter`` keys with a value of that age, which nobody
  /// else is loading again, go into the same call. Where it fails, or another caller's does,
  /// the old value is returned.
  ///
  /// In all else as `value(forKey:cost:expiration:orLoad:)`.
  ///
  /// - Parameters:
  ///   - keys: The keys.
  ///   - cost: What each loaded entry weighs; nil: what the configuration says.
  ///   - expiration: How long each lives; nil: as the cache has it.
  ///   - load: Gets keys, each once, and makes their values. A key that it leaves out has none:
  ///     an old value under it is removed. What it gives besides is ignored.
  /// - Returns: What was there or was loaded; a key without a value is missing.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`, when all loads have ended; what was
  ///   loaded is stored then.
  /// - Complexity: O(number of keys) expected.
  @_disfavoredOverload
  public func values(
    forKeys keys: some Sequence<Key>, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: ([Key]) throws -> [Key: Value]
  ) throws -> [Key: Value] {
    try values(forKeys: keys) {
      try load($0).mapValues { LoadedValue(bare: $0, cost: cost, expiration: expiration) }
    }
  }

  /// Reads the values under many keys; loads those that are missing with one call, and stores
  /// them as the load says.
  ///
  /// - Parameters:
  ///   - keys: The keys.
  ///   - load: As in `values(forKeys:cost:expiration:orLoad:)`, and says
  ///     of each value what it costs, how long it lives, and whether it is kept.
  /// - Returns: What was there or was loaded; a key without a value is missing.
  /// - Throws: As there.
  /// - Complexity: As there.
  @_disfavoredOverload
  public func values(
    forKeys keys: some Sequence<Key>, orLoad load: ([Key]) throws -> [Key: LoadedValue<Value>]
  ) throws -> [Key: Value] {
    var (values, missing, due) = look(keys)
    try loads.values(missing, due: due, into: &values, old: { oldValue(forKey: $0) }) {
      missing, due in
      let own = stillMissing(missing) + due
      if own.isEmpty { return }
      let (run, ids, start) = begin(own)
      let outcome = Result {
        try MemoryLoading.$ids.withValue(ids) { try load(own.map(\.key)) }
      }
      finish(run, own, outcome, since: start)
    }
    return values
  }

  // MARK: - Suspending

  /// Reads the values under many keys; loads those that are missing with one call, and stores
  /// them.
  ///
  /// ```swift
  /// let users = try await cache.values(forKeys: ids) { missing in
  ///   try await server.users(missing)
  /// }
  /// ```
  ///
  /// As the blocking form, but callers that wait are suspended, and the load runs in a task of
  /// its own. Old values are returned at once, and all that nobody else is loading again are
  /// loaded by one call in the background.
  ///
  /// - Parameters:
  ///   - keys: The keys.
  ///   - cost: What each loaded entry weighs; nil: what the configuration says.
  ///   - expiration: How long each lives; nil: as the cache has it.
  ///   - load: Gets keys, each once, and makes their values. A key that it leaves out has none:
  ///     an old value under it is removed. What it gives besides is ignored.
  /// - Returns: What was there or was loaded; a key without a value is missing.
  /// - Throws: As the blocking form; `CancellationError` if the task is cancelled before all is
  ///   there.
  /// - Complexity: O(number of keys) expected.
  public nonisolated(nonsending) func values(
    forKeys keys: some Sequence<Key>, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable ([Key]) async throws -> [Key: Value]
  ) async throws -> [Key: Value] {
    try await values(forKeys: keys) {
      try await load($0).mapValues { LoadedValue(bare: $0, cost: cost, expiration: expiration) }
    }
  }

  /// Reads the values under many keys; loads those that are missing with one call, and stores
  /// them as the load says.
  ///
  /// - Parameters:
  ///   - keys: The keys.
  ///   - load: As in `values(forKeys:cost:expiration:orLoad:)`, and says
  ///     of each value what it costs, how long it lives, and whether it is kept.
  /// - Returns: What was there or was loaded; a key without a value is missing.
  /// - Throws: As there.
  /// - Complexity: As there.
  public nonisolated(nonsending) func values(
    forKeys keys: some Sequence<Key>,
    orLoad load: @escaping @Sendable ([Key]) async throws -> [Key: LoadedValue<Value>]
  ) async throws -> [Key: Value] {
    var (values, missing, due) = look(keys)
    let refreshes = loads.joinUnlessBusy(due)
    if !refreshes.isEmpty { start(refreshes, load) }
    try await loads.values(missing, into: &values, old: { oldValue(forKey: $0) }) { missing in
      let own = stillMissing(missing)
      if !own.isEmpty { start(own, load) }
    }
    return values
  }

  private func start(
    _ own: [MemoryLoads<Key, Value>.Keyed],
    _ load: @escaping @Sendable ([Key]) async throws -> [Key: LoadedValue<Value>]
  ) {
    let (run, ids, start) = begin(own)
    let task = MemoryLoading.$ids.withValue(ids) {
      Task {
        let outcome: Result<[Key: LoadedValue<Value>], any Error>
        do { outcome = .success(try await load(own.map(\.key))) } catch {
          outcome = .failure(error)
        }
        finish(run, own, outcome, since: start)
      }
    }
    run.setTask(task)
  }

  // MARK: - Both

  /// What there is, the keys of what there is not, each once, and those of what is old.
  package func look(
    _ keys: some Sequence<Key>
  ) -> (values: [Key: Value], missing: [Key], due: [Key]) {
    var values: [Key: Value] = [:]
    var missing: [Key] = []
    var due: [Key] = []
    var seen: Set<Key> = []
    for key in keys where seen.insert(key).inserted {
      if let (value, isOld) = valueAndAge(forKey: key) {
        values[key] = value
        if isOld { due.append(key) }
      } else {
        missing.append(key)
      }
    }
    return (values, missing, due)
  }

  private func stillMissing(
    _ own: [MemoryLoads<Key, Value>.Keyed]
  ) -> [MemoryLoads<Key, Value>.Keyed] {
    own.filter { valueLoadedMeanwhile($0.load, $0.key) == nil }
  }

  private func begin(
    _ own: [MemoryLoads<Key, Value>.Keyed]
  ) -> (run: MemoryLoadRun, ids: [UInt64], start: Int64) {
    let run = MemoryLoadRun(count: own.count)
    loads.begin(run, own)
    return (run, MemoryLoading.ids + own.map(\.load.id), index.now)
  }

  private func finish(
    _ run: MemoryLoadRun, _ own: [MemoryLoads<Key, Value>.Keyed],
    _ outcome: Result<[Key: LoadedValue<Value>], any Error>, since start: Int64
  ) {
    count(run, outcome, since: start)
    for (key, ongoing) in own { _ = finish(ongoing, key, outcome.map { $0[key] }) }
  }
}
