// SPDX-License-Identifier: MIT

import CLarder

/// A search in the index, on the caller's stack.
///
/// The fields that C works on are `larder_index_probe`, as words, because code that
/// is inlined into a program knows nothing of C's types.
@usableFromInline
struct MemoryProbe {
  /// `larder_index_probe`; ``MemoryIndex`` asserts that it fits.
  @usableFromInline var words: (UInt64, UInt64, UInt64, UInt64, UInt64)
  /// What `larder_index_read_begin` gave.
  @usableFromInline var token: UInt32
  /// Why the entry that ``MemoryIndex/leave(_:)`` gave has to go: `larder_index_cause`.
  @usableFromInline var cause: UInt32
  /// Whether something has expired, so that it must go first.
  @usableFromInline var isDue: Bool
  /// Whether something in the index will expire some day.
  @usableFromInline var isTimed: Bool

  @inlinable
  init() {
    words = (0, 0, 0, 0, 0)
    token = 0
    cause = 0
    isDue = false
    isTimed = false
  }

  @inline(__always)
  mutating func withRaw<R>(_ body: (UnsafeMutablePointer<larder_index_probe>) -> R) -> R {
    withUnsafeMutablePointer(to: &words) {
      body(UnsafeMutableRawPointer($0).assumingMemoryBound(to: larder_index_probe.self))
    }
  }

  var slot: larder_index_slot {
    mutating get { withRaw { $0.pointee.slot } }
    set { withRaw { $0.pointee.slot = newValue } }
  }
}

/// The C core's index, for code that is inlined into programs: what is generic is
/// specialised there, what calls C stays here.
///
/// A payload is a ``MemoryEntry``, behind it ``MemoryTerms`` if the cache keeps them.
///
/// Sendable, although Swift cannot see it: the pointer never changes, and every use
/// of it is between a beginning and an end that lock. The pointer is freed by the
/// cache's `deinit`, which nothing is concurrent with.
@usableFromInline
struct MemoryIndex: @unchecked Sendable {
  let pointer: OpaquePointer
  /// Where in a payload its terms are; 0 if it has none.
  @usableFromInline let termsOffset: Int

  // MARK: - Reading

  /// Locks for reading and finds the first candidate. One of the `endReading` has to
  /// follow.
  @usableFromInline
  func beginReading(_ hash: UInt64, _ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    var token: UInt32 = 0
    let payload = probe.withRaw { raw in
      token = larder_index_read_first(pointer, hash, raw)
      return raw.pointee.payload
    }
    probe.token = token
    return payload
  }

  @usableFromInline
  func nextCandidate(_ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    probe.withRaw { raw in
      larder_index_next(pointer, raw)
      return raw.pointee.payload
    }
  }

  /// The candidate was it: a hit.
  @usableFromInline
  func endReadingHit(_ probe: inout MemoryProbe) {
    let token = probe.token
    probe.withRaw { larder_index_read_hit(pointer, token, $0) }
  }

  /// Nothing is counted, and no order changes.
  @usableFromInline
  func endReadingQuietly(_ probe: inout MemoryProbe) {
    larder_index_read_end(pointer, probe.token, LarderIndex.quiet)
  }

  /// There was no such entry.
  ///
  /// - Returns: Whether something has expired.
  @usableFromInline
  func endReadingMiss(_ probe: inout MemoryProbe) -> Bool {
    let isDue = larder_index_is_due(pointer)
    larder_index_read_end(pointer, probe.token, LarderIndex.none)
    return isDue
  }

  // MARK: - Writing

  /// Locks for writing. ``leave(_:)`` has to say that nothing has to go before
  /// ``endWriting()`` follows.
  @usableFromInline
  func beginWriting() {
    larder_index_write_begin(pointer)
  }

  /// The same, and finds the first candidate, unless something has expired that has to
  /// leave first.
  @usableFromInline
  func beginWriting(_ hash: UInt64, _ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    var isDue = false
    let payload = probe.withRaw { raw in
      isDue = larder_index_write_first(pointer, hash, raw)
      return isDue ? nil : raw.pointee.payload
    }
    probe.isDue = isDue
    return payload
  }

  @usableFromInline
  func endWriting() {
    larder_index_write_end(pointer)
  }

  @usableFromInline
  func first(_ hash: UInt64, _ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    probe.withRaw { raw in
      larder_index_first(pointer, hash, raw)
      return raw.pointee.payload
    }
  }

  /// The candidate was written again.
  @usableFromInline
  func rewrite(_ probe: inout MemoryProbe, cost: UInt64) {
    larder_index_rewrite(pointer, probe.slot, cost)
  }

