// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Synchronization

/// Keeping the order of what is in memory over a restart; see
/// ``CacheConfiguration/keepsHotKeys``.
extension Cache {
  /// When it was written last, and what a write keeps.
  struct HotKeys {
    enum Order {
      /// Memory's, alone.
      case ofMemory
      /// The file's, behind what is new in memory: while the file is being read.
      case ofMemoryAndFile
      /// The file's, because it is not understood, or only read.
      case ofFile
    }

    var lastWrite: Date
    /// Which one a write is to keep.
    var order = Order.ofMemoryAndFile
  }

  /// How long a file that was written is good enough, unless the cache is closed.
  private static var interval: TimeInterval { 60 }
  /// Entries that are read in one go.
  private static var chunkCount: Int { 64 }

  /// Begins to bring back what was in memory, and to keep what will be.
  func startKeepingHotKeys(_ done: (@Sendable (CacheRestoration) -> Void)?) {
    guard let disk = diskCache else {
      done?(CacheRestoration(count: 0))
      return
    }
    let file = HotKeyFile(folder: disk.store.folder)
    hotKeys.withLock { $0 = HotKeys(lastWrite: clock.date) }
    if disk.isReadOnly { setHotKeys(.ofFile) }
    let isOver = Atomic(false)
    let write: @Sendable () -> Void = { [weak self] in
      if self?.writeHotKeysAtTimes() != true { isOver.store(true, ordering: .relaxed) }
    }
    disk.readsAbove?.add { _ in
      if isOver.load(ordering: .relaxed) { return false }
      // A thread of the store asks, which must not have hold of the cache, not even to see whether
      // it is there: to release the last of it would be to wait for itself.
      BackgroundWork.start(priority: .utility) { write() }
      return true
    }
    BackgroundWork.start(priority: .utility) { [weak self] in
      var restoration = CacheRestoration(count: 0)
      do {
        let keys = try file.read()
        restoration.count = await Self.restore(keys) { self }
        self?.setHotKeys(.ofMemory)
      } catch let error as LarderError {
        restoration.failure = error
        self?.setHotKeys(file.isWorthless(error) ? .ofMemory : .ofFile)
      } catch {
        restoration.failure = LarderError(.io, "Could not read \(file.folder.path).", cause: error)
        self?.setHotKeys(.ofFile)
      }
      done?(restoration)
    }
  }

  private func setHotKeys(_ order: HotKeys.Order) {
    // A restoration that closing has stopped leaves the rest to the file.
    if isClosed.load(ordering: .acquiring) { return }
    hotKeys.withLock { if $0?.order == .ofMemoryAndFile { $0?.order = order } }
  }

  // MARK: - Restoring

  /// Reads entries, the hottest first, until memory is full or the cache is closed; then has
  /// memory believe that the hottest was used last.
  ///
  /// - Parameter cache: nil when nobody has it any more.
  private static func restore(_ keys: [Data], _ cache: () -> Cache?) async -> Int {
    var restored: [Key] = []
    var rest = keys[...]
    while !rest.isEmpty, let cache = cache(), let disk = cache.diskCache {
      let chunk = rest.prefix(chunkCount)
      rest = rest.dropFirst(chunkCount)
      // What cannot be read now is not brought back.
      guard let (keys, isFull) = try? await disk.executor.run({ cache.restore(chunk, disk) })
      else { break }
      restored += keys
      if isFull { break }
    }
    // Twice: what was used once only is the first to go by some policies.
    for _ in 0..<2 { cache()?.memoryCache.bringForward(restored.reversed()) }
    return restored.count
  }

  /// - Returns: What was brought back, and whether no more can be.
  private func restore(
    _ chunk: ArraySlice<Data>, _ disk: DiskCache<Key, Value>
  ) -> (restored: [Key], isFull: Bool) {
    var restored: [Key] = []
    for bytes in chunk {
      if isClosed.load(ordering: .acquiring) { return (restored, true) }
      guard let key = try? disk.keyCoder.decode(bytes), key == key else { continue }
      // Held, not only watched: a writer of another key of its group must not cost this one its
      // place. Whoever holds it brings it to memory himself, or removes it.
      guard let token = writers.take(key, false) else { continue }
      defer { writers.end(key, token, counts: false) }
      if queue?.write(forKey: key) != nil || memoryCache.contains(key) { continue }
      // One that is gone or cannot be read is loaded when it is asked for.
      let confirmation = slots.first { $0.disk === disk }?.confirmation
      guard let entry = try? disk.tierEntry(forKey: key, .peek, confirmation: confirmation),
        !entry.isUnconfirmed
      else { continue }
      if !memoryCache.hasRoom(for: entry.value, key, entry.cost) { return (restored, true) }
      let expiration = memoryCache.expiration(of: entry.value, key).capped(
        trusted(entry).expiration)
      let isKept = memoryCache.insert(
        entry.value, forKey: key, cost: entry.cost, expiration: expiration,
        company: company(of: entry)
      ) { writers.isGoodForAll(token) && !isClosed.load(ordering: .acquiring) }
      if isKept { restored.append(key) }
    }
    return (restored, false)
  }

  // MARK: - Keeping

  /// Writes the file, unless that was done a short time ago.
  ///
  /// - Returns: Whether it is to be written again.
  @discardableResult
  func writeHotKeysAtTimes() -> Bool {
    if isClosed.load(ordering: .acquiring) { return false }
    let now = clock.date
    let isDue = hotKeys.withLock { keys in
      guard let last = keys?.lastWrite, keys?.order == .ofMemory else { return false }
      return abs(now.timeIntervalSince(last)) >= Self.interval
    }
    if isDue { writeHotKeys() }
    return true
  }

  /// Writes the file. What fails is counted: the next start begins with less.
  func writeHotKeys() {
    guard let disk = diskCache, !isSuspended else { return }
    // Where the store is now: resuming recreates one that was deleted.
    let file = HotKeyFile(folder: disk.store.folder)
    // One writer at a time: they share a name.
    hotKeys.withLock { state in
      guard let order = state?.order, order != .ofFile else { return }
      var keys = memoryCache.keys(.mostRecentFirst).compactMap { try? disk.keyCoder.encode($0) }
      if order == .ofMemoryAndFile {
        // What is not understood stays.
        guard let earlier = try? file.keys() else { return }
        let isEarlier = Set(earlier)
        keys.removeAll { isEarlier.contains($0) }
        if keys.isEmpty { return }
        keys += earlier
      }
      state?.lastWrite = clock.date
      do {
        try file.write(keys)
      } catch {
        counters.writeFailures.add(1, ordering: .relaxed)
      }
    }
  }
}
