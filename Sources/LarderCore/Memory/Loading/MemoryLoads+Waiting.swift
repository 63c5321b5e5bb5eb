// SPDX-License-Identifier: MIT

import Synchronization

/// How callers come by values that are not there: by loads of their own, and those of others.
///
/// `old` looks for a value that may be returned although it has expired.
extension MemoryLoads {
  // MARK: - Blocking

  /// Waits for another caller's load of a key, or runs one.
  ///
  /// - Parameters:
  ///   - mustFind: Whether nothing, found by another caller, is no answer.
  ///   - run: Loads, finishes the load, and returns the outcome.
  /// - Returns: nil if there is nothing to find.
  package func value(
    _ key: Key, mustFind: Bool, old: (Key) -> Value?, run: (Load) -> Load.Outcome
  ) throws -> Value? {
    while true {
      let (ongoing, isOwn) = try join(key)
      if isOwn { return try answer(run(ongoing), key, old) }
      switch wait(for: ongoing, key, old) {
      case .outcome(.success(nil)) where mustFind: break
      case .outcome(let outcome): return try answer(outcome, key, old)
      case .removed, .late: break
      }
    }
  }

  /// The same for many keys, and refreshes others in the same run.
  ///
  /// - Parameters:
  ///   - missing: The keys without a value, each once.
  ///   - due: Keys of values that are old.
  ///   - values: What there is; receives what was found.
  ///   - run: Loads, and finishes all of the loads.
  package func values(
    _ missing: [Key], due: [Key], into values: inout [Key: Value], old: (Key) -> Value?,
    run: (_ missing: [Keyed], _ due: [Keyed]) -> Void
  ) throws {
    var missing = missing
    var due = due
    var failure: (any Error)?
    while !missing.isEmpty || !due.isEmpty {
      let (own, others) = try join(missing)
      let refreshes = joinUnlessBusy(due)
      if !own.isEmpty || !refreshes.isEmpty { run(own, refreshes) }
      for (key, refresh) in refreshes {
        // A failure is counted, and there is a value.
        if case .outcome(.success(let value)) = refresh.wait(.removal) { values[key] = value }
      }
      (missing, due) = ([], [])
      for (key, ongoing) in own + others {
        switch wait(for: ongoing, key, old) {
        case .outcome(let outcome):
          do { values[key] = try answer(outcome, key, old) } catch { failure = failure ?? error }
        case .removed, .late: missing.append(key)
        }
      }
    }
    if let failure { throw failure }
  }

  private func wait(for ongoing: Load, _ key: Key, _ old: (Key) -> Value?) -> Load.News {
    let news = ongoing.wait([])
    guard case .late = news else { return news }
    if let value = oldValue(key, old) { return .outcome(.success(value)) }
    return ongoing.wait(.lateness)
  }

  // MARK: - Suspending

  /// Waits for another caller's load of a key, or starts one.
  ///
  /// - Parameter start: Starts the load, which finishes by itself.
  package nonisolated(nonsending) func value(
    _ key: Key, mustFind: Bool, old: (Key) -> Value?, start: (Load) -> Void
  ) async throws -> Value? {
    var hasLoaded = false
    while true {
      try Task.checkCancellation()
      let (ongoing, isOwn) = try join(key)
      if isOwn { start(ongoing) }
      // Who loads a second time does not start over again.
      let ignored: Load.Ignored = isOwn && hasLoaded ? .removal : []
      switch try await wait(for: ongoing, key, ignored, old) {
      case .outcome(.success(nil)) where mustFind && !isOwn: break
      case .outcome(let outcome): return try answer(outcome, key, old)
      case .removed, .late: break
      }
      hasLoaded = hasLoaded || isOwn
    }
  }

  /// The same for many keys.
  ///
  /// - Parameters:
  ///   - missing: The keys without a value, each once.
  ///   - values: What there is; receives what was found.
  ///   - start: Starts the loads, which finish by themselves.
  package nonisolated(nonsending) func values(
    _ missing: [Key], into values: inout [Key: Value], old: (Key) -> Value?,
    start: ([Keyed]) -> Void
  ) async throws {
    var missing = missing
    var failure: (any Error)?
    var hasLoaded: Set<Key> = []
    while !missing.isEmpty {
      try Task.checkCancellation()
      let (own, others) = try join(missing)
      if !own.isEmpty { start(own) }
      missing = []
      var waiting = (own + others)[...]
      while let (key, ongoing) = waiting.popFirst() {
        let news: Load.News
        do {
          let ignored: Load.Ignored = hasLoaded.contains(key) ? .removal : []
          news = try await wait(for: ongoing, key, ignored, old)
        } catch {
          for (_, ongoing) in waiting { ongoing.leave() }
          throw error
        }
        switch news {
        case .outcome(let outcome):
          do { values[key] = try answer(outcome, key, old) } catch { failure = failure ?? error }
        case .removed, .late: missing.append(key)
        }
      }
      hasLoaded.formUnion(own.map(\.key))
    }
    if let failure { throw failure }
  }

  private nonisolated(nonsending) func wait(
    for ongoing: Load, _ key: Key, _ ignored: Load.Ignored, _ old: (Key) -> Value?
  ) async throws -> Load.News {
    let news = try await ongoing.wait(ignored)
    guard case .late = news else { return news }
    if let value = oldValue(key, old) { return .outcome(.success(value)) }
    return try await ongoing.wait(ignored.union(.lateness))
  }

  // MARK: - Both

  private func join(_ key: Key) throws -> (Load, isOwn: Bool) {
    var joined: (Load, Bool)?
    try join(CollectionOfOne(key)) { joined = ($1, $2) }
    // Of one key there is one.
    guard let joined else { throw LarderError.noKey(Key.self) }
    return joined
  }

  private func join(_ keys: [Key]) throws -> (own: [Keyed], others: [Keyed]) {
    var own: [Keyed] = []
    var others: [Keyed] = []
    try join(keys) { key, ongoing, isOwn in
      if isOwn { own.append((key, ongoing)) } else { others.append((key, ongoing)) }
    }
    return (own, others)
  }

  private func answer(
    _ outcome: Load.Outcome, _ key: Key, _ old: (Key) -> Value?
  ) throws -> Value? {
    if case .failure = outcome, let value = oldValue(key, old) { return value }
    return try outcome.get()
  }

  private func oldValue(_ key: Key, _ old: (Key) -> Value?) -> Value? {
    guard let value = old(key) else { return nil }
    counts.stale.add(1, ordering: .relaxed)
    return value
  }
}
