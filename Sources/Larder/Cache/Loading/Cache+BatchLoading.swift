// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension Cache {
  // MARK: - Blocking

  /// Reads the values under many keys; loads those that neither memory nor a tier has with one
  /// call, and stores them.
  ///
  /// ```swift
  /// let users = try cache.values(forKeys: ids) { missing in try database.users(missing) }
  /// ```
  ///
  /// The closure is called once, with the keys that have no value and that nobody else is
  /// loading; those are waited for. It is called again only for keys whose load by another
  /// caller was given up because they were removed.
  ///
  /// With ``LarderCore/MemoryCacheConfiguration/refreshAfter`` keys with a value of that age,
  /// which nobody else is loading again, go into the same call. If it fails, the old value is
  /// returned.
  ///
  /// That there is nothing under a key is remembered, as by
  /// `valueIfFound(forKey:cost:expiration:orLoad:)`. Other caches that share a tier may load the
  /// same keys at the same time; see ``CacheTier/beginLoad(forKey:reason:)``. In all else as
  /// `value(forKey:cost:expiration:orLoad:)`.
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
  /// - Complexity: That of `value(forKey:)` for each.
  @_disfavoredOverload
  public func values(
    forKeys keys: some Sequence<Key>, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: ([Key]) throws -> [Key: Value]
  ) throws -> [Key: Value] {
    try values(forKeys: keys) {
      try load($0).mapValues { LoadedValue(bare: $0, cost: cost, expiration: expiration) }
    }
  }

  /// Reads the values under many keys; loads those that neither memory nor a tier has with one
  /// call, and stores them as the load says.
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
    if !missing.isEmpty { try checkOpen() }
    try loads.values(missing, due: due, into: &values, old: oldValue(forKey:)) {
      missing, due in
      let run = MemoryLoadRun(count: missing.count + due.count)
      loads.begin(run, missing + due)
      MemoryLoading.$ids.withValue(ids(missing + due)) {
        var due = due
        let missing = missing.filter { key, ongoing in
          var found = memoryCache.peek(forKey: key)
          // A tier that fails, and has counted that, is no reason not to load.
          if found == nil, let entry = try? lowerEntry(forKey: key) {
            found = entry.value
            loads.end(ongoing, key, with: .success(entry.value))
            if isDue(entry) { due += loads.joinUnlessBusy([key]) }
          } else if let found {
            loads.end(ongoing, key, with: .success(found))
          }
          return found == nil
        }
        let own = missing + due
        if own.isEmpty { return }
        let permissions =
          permissionsNow(of: missing, .missingAmongMany) + permissionsNow(of: due, .refresh)
        let start = ContinuousClock.now
        let outcome = Result { try load(own.map(\.key)) }
        countCall(run, outcome, since: start)
        for (number, (key, ongoing)) in own.enumerated() {
          let loaded = outcome.map { found($0[key]) }
          let replaces = number >= missing.count
          keep(loaded, key, of: ongoing, replaces: replaces, permissions[number])
          loads.end(ongoing, key, with: loaded.map(\.value))
        }
      }
    }
    return values
  }

  // MARK: - Suspending

  /// Reads the values under many keys; loads those that neither memory nor a tier has with one
  /// call, and stores them.
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
  /// - Complexity: That of `value(forKey:)` for each.
  public nonisolated(nonsending) func values(
    forKeys keys: some Sequence<Key>, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable ([Key]) async throws -> [Key: Value]
  ) async throws -> [Key: Value] {
    try await values(forKeys: keys) {
      try await load($0).mapValues { LoadedValue(bare: $0, cost: cost, expiration: expiration) }
    }
  }

  /// Reads the values under many keys; loads those that neither memory nor a tier has with one
  /// call, and stores them as the load says.
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
    if !missing.isEmpty { try checkOpen() }
    let refreshes = loads.joinUnlessBusy(due)
    if !refreshes.isEmpty { start(refreshes, replaces: true, load) }
    try await loads.values(missing, into: &values, old: oldValue(forKey:)) {
      start($0, replaces: false, load)
    }
    return values
  }

  private func start(
    _ own: [MemoryLoads<Key, Value>.Keyed], replaces: Bool,
    _ load: @escaping @Sendable ([Key]) async throws -> [Key: LoadedValue<Value>]
  ) {
    let run = MemoryLoadRun(count: own.count)
    loads.begin(run, own)
    let body = Handover<@Sendable () async -> [Ended]> {
      await self.loadAndStore(run, own, replaces: replaces, load)
    }
    let work = BackgroundWork()
    let task = MemoryLoading.$ids.withValue(ids(own)) {
      Task { [loads] in
        // Who is told the outcome may release the cache, and open it again at once.
        let ended = await body.take()?() ?? []
        work.end()
        for ended in ended { loads.end(ended.load, ended.key, with: ended.outcome) }
      }
    }
    run.setTask(task)
  }

  /// A load whose callers are to be told what came of it.
  private typealias Ended = (
    key: Key, load: MemoryLoad<Value>, outcome: MemoryLoad<Value>.Outcome
  )

  private func loadAndStore(
    _ run: MemoryLoadRun, _ own: [MemoryLoads<Key, Value>.Keyed], replaces: Bool,
    _ load: @escaping @Sendable ([Key]) async throws -> [Key: LoadedValue<Value>]
  ) async -> [Ended] {
    let (own, there) = replaces ? (own, []) : await missing(of: own, load)
    if own.isEmpty { return there }
    for ended in there { loads.end(ended.load, ended.key, with: ended.outcome) }
    let permissions = await permissions(of: own, replaces ? .refresh : .missingAmongMany)
    let start = ContinuousClock.now
    let outcome: Result<[Key: LoadedValue<Value>], any Error>
    do { outcome = .success(try await load(own.map(\.key))) } catch { outcome = .failure(error) }
    countCall(run, outcome, since: start)
    return await each(Array(zip(own, permissions))) { [self] keyed, permission in
      let loaded = outcome.map { found($0[keyed.key]) }
      await keep(loaded, keyed.key, of: keyed.load, replaces: replaces, permission)
      return (keyed.key, keyed.load, loaded.map(\.value))
    }
  }

  /// Looks for what is there after all, or in a tier; loads what is old of that again.
  private func missing(
    of own: [MemoryLoads<Key, Value>.Keyed],
    _ load: @escaping @Sendable ([Key]) async throws -> [Key: LoadedValue<Value>]
  ) async -> (own: [MemoryLoads<Key, Value>.Keyed], there: [Ended]) {
    let found = await each(own) { [self] key, _ -> (value: Value?, isDue: Bool) in
      if let value = memoryCache.peek(forKey: key) { return (value, false) }
      // A tier that fails, and has counted that, is no reason not to load.
      guard let entry = try? await lowerEntry(forKey: key) else { return (nil, false) }
      return (entry.value, isDue(entry))
    }
    var missing: [MemoryLoads<Key, Value>.Keyed] = []
    var (there, old): ([Ended], [Key]) = ([], [])
    for (keyed, (value, isDue)) in zip(own, found) {
      guard let value else {
        missing.append(keyed)
        continue
      }
      if isDue {
        loads.end(keyed.load, keyed.key, with: .success(value))
        old.append(keyed.key)
      } else {
        there.append((keyed.key, keyed.load, .success(value)))
      }
    }
    let due = loads.joinUnlessBusy(old)
    if !due.isEmpty { start(due, replaces: true, load) }
    return (missing, there)
  }

  private func permissions(
    of own: [MemoryLoads<Key, Value>.Keyed], _ reason: CacheTierLoadReason
  ) async -> [CacheTierLoad<Value>?] {
    await each(own) { [self] key, _ in await permission(forKey: key, reason: reason) }
  }

  private func permissionsNow(
    of own: [MemoryLoads<Key, Value>.Keyed], _ reason: CacheTierLoadReason
  ) -> [CacheTierLoad<Value>?] {
    guard !own.isEmpty, slots.last?.mayWait == true else { return own.map { _ in .allowed } }
    // What is thrown is what did not wait, and nothing does not.
    return (try? blocking { await self.permissions(of: own, reason) }) ?? own.map { _ in nil }
  }

  /// Does something to each, and returns what came of it, in order. Where a tier waits for a
  /// server, several are under way at a time.
  private func each<Element: Sendable, Result: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) async -> Result
  ) async -> [Result] {
    let atATime = slots.contains { $0.mayWait } ? 64 : 1
    return await withTaskGroup(of: (Int, Result).self) { group in
      var results = [Result?](repeating: nil, count: elements.count)
      for (number, element) in elements.enumerated() {
        if number >= atATime, let (done, result) = await group.next() { results[done] = result }
        group.addTask { (number, await body(element)) }
      }
      for await (done, result) in group { results[done] = result }
      return results.compactMap(\.self)
    }
  }

  // MARK: - Both

  /// What memory has, the keys of what it has not, each once, and those of what is old.
  private func look(
    _ keys: some Sequence<Key>
  ) -> (values: [Key: Value], missing: [Key], due: [Key]) {
    var (values, missing, due) = memoryCache.look(keys)
    missing.removeAll { isKnownAbsent($0) }
    return (values, missing, due)
  }

  private func ids(_ own: [MemoryLoads<Key, Value>.Keyed]) -> [UInt64] {
    MemoryLoading.ids + own.map(\.load.id)
  }

  /// What a load of many keys gave for one.
  private func found(_ loaded: LoadedValue<Value>?) -> LoadedValue<Value?> {
    if loaded == nil { countEmpty() }
    return loaded?.found ?? LoadedValue<Value?>(nil)
  }
}
