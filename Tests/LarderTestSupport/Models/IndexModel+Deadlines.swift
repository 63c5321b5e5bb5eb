// SPDX-License-Identifier: MIT

/// When entries end: each has its deadline, and looking for those that are due
/// passes over all of them.
extension IndexModel {
  /// How long entries live.
  public struct Expiry: Sendable {
    /// Nanoseconds after the last write.
    public var afterWrite: Int64
    /// Nanoseconds after the last read or write.
    public var afterAccess: Int64
    /// A time of the clock.
    public var at: Int64

    /// Without an argument, for ever.
    public init(afterWrite: Int64 = .max, afterAccess: Int64 = .max, at: Int64 = .max) {
      self.afterWrite = afterWrite
      self.afterAccess = afterAccess
      self.at = at
    }

    var isNever: Bool { min(afterWrite, afterAccess, at) == .max }

    func deadline(written: Int64, accessed: Int64) -> Int64 {
      func later(_ time: Int64, _ by: Int64) -> Int64 {
        let (sum, overflows) = time.addingReportingOverflow(by)
        if by == .max { return .max }
        return overflows ? (by < 0 ? .min : .max - 1) : sum
      }
      return min(later(written, afterWrite), later(accessed, afterAccess), at)
    }
  }

  /// An entry whose time is not over.
  public func find(_ key: UInt64, now: Int64) -> Entry? {
    entries[key].flatMap { $0.deadline <= now ? nil : $0 }
  }

  mutating func beginLife(of entry: inout Entry, _ now: Int64) {
    entry.written = isTimed ? now : nil
    entry.deadline = deadline(of: entry, now)
    earliest = min(earliest, entry.deadline)
  }

  /// Of an entry that is used now.
  private func deadline(of entry: Entry, _ now: Int64) -> Int64 {
    (entry.ownExpiry ?? expiry).deadline(written: entry.written ?? now, accessed: now)
  }

  /// An entry was read: its life after an access begins anew, that after a write
  /// does not.
  mutating func extendLife(of key: UInt64, _ now: Int64) {
    guard let entry = entries[key] else { return }
    setDeadline(of: key, deadline(of: entry, now))
  }

  private mutating func setDeadline(of key: UInt64, _ deadline: Int64) {
    entries[key]?.deadline = deadline
    earliest = min(earliest, deadline)
  }

  /// From now on entries may end: those that do not know when they were written
  /// were written now.
  private mutating func beginTime(_ now: Int64) {
    if isTimed { return }
    isTimed = true
    for key in entries.keys { entries[key]?.written = now }
  }

  /// Sets what entries without an expiry of their own get. A life after an access
  /// begins now: nobody knows when the last one was.
  public mutating func setExpiry(_ expiry: Expiry, now: Int64) {
    if !expiry.isNever { beginTime(now) }
    self.expiry = expiry
    for (key, entry) in entries where entry.ownExpiry == nil {
      setDeadline(of: key, deadline(of: entry, now))
    }
  }

  /// Sets what one entry gets, until it is written again.
  public mutating func setExpiry(_ expiry: Expiry?, of key: UInt64, now: Int64) {
    beginTime(now)
    entries[key]?.ownExpiry = expiry
    guard let entry = entries[key] else { return }
    setDeadline(of: key, deadline(of: entry, now))
  }

  /// Takes out everything that is due, and says what it was.
  public mutating func expire(now: Int64) -> [UInt64] {
    // Only to pass over them less often.
    if earliest > now { return [] }
    let due = entries.keys.filter { (entries[$0]?.deadline ?? .max) <= now }
    for key in due { take(key, .expired) }
    earliest = nextDeadline
    return due
  }

  /// When the next entry ends.
  public var nextDeadline: Int64 { entries.values.map(\.deadline).min() ?? .max }
}
