// SPDX-License-Identifier: MIT

import Synchronization

extension Cache {
  /// Makes everything that waits reach the tiers: see ``CacheWritePolicy/writeBack(queueLimit:)``.
  ///
  /// With write-through nothing ever waits.
  ///
  /// - Throws: What a tier throws. What can be tried again still waits then, and so does
  ///   what is behind it; what cannot, because it has no encoding for example, was dropped.
  ///   `.closed`.
  /// - Complexity: That of the tiers, for each write that waits.
  public func drain() throws {
    try checkOpen()
    if queue != nil { try blocking { try await self.drainQueue() } }
    writeHotKeysAtTimes()
  }

  /// As the blocking form: makes everything that waits reach the tiers.
  ///
  /// - Throws: As the blocking form.
  /// - Complexity: That of the tiers, for each write that waits.
  public func drain() async throws {
    try checkOpen()
    try await drainQueue()
    writeHotKeysAtTimes()
  }

  /// Makes everything that waits reach the tiers, and runs a checkpoint of the disk, if there is
  /// one: see ``FolderStore``.
  ///
  /// - Throws: As `drain()`, and what the disk throws.
  /// - Complexity: That of `drain()` and of the disk's checkpoint.
  public func checkpoint() throws {
    try drain()
    try diskCache?.checkpoint()
  }

  /// As the blocking form: makes everything that waits reach the tiers, and runs a checkpoint.
  ///
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func checkpoint() async throws {
    try await drain()
    try await diskCache?.checkpoint()
  }

  /// Makes everything that was written survive a power cut, as far as the tiers can.
  ///
  /// - Throws: As `drain()`; what a tier throws.
  /// - Complexity: That of the tiers; one sync of the device.
  public func sync() throws { try blocking { try await self.sync() } }

  /// Makes everything that was written survive a power cut, as far as the tiers can.
  ///
  /// - Throws: As `drain()`; what a tier throws.
  /// - Complexity: That of the tiers; one sync of the device.
  public func sync() async throws {
    try await drain()
    for slot in slots { try await slot.sync() }
  }

  /// Ends the use of the cache and of all its tiers: drains first, so that nothing is
  /// lost.
  ///
  /// Later calls throw `.closed`, and memory is empty. Closing twice is harmless. A cache
  /// that nobody refers to any more closes its disk, when what waited is written.
  ///
  /// - Throws: As `drain()`: if something still waits, the cache is still open, so that it
  ///   can be closed again when what was in the way is gone: with `.replaced`, when the disk's
  ///   folder was put back. What a tier throws that is closed: the cache is closed all the same.
  /// - Complexity: That of the tiers.
  public func close() throws { try blocking { try await self.close() } }

  /// Ends the use of the cache and of all its tiers: drains first, so that nothing is
  /// lost.
  ///
  /// - Throws: As the blocking form.
  /// - Complexity: That of the tiers.
  public func close() async throws {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    var failure: (any Error)?
    repeat {
      let (error, isBlocked) = await drain { _ in true }
      failure = failure ?? error
      if isBlocked, let error {
        isClosed.store(false, ordering: .releasing)
        throw error
      }
      // Who asked whether the cache is open before it was closed may still add something.
    } while queue?.closeIfEmpty() == false
    writeHotKeys()
    followers.cancel()
    for slot in slots {
      do { try await slot.close() } catch { failure = failure ?? error }
    }
    memoryCache.removeAll()
    absent.removeAll()
    if let failure { throw failure }
  }

  /// Closes the cache, and deletes the folder of its disk. Other tiers, such as a server, keep what
  /// they have.
  ///
  /// - Throws: As `close()`, and as `destroy()` of the disk.
  /// - Complexity: That of the tiers.
  public func destroy() throws {
    try close()
    try diskCache?.destroy()
  }

  /// Closes the cache, and deletes the folder of its disk.
  ///
  /// - Throws: As the blocking form.
  /// - Complexity: That of the tiers.
  public func destroy() async throws {
    try await close()
    try await diskCache?.destroy()
  }

  // MARK: - Draining

