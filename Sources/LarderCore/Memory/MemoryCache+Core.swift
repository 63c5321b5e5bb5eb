// SPDX-License-Identifier: MIT

public import Synchronization

// The parts of which the calls are made. "Locked" in a name: while the index is locked
// for writing. What leaves it then goes into removedEntries, and is settled afterwards.
extension MemoryCache {
  @inlinable
  func weigh(_ key: Key, _ value: Value, _ cost: Int?) -> UInt64 {
    UInt64(max(0, cost ?? costOfEntry?(key, value) ?? MemoryLayout<Entry>.size))
  }

  /// The candidate that has this key: the first one, or one of those that follow.
  @inlinable @inline(__always)
  func match(
    _ key: Key, _ candidate: UnsafeMutableRawPointer?, _ probe: inout MemoryProbe
  ) -> UnsafeMutablePointer<Entry>? {
    var candidate = candidate
    while let payload = candidate {
      let entry = payload.assumingMemoryBound(to: Entry.self)
      if entry.pointee.key == key { return entry }
      candidate = index.nextCandidate(&probe)
    }
    return nil
  }

  /// The same while locked, for a change: what is only kept for loads that fail leaves as
  /// expired, and is no match.
  @inlinable @inline(__always)
  func matchLocked(
    _ key: Key, _ candidate: UnsafeMutableRawPointer?, _ probe: inout MemoryProbe,
    _ removedEntries: inout RemovedEntries
  ) -> UnsafeMutablePointer<Entry>? {
    guard let entry = match(key, candidate, &probe) else { return nil }
    if grace == 0 || !index.hasExpired(&probe) { return entry }
    index.takeExpired(&probe)
    take(entry, probe.cause, &removedEntries)
    return nil
  }

  /// Replaces the value of the candidate with this key, or adds an entry.
  ///
  /// - Returns: The value that was replaced. (Not in the removedEntries, which have the
  ///   key too: it stays.)
  @inlinable @inline(__always)
  func put(
    _ value: Value, _ key: Key, _ cost: UInt64, _ expiration: Expiration?,
    _ candidate: UnsafeMutableRawPointer?, _ probe: inout MemoryProbe,
    _ removedEntries: inout RemovedEntries, with company: MemoryCompany? = nil
  ) -> Value? {
    if let entry = matchLocked(key, candidate, &probe, &removedEntries) {
      var old: Value?
      if company?.isUnchanged != true {
        var value = value
        swap(&value, &entry.pointee.value)
        old = value
      }
      index.rewrite(&probe, cost: cost)
      if index.hasTerms { setTerms(entry, company) }
      if let expiration { live(expiration, &probe, &removedEntries) }
      return old
    }
    guard canStore, let payload = index.insert(cost: cost, &probe) else {
      countFailure()
      return nil
    }
    payload.initializeMemory(as: Entry.self, to: Entry(key: key, value: value))
    if index.hasTerms { setTerms(payload, company) }
    if let expiration { live(expiration, &probe, &removedEntries) }
    return nil
  }

  /// Takes out the candidate with this key.
  @inlinable @inline(__always)
  func takeLocked(
    _ key: Key, _ candidate: UnsafeMutableRawPointer?, _ probe: inout MemoryProbe,
    _ removedEntries: inout RemovedEntries
  ) -> Entry? {
    guard let entry = matchLocked(key, candidate, &probe, &removedEntries) else { return nil }
    index.take(&probe)
    if keepsUses.load(ordering: .relaxed) { noteUse(entry) }
    return entry.move()
  }

  /// Takes what has just left the index out of its memory.
  @inlinable @inline(__always)
  func take(
    _ payload: UnsafeMutableRawPointer, _ cause: UInt32, _ removedEntries: inout RemovedEntries
  ) {
    if keepsUses.load(ordering: .relaxed) { noteUse(payload) }
    removedEntries.take(payload, cause)
  }

