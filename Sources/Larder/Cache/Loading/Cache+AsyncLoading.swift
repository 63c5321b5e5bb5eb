// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension Cache {
  /// A load, which may ask for what there is.
  @usableFromInline
  typealias Loader<Loaded: Sendable> =
    @Sendable (@Sendable () async -> OldValue<Value>?) async throws -> LoadedValue<Loaded>

  /// Reads the value under a key; if neither memory nor a tier has one, loads and stores it.
  ///
  /// ```swift
  /// let user = try await users.value(forKey: id) { try await server.user(id) }
  /// ```
  ///
  /// As the blocking form of the same name, but those who wait are suspended, and the load
  /// runs in a task of its own, for which all of them wait. It is cancelled when nobody waits
  /// any more: because the key was set or removed, or with the last caller whose task is
  /// cancelled.
  ///
  /// With ``LarderCore/MemoryCacheConfiguration/refreshAfter`` all get the old value until the load
  /// that the first of them started in the background is done.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What a loaded entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long a loaded entry lives; nil: as each tier has it.
  ///   - load: Makes the value. Called at most once, and once more if the key is removed
  ///     while it runs.
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
    let found = memoryCache.valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try await self.load(found?.value, key) { _ in
      LoadedValue(bare: try await load(), cost: cost, expiration: expiration)
    }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, loads it, and stores it
  /// as the load says.
  ///
  /// As the blocking form of the same name; suspends as
  /// `value(forKey:cost:expiration:orLoad:)`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Makes the value. Called at most once, and once more if the key is removed
  ///     while it runs.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is in memory, that of `value(forKey:)`.
  @inlinable
  public nonisolated(nonsending) func value(
    forKey key: Key, orLoad load: @escaping @Sendable () async throws -> LoadedValue<Value>
  ) async throws -> Value {
    let found = memoryCache.valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try await self.load(found?.value, key) { _ in try await load() }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, or it is time to load it
  /// again, loads it by a closure that gets what there is, and stores it as that says.
  ///
  /// As the blocking form of the same name; suspends as
  /// `value(forKey:cost:expiration:orLoad:)`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Gets the old value, nil if there is none. Makes the value, or says that it is
  ///     unchanged. Called at most once, and once more if the key is removed while it runs.
  /// - Returns: The value that was there or was loaded.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is in memory, that of `value(forKey:)`.
  @inlinable
  public nonisolated(nonsending) func value(
    forKey key: Key,
    orLoad load: @escaping @Sendable (OldValue<Value>?) async throws -> LoadedValue<Value>
  ) async throws -> Value {
    let found = memoryCache.valueAndAge(forKey: key)
    if let found, !found.isOld { return found.value }
    return try await self.load(found?.value, key) { try await load(await $0()) }
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
  ///   - load: Makes the value, or gives nil if there is none. Called at most once, and once
  ///     more if the key is removed while it runs.
  /// - Returns: The value that was there or was found; nil if there is none.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is in memory, that of `value(forKey:)`.
  public nonisolated(nonsending) func valueIfFound(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    orLoad load: @escaping @Sendable () async throws -> Value?
  ) async throws -> Value? {
    try await lookUp(key) { _ in
      let value = try await load()
      return LoadedValue(bare: value, cost: cost, expiration: value == nil ? nil : expiration)
    }
  }

  /// Reads the value under a key; if neither memory nor a tier has one, looks for it, and stores
  /// what was found as the load says.
  ///
  /// As the blocking form of the same name; suspends as
  /// `value(forKey:cost:expiration:orLoad:)`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - load: Makes the value, or gives one of nil if there is none. Called at most once, and
  ///     once more if the key is removed while it runs.
  /// - Returns: The value that was there or was found; nil if there is none.
  /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
  /// - Complexity: For a value that is in memory, that of `value(forKey:)`.
  public nonisolated(nonsending) func valueIfFound(
    forKey key: Key, orLoad load: @escaping @Sendable () async throws -> LoadedValue<Value?>
  ) async throws -> Value? {
    try await lookUp(key) { _ in try await load() }
  }

  private nonisolated(nonsending) func lookUp(
    _ key: Key, _ load: @escaping Loader<Value?>
  ) async throws -> Value? {
    if let (value, isOld) = memoryCache.valueAndAge(forKey: key) {
      if isOld { refreshInBackground(key, nil, load) }
      return value
    }
    if isKnownAbsent(key) { return nil }
    return try await run(key, mustFind: false, load)
  }

  @usableFromInline
  nonisolated(nonsending) func load(
    _ old: Value?, _ key: Key, _ load: @escaping Loader<Value>
  ) async throws -> Value {
    let load: Loader<Value?> = { try await load($0).found }
    if let old {
      refreshInBackground(key, nil, load)
      return old
    }
    return try required(try await run(key, mustFind: true, load))
  }

  /// - Parameter entry: What a tier has; nil if it is memory that has it.
  private func refreshInBackground(
    _ key: Key, _ entry: Entry?, _ load: @escaping Loader<Value?>
  ) {
    guard let ongoing = loads.joinUnlessBusy(key) else { return }
    start(ongoing, key) { [self] run -> Looked in
      let permission = await permission(forKey: key, reason: .refresh)
      let value = try await loadAndStore(run, ongoing, key, true, permission) {
        try await load {
          if let entry { return OldValue(entry, self.clock.date) }
          return await self.old(forKey: key)
        }
      }
      return (value, nil)
    }
  }

  private nonisolated(nonsending) func run(
    _ key: Key, mustFind: Bool, _ load: @escaping Loader<Value?>
  ) async throws -> Value? {
    try checkOpen()
    return try await loads.value(
      key, mustFind: mustFind, old: oldValue(forKey:)
    ) { ongoing in
      start(ongoing, key) { [self] run -> Looked in
        if let value = memoryCache.peek(forKey: key) { return (value, nil) }
        var permission: CacheTierLoad<Value>?
        for _ in 0..<maximumLooks {
          var failure: (any Error)?
          do {
            if let entry = try await lowerEntry(forKey: key) {
              if !isDue(entry) { return (entry.value, nil) }
              return (entry.value, { self.refreshInBackground(key, entry, load) })
            }
          } catch {
            // A tier that fails, and has counted that, is no reason not to load.
            failure = error
          }
          permission = await self.permission(forKey: key, failure: failure)
          if Task.isCancelled {
            // Nobody waits for it any longer, here: elsewhere perhaps.
            if case .granted(let lease)? = permission { await lease.release() }
            throw CancellationError()
          }
          guard case .changed? = permission, failure == nil else { break }
        }
        let value = try await loadAndStore(run, ongoing, key, false, permission) {
          try await load { await self.old(forKey: key) }
        }
        return (value, nil)
      }
    }
  }

  /// What was found, and what is to be done when everybody has that.
  private typealias Looked = (value: Value?, next: (@Sendable () -> Void)?)

  private func start(
    _ ongoing: MemoryLoad<Value>, _ key: Key,
    _ body: @escaping @Sendable (MemoryLoadRun) async throws -> Looked
  ) {
    let run = MemoryLoadRun(count: 1)
    loads.begin(run, [(key, ongoing)])
    let body = Handover(body)
    let work = BackgroundWork()
    let task = MemoryLoading.$ids.withValue(MemoryLoading.ids + [ongoing.id]) {
      Task { [loads] in
        var outcome: Result<Value?, any Error> = .failure(CancellationError())
        var next: (@Sendable () -> Void)?
        do {
          // Who is told the outcome may release the cache, and open it again at once.
          if let found = try await body.take()?(run) {
            next = found.next
            outcome = .success(found.value)
          }
        } catch {
          outcome = .failure(error)
        }
        loads.end(ongoing, key, with: outcome)
        next?()
        next = nil
        work.end()
      }
    }
    run.setTask(task)
  }

  private func loadAndStore(
    _ run: MemoryLoadRun, _ ongoing: MemoryLoad<Value>, _ key: Key, _ replaces: Bool,
    _ permission: CacheTierLoad<Value>?,
    _ load: @Sendable () async throws -> LoadedValue<Value?>
  ) async throws -> Value? {
    let start = ContinuousClock.now
    let outcome: Result<LoadedValue<Value?>, any Error>
    do { outcome = .success(try await load()) } catch { outcome = .failure(error) }
    count(run, outcome, since: start)
    await keep(outcome, key, of: ongoing, replaces: replaces, permission)
    return try outcome.get().value
  }

  /// Whether what is loaded may be kept: the farthest tier says so, if others may share it.
  ///
  /// - Parameters:
  ///   - failure: Why it is not known what the tiers have.
  ///   - reason: Why it is loaded.
  /// - Returns: nil if that tier cannot tell.
  func permission(
    forKey key: Key, failure: (any Error)? = nil, reason: CacheTierLoadReason = .missing
  ) async -> CacheTierLoad<Value>? {
    // A write of ours that waits is made after all that others have written by now.
    guard let slot = slots.last, slot.mayWait, queue?.write(forKey: key) == nil else {
      return .allowed
    }
    // It would not answer this either, and nobody should wait for that twice.
    if (failure as? LarderError)?.code == .timedOut || Task.isCancelled { return nil }
    do {
      return try await slot.tier.beginLoad(forKey: key, reason: reason)
    } catch {
      slot.countFailure(error)
      return nil
    }
  }

  /// Stores what was loaded, as far as that is permitted.
  ///
  /// Without permission others may have written the key meanwhile, and nobody would tell: then
  /// it is kept nowhere.
  func keep(
    _ outcome: Result<LoadedValue<Value?>, any Error>, _ key: Key, of ongoing: MemoryLoad<Value>,
    replaces: Bool, _ permission: CacheTierLoad<Value>?
  ) async {
    switch permission {
    case .granted(let lease)?:
      if let entry = (try? outcome.get()).flatMap({ entry($0, key, replaces) }) {
        return await publish(entry, key, of: ongoing, lease)
      }
      await lease.release()
    case .allowed?: break
    case .changed?, nil: return
    }
    guard case .success(let loaded) = outcome else { return }
    await keep(loaded, key, of: ongoing, replaces: replaces)
  }

  /// Stores what was loaded while others waited for it, unless the key was changed meanwhile.
  func publish(
    _ loaded: Entry, _ key: Key, of ongoing: MemoryLoad<Value>, _ lease: CacheTierLease<Value>
  ) async {
    let token = await writers.begin(key)
    defer { writers.end(key, token) }
    if ongoing.isSuperseded { return await lease.release() }
    let entry = dated(loaded, key)
    do {
      guard try await lease.publish(entry) else { return forget(key) }
      try await writeTiers(entry, key, nil, above: slots.count - 1)
      if ongoing.isSuperseded {
        try await writeTiers(nil, key, nil)
        return forget(key)
      }
      await dropCopies(of: key, unless: token)
      settle(entry, key, token)
    } catch {
      forget(key)
      report(key, error)
    }
  }

  /// As the blocking form.
  func keep(
    _ loaded: LoadedValue<Value?>, _ key: Key, of ongoing: MemoryLoad<Value>, replaces: Bool
  ) async {
    let entry = entry(loaded, key, replaces)
    do {
      if entry != nil { try await makeRoom(for: key) }
      let token = await writers.begin(key)
      defer { writers.end(key, token) }
      if ongoing.isSuperseded { return }
      var isStored = entry != nil || replaces
      if !isStored { isStored = await hasExpired(key) }
      if isStored {
        try await store(entry, key, token, of: ongoing)
      } else {
        memoryCache.remove(forKey: key)
      }
      rememberAbsence(loaded, key, token)
    } catch {
      report(key, error)
    }
  }
}