  /// Begins to write what waits. Keeps the cache until that is done.
  func drainInBackground() {
    guard let queue else { return }
    if isSuspended {
      // What waits is written when the cache is resumed.
      _ = queue.stopDraining(true)
      return
    }
    BackgroundWork.start(priority: .utility) { [self] in
      // What could not be written is tried again with the next write, flush or close.
      while true {
        let (_, isBlocked) = await drain { _ in true }
        if queue.stopDraining(isBlocked) { return }
      }
    }
  }

  /// Writes what waits and came before this call.
  func drainQueue() async throws {
    guard let queue else { return }
    let version = queue.lastVersion
    if let error = await drain(while: { $0.since <= version }).failure { throw error }
  }

  /// Makes sure that one more key may wait.
  @usableFromInline
  func makeRoom(for key: Key) throws {
    guard let queue, queue.isFull(for: key) else { return }
    try blocking { try await self.makeRoom(for: key) }
  }

  func makeRoom(for key: Key) async throws {
    guard let queue, queue.isFull(for: key) else { return }
    let (failure, isBlocked) = await drain { _ in queue.isFull(for: key) }
    if isBlocked, let failure { throw failure }
  }

  /// Writes from the front of the queue as long as the next one is wanted.
  ///
  /// - Returns: The first failure, and whether it keeps the next one from being written.
  private func drain(
    while isWanted: @Sendable (WriteBackQueue<Key, Value>.Write) -> Bool
  ) async -> (failure: (any Error)?, isBlocked: Bool) {
    guard let queue else { return (nil, false) }
    let outcome = await drain(queue, while: isWanted)
    // Behind the lock: who holds a key's may wait for it, and the callback may use the cache.
    for key in outcome.dropped { await forgetInTurn(key) }
    for failure in outcome.failures {
      report(failure.key, failure.error, isPending: failure.isPending)
    }
    let failures = outcome.failures
    return outcome.isBlocked ? (failures.last?.error, true) : (failures.first?.error, false)
  }

  /// What came of writing what waits.
  private struct Drained {
    var failures: [(key: Key, error: any Error, isPending: Bool)] = []
    /// The keys of writes that were given up, and of which none waits any more.
    var dropped: [Key] = []
    var isBlocked = false
  }

  private func drain(
    _ queue: WriteBackQueue<Key, Value>,
    while isWanted: (WriteBackQueue<Key, Value>.Write) -> Bool
  ) async -> Drained {
    await drainLock.lock()
    defer { drainLock.unlock() }
    var outcome = Drained()
    while !outcome.isBlocked, let write = queue.first(), isWanted(write) {
      do {
        // What expired while it waited is to be gone from the tiers, too.
        let entry = write.tierEntry(at: clock.date, diskCache?.expiration)
        try await writeTiers(entry, write.key, nil)
        if entry == nil { try await keepExpired(write) }
        queue.end(write)
      } catch {
        outcome.isBlocked = !Self.isHopeless(error)
        outcome.failures.append((write.key, error, outcome.isBlocked))
        if !outcome.isBlocked, queue.end(write) { outcome.dropped.append(write.key) }
      }
    }
    return outcome
  }

  /// Has the disk keep what expired while it waited, for loads that fail.
  private func keepExpired(_ write: WriteBackQueue<Key, Value>.Write) async throws {
    for (depth, slot) in slots.enumerated() {
      guard let disk = slot.disk,
        let entry = write.tierEntry(
          at: clock.date, disk.expiration, keptFor: disk.expiredLife)
      else { continue }
      try await slot.set(copy(entry, at: depth), forKey: write.key, durability: nil)
    }
  }

  /// A write was given up. To readers that is one: what the tiers have comes to light again.
  private func forgetInTurn(_ key: Key) async {
    let token = await writers.begin(key)
    defer { writers.end(key, token) }
    forget(key)
  }

  /// Whether it is the value or the key that is to blame, so that no second try helps.
  private static func isHopeless(_ error: any Error) -> Bool {
    guard let error = error as? LarderError else { return false }
    return [.encoding, .tooLarge, .invalidArgument, .readOnly, .closed].contains(error.code)
  }
}