  /// Takes out what has expired or is too much, and unlocks.
  @inlinable @inline(__always)
  func end(_ probe: inout MemoryProbe, _ removedEntries: inout RemovedEntries) {
    while let payload = index.leaveOrEndWriting(&probe) {
      take(payload, probe.cause, &removedEntries)
    }
    if probe.isTimed, trimmer.isWanted { startTrimming() }
  }

  /// Locks for writing, and finds the first candidate when what has expired is out.
  @inlinable @inline(__always)
  func beginLocked(
    _ hash: UInt64, _ probe: inout MemoryProbe, _ removedEntries: inout RemovedEntries
  ) -> UnsafeMutableRawPointer? {
    let candidate = index.beginWriting(hash, &probe)
    return probe.isDue ? expireLocked(hash, &probe, &removedEntries) : candidate
  }

  /// Takes out what has expired, then finds the first candidate.
  @inlinable @inline(never)
  func expireLocked(
    _ hash: UInt64, _ probe: inout MemoryProbe, _ removedEntries: inout RemovedEntries
  ) -> UnsafeMutableRawPointer? {
    while let payload = index.leaveExpired(&probe) { take(payload, probe.cause, &removedEntries) }
    return index.first(hash, &probe)
  }

  /// Takes out what has expired, if a read came upon something.
  @inlinable @inline(never)
  func expire() {
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    index.beginWriting()
    end(&probe, &removedEntries)
    settle(&removedEntries)
  }

  /// Gives the entry just written a life of its own.
  @usableFromInline
  func live(
    _ expiration: Expiration, _ probe: inout MemoryProbe, _ removedEntries: inout RemovedEntries
  ) {
    if index.setExpiration(expiration, clock, &probe) { return }
    // Better no value than one that outlives its time.
    countFailure()
    let slot = probe.slot
    index.take(&probe)
    removedEntries.take(index.payload(slot), RemovalCause.removed.number)
  }

  @usableFromInline
  func countFailure() { failures.add(1, ordering: .relaxed) }

  // MARK: - Unlocked

  /// Whether removals have to be made for somebody.
  @inlinable var isHeard: Bool { hub.isHeard }

  /// To be called with a value that was replaced, before it is dropped.
  @inlinable @inline(__always)
  func settle(replaced value: Value, _ key: Key) {
    if isHeard { reportReplaced(value, key) }
  }

  /// To be called with a value that the caller removed, before it is given back.
  @inlinable @inline(__always)
  func settle(removed entry: Entry) {
    if isHeard { reportRemoved(entry) }
  }

  @usableFromInline @inline(never)
  func reportReplaced(_ value: Value, _ key: Key) { report(value, key, .replaced) }

  @usableFromInline @inline(never)
  func reportRemoved(_ entry: Entry) { report(entry.value, entry.key, .removed) }

  func report(_ value: Value, _ key: Key, _ cause: RemovalCause) {
    hub.report(Removal(key: key, value: value, cause: cause))
  }

  /// Reports what left and has it destroyed.
  @inlinable @inline(__always)
  func settle(_ removedEntries: inout RemovedEntries) {
    if removedEntries.isEmpty { return }
    if isHeard { report(removedEntries) }
    if let releaser { release(&removedEntries, releaser) }
  }

  @usableFromInline @inline(never)
  func report(_ removedEntries: RemovedEntries) {
    guard let first = removedEntries.first else { return }
    report(first.value, first.key, RemovalCause(number: removedEntries.firstCause))
    for (entry, cause) in zip(removedEntries.rest, removedEntries.restCauses) {
      report(entry.value, entry.key, RemovalCause(number: cause))
    }
  }

  @inlinable @inline(never)
  func release(_ removedEntries: inout RemovedEntries, _ releaser: MemoryReleaser<Entry>) {
    releaser.release(&removedEntries.first)
    if !removedEntries.rest.isEmpty { releaser.release(&removedEntries.rest) }
  }
}
