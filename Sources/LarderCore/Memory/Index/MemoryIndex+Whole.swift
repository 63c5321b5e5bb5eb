// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// What concerns the whole index. All but ``now`` and ``create(_:_:_:)`` want it
/// locked for writing where nothing else is said.
extension MemoryIndex {
  /// Makes an index.
  ///
  /// - Parameters:
  ///   - policy: What goes first.
  ///   - bytes: The size of a payload.
  ///   - alignment: Its alignment.
  ///   - termsOffset: Where in it the terms are; 0 if it has none.
  ///   - host: Has the clock, and moves payloads if `moves`. Not retained.
  /// - Returns: nil if there is no memory, or the payload is larger than 1 MiB.
  static func create(
    policy: EvictionPolicy, bytes: Int, alignment: Int, termsOffset: Int = 0, host: MemoryHost,
    moves: Bool
  ) -> MemoryIndex? {
    assert(MemoryLayout<larder_index_probe>.size <= MemoryLayout.size(ofValue: MemoryProbe().words))
    var options = larder_index_options()
    larder_index_options_init(&options)
    options.policy = policy.raw
    options.payload_bytes = bytes
    options.payload_alignment = alignment
    options.context = Unmanaged.passUnretained(host).toOpaque()
    if moves {
      options.move = { target, source, context in
        guard let context else { return }
        Unmanaged<MemoryHost>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.move(to: target, from: source)
        }
      }
    }
    if host.clock.customNow != nil {
      options.clock = { context in
        guard let context else { return 0 }
        return Unmanaged<MemoryHost>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.clock.customNow?().inNanoseconds ?? 0
        }
      }
    }
    var index: OpaquePointer?
    guard larder_index_create(&options, &index) == LARDER_OK, let index else { return nil }
    return MemoryIndex(pointer: index, termsOffset: termsOffset)
  }

  func destroy() { larder_index_destroy(pointer) }

  /// An index for payloads of nothing.
  ///
  /// It wants a few kilobytes. Where there are none, Swift's own allocation ends the
  /// program, as it does for every object.
  static func createEmpty(host: MemoryHost) -> MemoryIndex {
    while true {
      if let made = create(policy: .lru, bytes: 0, alignment: 1, host: host, moves: false) {
        return made
      }
      UnsafeMutableRawPointer.allocate(byteCount: 1 << 14, alignment: 64).deallocate()
    }
  }

  /// The clock's time in nanoseconds. Needs no lock.
  var now: Int64 { larder_index_now(pointer) }

  /// Reads a number while the index is locked for reading.
  private func reading<R>(_ body: (OpaquePointer) -> R) -> R {
    let token = larder_index_read_begin(pointer)
    defer { larder_index_read_end(pointer, token, LarderIndex.quiet) }
    return body(pointer)
  }

  /// Entries. Not to be called while locked.
  var count: UInt64 { reading { larder_index_count($0) } }
  /// Their cost. Not to be called while locked.
  var totalCost: UInt64 { reading { larder_index_total_cost($0) } }
  /// Whether something will expire. Not to be called while locked.
  var isTimed: Bool { reading { larder_index_next_deadline($0) } != .max }

  var lockedCount: UInt64 { larder_index_count(pointer) }
  var lockedTotalCost: UInt64 { larder_index_total_cost(pointer) }

  func cost(_ slot: larder_index_slot) -> UInt64 { larder_index_cost(pointer, slot) }
  func isPinned(_ slot: larder_index_slot) -> Bool { larder_index_is_pinned(pointer, slot) }
  func deadline(_ slot: larder_index_slot) -> Int64 { larder_index_deadline(pointer, slot) }

  func payload(_ slot: larder_index_slot) -> UnsafeMutableRawPointer {
    larder_index_payload(pointer, slot)
  }

  func take(_ slot: larder_index_slot, _ cause: RemovalCause) {
    larder_index_take(pointer, slot, cause.raw)
    _ = left(payload(slot))
  }

  func clear(keepingCapacity: Bool) { larder_index_clear(pointer, keepingCapacity) }

  /// - Returns: Whether there was memory for it.
  func setLimits(count: Int, cost: Int) -> Bool {
    larder_index_set_limits(pointer, Self.limit(count), Self.limit(cost)) == LARDER_OK
  }

  private static func limit(_ limit: Int) -> UInt64 {
    limit == .max ? .max : UInt64(max(0, limit))
  }

  /// How long entries are kept after they have expired. To be set before there are any.
  func setGrace(_ nanoseconds: Int64) { larder_index_set_grace(pointer, nanoseconds) }

  /// - Returns: Whether there was memory for it.
  func setExpiration(_ expiration: Expiration, _ clock: CacheClock) -> Bool {
    var expiry = raw(expiration, clock)
    return larder_index_set_expiry(pointer, &expiry) == LARDER_OK
  }

  /// - Returns: Whether there was memory for it.
  func pin(_ slot: larder_index_slot, _ isPinned: Bool) -> Bool {
    larder_index_pin(pointer, slot, isPinned) == LARDER_OK
  }

  /// Up to `limit` entries in an order; nil if there is no memory.
  func list(_ order: CacheOrder, limit: Int = .max) -> [larder_index_slot]? {
    let capacity = min(max(0, limit), Int(clamping: lockedCount))
    var status = Int32(LARDER_OK)
    // Of length 0 it would be the empty array of all threads that is written to.
    let room = max(capacity, 1)
    let slots = [larder_index_slot](unsafeUninitializedCapacity: room) { buffer, count in
      status = larder_index_list(pointer, order.raw, buffer.baseAddress, capacity, &count)
      if status != LARDER_OK { count = 0 }
    }
    return status == LARDER_OK ? slots : nil
  }

  /// Entries that were used since they were last listed here, some at a time.
  ///
  /// - Parameter from: Where to go on; ``LarderIndex/none`` for the beginning, and when all
  ///   were passed.
  func takeReads(from: inout larder_index_slot) -> [larder_index_slot] {
    let room = Int(LARDER_INDEX_TAKE_MAX_COUNT)
    return [larder_index_slot](unsafeUninitializedCapacity: room) { buffer, count in
      guard let slots = buffer.baseAddress else { return }
      larder_index_take_reads(pointer, &from, slots, room, &count)
    }
  }

  /// When an entry was used, on the clock of ``now``; nil if that is not known.
  func lastUse(_ slot: larder_index_slot) -> Int64? {
    let used = larder_index_last_use(pointer, slot)
    return used == .max ? nil : used
  }

  /// When the entry that left last was used, if ``takeReads(from:)`` has not listed that; about now
  /// if that is not known.
  func useOfLeft() -> Int64? {
    let used = larder_index_left_use(pointer)
    return used == .min ? nil : used == .max ? now : used
  }

  /// What the C core counts.
  func statistics() -> CacheStatistics {
    var raw = larder_index_statistics()
    larder_index_get_statistics(pointer, &raw)
    var statistics = CacheStatistics()
    statistics.hits = raw.hits
    statistics.misses = raw.misses
    statistics.hitCost = raw.hit_cost
    statistics.insertions = raw.insertions
    statistics.removed = raw.count(.removed)
    statistics.replaced = raw.count(.replaced)
    statistics.expired = raw.count(.expired)
    statistics.evictedForCount = raw.count(.evictedForCount)
    statistics.evictedForCost = raw.count(.evictedForCost)
    statistics.memoryBytes = raw.memory_bytes
    statistics.count = Int(clamping: lockedCount)
    statistics.cost = Int(clamping: lockedTotalCost)
    return statistics
  }

  func resetStatistics() { larder_index_reset_statistics(pointer) }

  /// For tests.
  ///
  /// - Returns: A sentence on what contradicts something else; nil if nothing does.
  func contradiction() -> String? {
    var reason: UnsafePointer<CChar>?
    let status = larder_index_check(pointer, &reason)
    if status == LARDER_OK { return nil }
    return reason.map { String(cString: $0) } ?? "status \(status)"
  }

  /// An expiration in the terms of the index's clock.
  func raw(_ expiration: Expiration, _ clock: CacheClock) -> larder_index_expiry {
    var expiry = larder_index_expiry(after_write_ns: .max, after_access_ns: .max, at_ns: .max)
    if let duration = expiration.afterWrite { expiry.after_write_ns = duration.inNanoseconds }
    if let duration = expiration.afterAccess { expiry.after_access_ns = duration.inNanoseconds }
    if let date = expiration.date {
      // Before the date is looked at: the end is rather a moment too early.
      let now = now
      let seconds = date.timeIntervalSince(clock.date)
      // Nine thousand million seconds are the range of the C core's clock.
      if seconds < 9e9 {
        let distance = Int64((max(seconds, -9e9) * 1e9).rounded(.up))
        let (at, overflows) = now.addingReportingOverflow(distance)
        expiry.at_ns = overflows ? (distance < 0 ? .min : .max) : at
      }
    }
    return expiry
  }
}

