// SPDX-License-Identifier: MIT

import Synchronization

extension MemoryCache {
  /// Removes everything, pinned entries too.
  ///
  /// Loads that are under way will not store their values.
  ///
  /// - Parameter keepingCapacity: Whether the memory stays for entries to come.
  /// - Complexity: O(n).
  public func removeAll(keepingCapacity: Bool = false) {
    index.beginWriting()
    let superseded = loads.isBusy ? loads.supersedeAll() : []
    noteAllUses()
    var entries = moveAll()
    index.clear(keepingCapacity: keepingCapacity)
    index.endWriting()
    for load in superseded { load.release(nil) }
    if isHeard {
      for entry in entries { report(entry.value, entry.key, .removed) }
    }
    releaser?.release(&entries)
  }

  /// Removes all entries that a closure finds, in one step.
  ///
  /// The closure runs while the cache is locked and **must not use the cache**. It sees
  /// pinned entries too, and of those that have expired what
  /// ``MemoryCacheConfiguration/staleIfError`` keeps. A load of a removed key will not store its
  /// value.
  ///
  /// - Parameter isUnwanted: Whether an entry has to go. If it throws, nothing is
  ///   removed.
  /// - Returns: How many were removed that had not expired. Without memory for a list of the
  ///   entries it is 0, and ``CacheStatistics/failures`` counts it.
  /// - Throws: What the closure throws.
  /// - Complexity: O(n).
  @discardableResult
  public func removeAll(where isUnwanted: (Key, Value) throws -> Bool) rethrows -> Int {
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var removed = 0
    var superseded: [MemoryLoad<Value>] = []
    index.beginWriting()
    defer {
      end(&probe, &removedEntries)
      for load in superseded { load.release(nil) }
      settle(&removedEntries)
    }
    while let payload = index.leave(&probe) { take(payload, probe.cause, &removedEntries) }
    guard let slots = index.list(.unordered) else {
      countFailure()
      return 0
    }
    let unwanted = try slots.filter { slot in
      let entry = index.payload(slot).assumingMemoryBound(to: Entry.self)
      return try isUnwanted(entry.pointee.key, entry.pointee.value)
    }
    for slot in unwanted {
      let payload = index.payload(slot)
      let entry = payload.assumingMemoryBound(to: Entry.self)
      if loads.isBusy, let load = loads.supersede(entry.pointee.key) { superseded.append(load) }
      let cause = hasExpired(slot) ? RemovalCause.expired : .removed
      if cause == .removed { removed += 1 }
      index.take(slot, cause)
      take(payload, cause.number, &removedEntries)
    }
    return removed
  }

  /// Removes everything that has expired.
  ///
  /// No read ever finds such an entry; this frees its memory early. What
  /// ``MemoryCacheConfiguration/staleIfError`` keeps stays until that is over.
  ///
  /// - Returns: How many were removed.
  /// - Complexity: O(k log n) for k entries; the cache is unlocked from time to time.
  @discardableResult
  public func removeExpired() -> Int {
    var removed = 0
    while true {
      var probe = MemoryProbe()
      var removedEntries = RemovedEntries()
      var isMore = false
      index.beginWriting()
      while let payload = index.leaveExpired(&probe) {
        take(payload, probe.cause, &removedEntries)
        isMore = removedEntries.count == 1024
        if isMore { break }
      }
      index.endWriting()
      removed += removedEntries.count
      settle(&removedEntries)
      if !isMore { return removed }
    }
  }

  /// The values that leave from now on; see ``RemovalSequence``.
  ///
  /// Up to 1,024 removals wait to be asked for.
  ///
  /// - Complexity: O(1).
  public var removals: RemovalSequence<Key, Value> { removals(bufferLimit: 1024) }

  /// The values that leave from now on; see ``RemovalSequence``.
  ///
  /// Nothing is made of a removal, and it costs nothing, while nobody listens.
  ///
  /// - Parameter bufferLimit: How many removals wait to be asked for, at most, before
  ///   the oldest is dropped. Less than 1 counts as 1.
  /// - Returns: An asynchronous sequence.
  /// - Complexity: O(1).
  public func removals(bufferLimit: Int) -> RemovalSequence<Key, Value> {
    RemovalSequence(subscription: hub.subscribe(limit: bufferLimit))
  }

  /// Moves all entries out of the index, which is locked for writing and is to be
  /// cleared or destroyed. Gives none where there is nothing to destroy or to report.
  func moveAll() -> [Entry] {
    if _isPOD(Entry.self), !isHeard, !hasExtendedData.load(ordering: .relaxed) { return [] }
    guard let slots = index.list(.unordered) else {
      // What they refer to stays for ever; the cache itself stays sound.
      countFailure()
      return []
    }
    return slots.map { index.left(index.payload($0)).assumingMemoryBound(to: Entry.self).move() }
  }
}
