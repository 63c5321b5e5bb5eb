// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

// What others change in a tier: the tiers above it, and memory, have copies.
//
// To the cache an invalidation is a writer (see CacheWriters): it is begun before it removes a
// copy, and ended afterwards. So a value that was read before the invalidation came is not
// copied up after it, nor one that a load began to make before. It waits for a writer of the same
// key, whose value may be older than what the invalidation is about, and for nobody else.
extension Cache {
  /// Begins to follow the tiers that tell what others change.
  ///
  /// Copies that are there already are of an earlier process, to which nobody told the rest: they
  /// go, or are to be confirmed.
  func followTiers() {
    for (depth, slot) in slots.enumerated() {
      guard let invalidations = slot.tier.invalidations() else { continue }
      followedDepth.store(depth, ordering: .releasing)
      empty(slots[..<depth].filter { !(slot.tier.confirmsCopies && $0.distrustCopies()) })
      let task = Task.detached { [weak self] in
        for await invalidation in invalidations {
          let work = BackgroundWork()
          defer { work.end() }
          guard await self?.applyIfOpen(invalidation, above: depth) == true else { return }
        }
      }
      followers.add(task)
    }
  }

  /// Removes what an earlier process left. A tier that may wait for others is not waited for.
  private func empty(_ slots: [CacheTierSlot<Key, Value>]) {
    for slot in slots {
      if slot.mayWait {
        slot.isOutdated.store(true, ordering: .releasing)
        // The slot counts the failure; until a later removal nothing is found then.
        followers.add(BackgroundWork.start { try? await slot.removeAll(progress: nil) })
      } else {
        // Likewise.
        do { try slot.removeAll(progress: nil) } catch {
          slot.isOutdated.store(true, ordering: .releasing)
        }
      }
    }
  }

  /// - Returns: Whether the cache is open.
  private func applyIfOpen(_ invalidation: CacheInvalidation<Key>, above depth: Int) async -> Bool {
    if isClosed.load(ordering: .acquiring) { return false }
    await apply(invalidation, above: depth)
    return true
  }

  func apply(_ invalidation: CacheInvalidation<Key>, above depth: Int) async {
    switch invalidation {
    case .all:
      counters.invalidations.add(1, ordering: .relaxed)
      await removeCopies(above: depth)
    case .unconfirmed:
      counters.invalidations.add(1, ordering: .relaxed)
      await removeCopies(above: depth, keepingConfirmable: true)
    case .keys(let keys):
      counters.invalidations.add(UInt64(keys.count), ordering: .relaxed)
      var rest = keys.filter { $0 == $0 }[...]
      // What is read most is no longer found while the rest has its turn.
      if rest.count > 1 { for key in rest { memoryCache.remove(forKey: key) } }
      // Disks are quick, so several keys may be held as long as all of them take.
      let count = slots[..<depth].contains(where: \.mayWait) ? 1 : 64
      while !rest.isEmpty {
        await removeCopies(of: rest.prefix(count), above: depth)
        rest = rest.dropFirst(count)
      }
    }
  }

  private func removeCopies(of keys: ArraySlice<Key>, above depth: Int) async {
    var held: [(key: Key, token: Writers.Token)] = []
    for key in keys {
      if let token = writers.take(key, true) {
        held.append((key, token))
        continue
      }
      // A writer of the key may have to wait for a server: other keys do not.
      memoryCache.remove(forKey: key)
      BackgroundWork.start { [self] in
        let token = await writers.begin(key)
        defer { writers.end(key, token) }
        await removeCopiesInTurn(of: [key], above: depth)
      }
    }
    defer { for (key, token) in held { writers.end(key, token) } }
    await removeCopiesInTurn(of: held.map(\.key), above: depth)
  }

  /// The keys' locks are held.
  private func removeCopiesInTurn(of keys: [Key], above depth: Int) async {
    for key in keys { forget(key) }
    if depth == 0 || keys.isEmpty { return }
    // What is being written back is written to the tiers above last.
    if queue != nil { await drainLock.lock() }
    defer { if queue != nil { drainLock.unlock() } }
    for slot in slots[..<depth].reversed() {
      await slot.remove(forKeys: keys) { report($0, $1) }
    }
  }

  /// - Parameter keepsConfirmable: Whether copies that can be confirmed stay, to be confirmed.
  func removeCopies(above depth: Int, keepingConfirmable keepsConfirmable: Bool = false) async {
    writers.beginAll()
    let superseded = loads.supersedeAll()
    memoryCache.removeAll()
    absent.removeAll()
    if depth > 0 {
      await gate.lock()
      if queue != nil { await drainLock.lock() }
      for slot in slots[..<depth].reversed() where !(keepsConfirmable && slot.distrustCopies()) {
        // As above.
        try? await slot.removeAll(progress: nil)
      }
      if queue != nil { drainLock.unlock() }
      gate.unlock()
    }
    writers.endAll()
    for load in superseded { load.release(nil) }
  }

  /// While the tiers were suspended nothing could be removed from them.
  func removeCopiesAfterSuspension() async {
    let depth = followedDepth.load(ordering: .acquiring)
    if depth < 0 { return }
    let confirmsCopies = slots[depth].tier.confirmsCopies
    await removeCopies(above: depth, keepingConfirmable: confirmsCopies)
  }

  /// Removes copies that were written while all others were removed, which waited for no writer.
  /// The key's lock is held.
  ///
  /// What is removed behind this check removes them, too.
  func dropCopies(of key: Key, unless token: Writers.Token) async {
    if writers.isGoodForAll(token) { return }
    for slot in slots[..<max(0, followedDepth.load(ordering: .acquiring))].reversed() {
      do { try await slot.remove(forKey: key, durability: nil) } catch { report(key, error) }
    }
  }

  /// As the suspending form.
  @usableFromInline
  func dropCopies(of key: Key) {
    for slot in slots[..<max(0, followedDepth.load(ordering: .acquiring))].reversed() {
      do { try slot.remove(forKey: key, durability: nil) } catch { report(key, error) }
    }
  }

  // MARK: - Lives of copies

  /// A copy of an entry, for a tier above others or for memory, that lives as long as those allow.
  ///
  /// - Parameter standard: How long one without an expiration lives there.
  @usableFromInline
  func limited(_ entry: Entry, _ standard: Expiration?) -> Entry {
    guard let copyLifetime else { return entry }
    var entry = entry
    let own = (entry.expiration ?? standard ?? .never).drawn
    entry.expiration = Expiration(
      afterWrite: min(own.afterWrite ?? copyLifetime, copyLifetime), afterAccess: own.afterAccess,
      date: own.date)
    return entry
  }

  /// As it is written to a tier.
  @inlinable
  func copy(_ entry: Entry, at depth: Int) -> Entry {
    // What can be confirmed lives on, and is when it is that old.
    depth >= copyDepth || slots[depth].confirmation != nil
      ? entry : limited(entry, slots[depth].disk?.expiration)
  }

  @usableFromInline
  func copyForMemory(_ entry: Entry, _ key: Key) -> Entry {
    limited(entry, memoryCache.expiration(of: entry.value, key))
  }
}

/// Tasks that end with what they belong to.
final class CacheFollowers: Sendable {
  private let tasks = Mutex<[Task<Void, Never>]>([])

  func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

  func cancel() {
    let tasks = tasks.withLock { tasks in
      defer { tasks = [] }
      return tasks
    }
    for task in tasks { task.cancel() }
  }

  deinit { cancel() }
}
