// SPDX-License-Identifier: MIT

import CLarderStore
public import LarderCore
import Synchronization

extension Cache {
  /// Whether the cache is suspended.
  ///
  /// - Complexity: O(1).
  public var isSuspended: Bool { suspended.load(ordering: .acquiring) }

  /// Flushes what waits to be written back and suspends the tiers: a disk releases its lock,
  /// descriptors and mappings until `resume()`, so that another process can open its folder
  /// for writing.
  ///
  /// For an app in an app group's container: the system ends one that it suspends while it
  /// holds a lock there.
  ///
  /// Memory goes on answering. Calls that need a tier fail or wait, as `calls` says; what is
  /// written back waits in memory. A cache with writes waiting cannot be closed before it is
  /// resumed. Suspending twice is harmless: the first `calls` holds.
  ///
  /// - Parameter calls: What calls of tiers do until the cache is resumed; they fail by default.
  /// - Throws: The first failure of a flush or a tier, `.replaced` for example; all are suspended
  ///   all the same, and what could not be flushed still waits. `.closed`.
  /// - Complexity: O(writes that wait), and that of each tier's.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try checkOpen()
    await suspensionLock.lock()
    defer { suspensionLock.unlock() }
    if suspended.load(ordering: .acquiring) { return }
    var failure: (any Error)?
    do { try await drainQueue() } catch { failure = error }
    suspended.store(true, ordering: .releasing)
    let state = diskState
    lastDiskState.withLock { $0 = state }
    for slot in slots {
      do { try await slot.tier.suspend(calls: calls) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Resumes the tiers after `suspend(calls:)`, and writes back what waits.
  ///
  /// Memory is emptied if another process wrote to the disk meanwhile. A disk that does not lie at
  /// its path any more is created again, empty, also if it was only moved. Resuming a cache that is
  /// not suspended is harmless.
  ///
  /// - Throws: Why a tier cannot be resumed, `.busy` or `.replaced` for example. The cache stays
  ///   suspended then, and can be resumed later. `.closed`.
  /// - Complexity: That of each tier's.
  public func resume() async throws {
    try checkOpen()
    await suspensionLock.lock()
    defer { suspensionLock.unlock() }
    if !suspended.load(ordering: .acquiring) { return }
    for slot in slots { try await slot.tier.resume() }
    if diskState != lastDiskState.withLock({ $0 }) { forgetAll() }
    await removeCopiesAfterSuspension()
    suspended.store(false, ordering: .releasing)
    if queue?.count ?? 0 > 0 { drainInBackground() }
  }

  /// Blocks while the cache is being suspended; see `suspend(calls:)`.
  ///
  /// - Parameter calls: What calls of tiers do until the cache is resumed; they fail by default.
  /// - Throws: As the asynchronous form.
  /// - Complexity: As the asynchronous form.
  public func suspend(calls: SuspendedCalls = .fail) throws {
    try blocking { try await self.suspend(calls: calls) }
  }

  /// Blocks while the cache is being resumed; see `resume()`.
  ///
  /// - Throws: As the asynchronous form.
  /// - Complexity: As the asynchronous form.
  public func resume() throws { try blocking { try await self.resume() } }

  /// The number of the disk's last write; nil if there is no disk that can tell.
  private var diskState: UInt64? {
    // A disk that cannot tell says why when it is read.
    try? diskCache?.store.statistics(waits: false).last_sequence
  }

  /// What memory has may be older than what the disk has.
  private func forgetAll() {
    writers.beginAll()
    let superseded = loads.supersedeAll()
    memoryCache.removeAll()
    absent.removeAll()
    writers.endAll()
    for load in superseded { load.release(nil) }
  }
}