extension EvictionPolicy {
  var raw: larder_index_policy {
    switch self {
    case .lru: LARDER_INDEX_LRU
    case .fifo: LARDER_INDEX_FIFO
    case .s3fifo: LARDER_INDEX_S3FIFO
    default: LARDER_INDEX_ADAPTIVE
    }
  }
}

extension CacheOrder {
  var raw: larder_index_order {
    switch self {
    case .leastRecentFirst: LARDER_INDEX_FIRST_TO_GO
    case .mostRecentFirst: LARDER_INDEX_LAST_TO_GO
    case .unordered: LARDER_INDEX_UNORDERED
    }
  }
}

extension larder_index_statistics {
  /// Entries that went for this reason.
  func count(_ cause: RemovalCause) -> UInt64 {
    withUnsafeBytes(of: gone) { gone in
      gone.load(fromByteOffset: Int(cause.number) * MemoryLayout<UInt64>.size, as: UInt64.self)
    }
  }
}

extension RemovalCause {
  var raw: larder_index_cause {
    switch self {
    case .replaced: LARDER_INDEX_REPLACED
    case .expired: LARDER_INDEX_EXPIRED
    case .evictedForCount: LARDER_INDEX_EVICTED_COUNT
    case .evictedForCost: LARDER_INDEX_EVICTED_COST
    default: LARDER_INDEX_REMOVED
    }
  }

  /// The `larder_index_cause` as a number, for code that knows nothing of C.
  var number: UInt32 { numericCast(raw.rawValue) }

  init(number: UInt32) {
    switch larder_index_cause(rawValue: numericCast(number)) {
    case LARDER_INDEX_REPLACED: self = .replaced
    case LARDER_INDEX_EXPIRED: self = .expired
    case LARDER_INDEX_EVICTED_COUNT: self = .evictedForCount
    case LARDER_INDEX_EVICTED_COST: self = .evictedForCost
    default: self = .removed
    }
  }
}
