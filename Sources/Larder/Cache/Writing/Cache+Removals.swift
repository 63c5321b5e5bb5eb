// SPDX-License-Identifier: MIT

import LarderCore

extension Cache {
  // MARK: - Blocking

  /// Removes everything from memory and every tier.
  ///
  /// What is written while this goes on may stay. Loads under way will not store their
  /// values.
  ///
  /// - Parameter progress: Told how far each tier is, one tier after the other; returns
  ///   whether to go on. nil for nobody.
  /// - Throws: What a tier throws; memory and the others are empty all the same.
  ///   `CancellationError` if `progress` said so. `.closed`.
  /// - Complexity: That of the tiers.
  public func removeAll(progress: CacheProgress? = nil) throws {
    try checkOpen()
    gate.lock()
    defer { gate.unlock() }
    if queue != nil { drainLock.lock() }
    defer { if queue != nil { drainLock.unlock() } }
    let (version, superseded) = beginRemovingAll()
    defer {
      writers.endAll()
      for load in superseded { load.release(nil) }
    }
    var failure: (any Error)?
    for slot in slots.reversed() {
      do { try slot.removeAll(progress: progress) } catch { failure = failure ?? error }
    }
    endRemovingAll(version, hasFailed: failure != nil)
    if let failure { throw failure }
  }

  // MARK: - Suspending

  /// Removes everything from memory and every tier.
  ///
  /// As the blocking form, but for the caller's thread, which is left.
  ///
  /// - Parameter progress: Told how far each tier is, one tier after the other; returns
  ///   whether to go on. nil for nobody.
  /// - Throws: As the blocking form.
  /// - Complexity: That of the tiers.
  public func removeAll(progress: CacheProgress? = nil) async throws {
    try checkOpen()
    await gate.lock()
    defer { gate.unlock() }
    if queue != nil { await drainLock.lock() }
    defer { if queue != nil { drainLock.unlock() } }
    let (version, superseded) = beginRemovingAll()
    defer {
      writers.endAll()
      for load in superseded { load.release(nil) }
    }
    var failure: (any Error)?
    for slot in slots.reversed() {
      do { try await slot.removeAll(progress: progress) } catch { failure = failure ?? error }
    }
    endRemovingAll(version, hasFailed: failure != nil)
    if let failure { throw failure }
  }

  // MARK: - Both

  /// - Returns: The newest write that waits; loads to release at the end.
  private func beginRemovingAll() -> (version: UInt64, superseded: [MemoryLoad<Value>]) {
    writers.beginAll()
    let superseded = loads.supersedeAll()
    return (queue?.lastVersion ?? 0, superseded)
  }

  private func endRemovingAll(_ version: UInt64, hasFailed: Bool) {
    // What waits is still newer than what is left in a tier that failed.
    if !hasFailed { queue?.removeAll(through: version) }
    memoryCache.removeAll()
    absent.removeAll()
  }
}

extension Cache where Key == String {
  // MARK: - By prefix

  /// Removes all keys that begin with a prefix, and their values, from memory and every
  /// tier.
  ///
  /// Compared as UTF-8 of the composed forms. What is written while this goes on may stay.
  ///
  /// - Parameter prefix: What the keys begin with; empty for all.
  /// - Returns: How many the tier had that had most of them.
  /// - Throws: What a tier throws; memory and the others are rid of them all the same.
  ///   `.invalidArgument` if a tier cannot remove by prefix. `.closed`.
  /// - Complexity: That of the tiers, and O(n) for memory.
  @discardableResult
  public func remove(prefix: Key) throws -> Int {
    try checkOpen()
    gate.lock()
    defer { gate.unlock() }
    if queue != nil { drainLock.lock() }
    defer { if queue != nil { drainLock.unlock() } }
    let (version, superseded) = beginRemovingAll()
    defer {
      writers.endAll()
      for load in superseded { load.release(nil) }
    }
    var failure: (any Error)?
    var removed = 0
    for slot in slots.reversed() {
      do { removed = max(removed, try slot.remove(prefix: prefix)) } catch {
        failure = failure ?? error
      }
    }
    removed = max(removed, endRemoving(prefix, version, hasFailed: failure != nil))
    if let failure { throw failure }
    return removed
  }

  /// Removes all keys that begin with a prefix, and their values, from memory and every
  /// tier.
  ///
  /// As the blocking form, but for the caller's thread, which is left.
  ///
  /// - Parameter prefix: What the keys begin with; empty for all.
  /// - Returns: How many the tier had that had most of them.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  @discardableResult
  public func remove(prefix: Key) async throws -> Int {
    try checkOpen()
    await gate.lock()
    defer { gate.unlock() }
    if queue != nil { await drainLock.lock() }
    defer { if queue != nil { drainLock.unlock() } }
    let (version, superseded) = beginRemovingAll()
    defer {
      writers.endAll()
      for load in superseded { load.release(nil) }
    }
    var failure: (any Error)?
    var removed = 0
    for slot in slots.reversed() {
      do { removed = max(removed, try await slot.remove(prefix: prefix)) } catch {
        failure = failure ?? error
      }
    }
    removed = max(removed, endRemoving(prefix, version, hasFailed: failure != nil))
    if let failure { throw failure }
    return removed
  }

  private func endRemoving(_ prefix: String, _ version: UInt64, hasFailed: Bool) -> Int {
    // As the tiers on disk compare them.
    let start = CanonicalText.composed(prefix)
    let isMeant: (String) -> Bool = {
      CanonicalText.composed($0).utf8.starts(with: start.utf8)
    }
    if !hasFailed { queue?.removeAll(through: version, where: isMeant) }
    absent.removeAll { key, _ in isMeant(key) }
    return memoryCache.removeAll { key, _ in isMeant(key) }
  }
}