  /// The candidate stands where one does that was used, but ``takeReads(from:)`` lists it no more
  /// than before.
  func bringForward(_ probe: inout MemoryProbe) {
    let wasUsed = larder_index_take_read(pointer, probe.slot)
    larder_index_touch(pointer, probe.slot)
    if !wasUsed { _ = larder_index_take_read(pointer, probe.slot) }
  }

  /// Adds an entry under the hash that was searched for.
  ///
  /// - Returns: Memory for it; nil if there is none.
  @usableFromInline
  func insert(cost: UInt64, _ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    probe.withRaw { raw in
      guard larder_index_write_insert(pointer, cost, raw) == LARDER_OK else { return nil }
      if hasTerms, let payload = raw.pointee.payload { terms(of: payload).initialize(to: .none) }
      return raw.pointee.payload
    }
  }

  /// Takes out the candidate, whose payload is to be moved away at once.
  @usableFromInline
  func take(_ probe: inout MemoryProbe) {
    take(probe.slot, .removed)
  }

  /// Whether the candidate is only kept for loads that fail.
  @usableFromInline
  func hasExpired(_ probe: inout MemoryProbe) -> Bool {
    hasPassed(larder_index_deadline(pointer, probe.slot))
  }

  /// Whether a time has passed, to the moment.
  func hasPassed(_ time: Int64) -> Bool { larder_index_has_passed(pointer, time) }

  /// Whether so long has passed since the candidate expired.
  func isOver(_ probe: inout MemoryProbe, grace: Int64) -> Bool {
    let (end, overflows) =
      larder_index_deadline(pointer, probe.slot).addingReportingOverflow(grace)
    return !overflows && hasPassed(end)
  }

  /// As ``take(_:)``, for a candidate that has expired.
  @usableFromInline
  func takeExpired(_ probe: inout MemoryProbe) {
    take(probe.slot, .expired)
    probe.cause = UInt32(LARDER_INDEX_EXPIRED.rawValue)
  }

  /// What the candidate weighs.
  @usableFromInline
  func cost(_ probe: inout MemoryProbe) -> UInt64 {
    larder_index_cost(pointer, probe.slot)
  }

  /// Takes out one entry that has expired or is too much; its payload is to be moved
  /// away at once, and `probe.cause` says why.
  @usableFromInline
  func leave(_ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    if let payload = leaveExpired(&probe) { return payload }
    var cause = LARDER_INDEX_REMOVED
    let slot = larder_index_evict(pointer, &cause)
    if slot == LarderIndex.none { return nil }
    probe.cause = UInt32(cause.rawValue)
    return left(payload(slot))
  }

  /// As ``leave(_:)``, for entries that have expired.
  @usableFromInline
  func leaveExpired(_ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    guard larder_index_is_due(pointer) else { return nil }
    let slot = larder_index_expire(pointer)
    if slot == LarderIndex.none { return nil }
    probe.cause = UInt32(LARDER_INDEX_EXPIRED.rawValue)
    return left(payload(slot))
  }

  /// As ``leave(_:)``, and unlocks when nothing has to go.
  @usableFromInline
  func leaveOrEndWriting(_ probe: inout MemoryProbe) -> UnsafeMutableRawPointer? {
    probe.isTimed = larder_index_next_deadline(pointer) != .max
    var cause = LARDER_INDEX_REMOVED
    let payload = probe.withRaw { raw in
      larder_index_write_settle(pointer, raw, &cause) ? raw.pointee.payload : nil
    }
    probe.cause = UInt32(cause.rawValue)
    return payload.map(left)
  }

  /// Gives the candidate a life of its own.
  ///
  /// - Returns: Whether there was memory for it.
  @usableFromInline
  func setExpiration(
    _ expiration: Expiration, _ clock: CacheClock, _ probe: inout MemoryProbe
  ) -> Bool {
    var expiry = raw(expiration, clock)
    return larder_index_set_entry_expiry(pointer, probe.slot, &expiry) == LARDER_OK
  }

  // MARK: - Terms

  @inlinable
  var hasTerms: Bool { termsOffset != 0 }

  /// What lies behind an entry.
  @usableFromInline
  func terms(of payload: UnsafeMutableRawPointer) -> UnsafeMutablePointer<MemoryTerms> {
    (payload + termsOffset).assumingMemoryBound(to: MemoryTerms.self)
  }

  /// Whether it is time to load the entry's value again.
  @usableFromInline
  func isDue(_ payload: UnsafeMutableRawPointer) -> Bool {
    let due = terms(of: payload).pointee.due
    return due != .max && larder_index_now(pointer) >= due
  }

  /// An entry left, and its terms with it; key and value are to be moved away.
  func left(_ payload: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if hasTerms { terms(of: payload).deinitialize(count: 1) }
    return payload
  }
}

/// What C's macros with a cast are in Swift.
enum LarderIndex {
  static let none = larder_index_slot.max
  static let quiet = larder_index_slot.max - 1
}
