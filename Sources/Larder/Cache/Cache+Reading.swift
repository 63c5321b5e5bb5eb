// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore
import Synchronization

extension Cache {
  // MARK: - Blocking

  /// Reads the value under a key: from memory, else from the tiers below.
  ///
  /// What a tier has is promoted. A tier that fails is skipped if one below it has an
  /// answer.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: What a tier throws that could not be read, `.damaged` or `.decoding` for
  ///   example, if no other one has the value; `.closed`.
  /// - Complexity: O(1) expected for what is in memory, which costs no system call; else
  ///   that of the tiers.
  @inlinable
  public func value(forKey key: Key) throws -> Value? {
    if let value = memoryCache.value(forKey: key) { return value }
    return try lowerEntry(forKey: key)?.value
  }

  /// Reads a value together with what is kept with it: from memory, else from the tiers below.
  ///
  /// - Parameter key: The key.
  /// - Returns: Both; nil if there is no entry, or it has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As `value(forKey:)`.
  public func valueWithExtendedData(
    forKey key: Key
  ) throws -> (value: Value, extendedData: Data?)? {
    if let found = memoryCache.valueWithExtendedData(forKey: key) { return found }
    return try lowerEntry(forKey: key).map { ($0.value, $0.extendedData) }
  }

  /// Reads what is kept with a value: from memory, else from the tiers below.
  ///
  /// - Parameter key: The key.
  /// - Returns: The data; nil if there is none, no entry, or the entry has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As `value(forKey:)`.
  public func extendedData(forKey key: Key) throws -> Data? {
    try valueWithExtendedData(forKey: key)?.extendedData
  }

  /// Whether there is a value under a key, in memory or in a tier below; promotes nothing.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if it has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As `value(forKey:)`.
  public func contains(_ key: Key) throws -> Bool {
    if memoryCache.contains(key) { return true }
    try checkOpen()
    if let write = queue?.write(forKey: key) {
      return write.entry(at: clock.date, diskCache?.expiration) != nil
    }
    var failure: (any Error)?
    for slot in slots {
      do {
        if try slot.contains(key) { return true }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return false
  }

  /// What memory has not: inlined into programs, where a disk's part is specialised.
  @inlinable
  func lowerEntry(forKey key: Key) throws -> Entry? {
    try checkOpen()
    let token = writers.token(key)
    if queue != nil, let waiting = waitingEntry(forKey: key, token) { return waiting }
    var failure: (any Error)?
    for (depth, slot) in slots.enumerated() {
      do {
        guard let entry = try slot.entry(forKey: key) else { continue }
        if entry.isUnconfirmed { return try confirmedEntry(forKey: key, token) }
        if depth > 0 { promote(entry, key, above: depth, token) }
        keep(entry, key, token)
        return entry
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return nil
  }

  /// Looks again, and asks the tiers that have to confirm what is found.
  @usableFromInline
  func confirmedEntry(forKey key: Key, _ token: Writers.Token) throws -> Entry? {
    try blocking { try await self.lowerEntry(forKey: key, token) }
  }

  /// What waits for the tiers.
  ///
  /// - Returns: nil if nothing does under the key, and nil in nil if a removal does.
  @usableFromInline
  func waitingEntry(forKey key: Key, _ token: Writers.Token) -> Entry?? {
    (queue?.write(forKey: key)).map { keep(pending: $0, token) }
  }

  // MARK: - Suspending

  /// Reads the value under a key: from memory, else from the tiers below.
  ///
  /// As the blocking form; a value that is in memory is returned without suspending, and
  /// for all others the caller's thread is left.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  @inlinable
  public nonisolated(nonsending) func value(forKey key: Key) async throws -> Value? {
    if let value = memoryCache.value(forKey: key) { return value }
    return try await lowerValue(forKey: key)
  }

  /// Reads a value together with what is kept with it: from memory, else from the tiers below.
  ///
  /// - Parameter key: The key.
  /// - Returns: Both; nil if there is no entry, or it has expired.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func valueWithExtendedData(
    forKey key: Key
  ) async throws -> (value: Value, extendedData: Data?)? {
    if let found = memoryCache.valueWithExtendedData(forKey: key) { return found }
    return try await lowerEntry(forKey: key).map { ($0.value, $0.extendedData) }
  }

  /// Reads what is kept with a value: from memory, else from the tiers below.
  ///
  /// - Parameter key: The key.
  /// - Returns: The data; nil if there is none, no entry, or the entry has expired.
  /// - Throws: As the blocking form.
  /// - Complexity: As the blocking form.
  public func extendedData(forKey key: Key) async throws -> Data? {
    try await valueWithExtendedData(forKey: key)?.extendedData
  }

  /// Whether there is a value under a key, in memory or in a tier below; promotes nothing.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if it has expired.
  /// - Throws: As the blocking form.
  /// - Complexity: As `value(forKey:)`.
  public func contains(_ key: Key) async throws -> Bool {
    if memoryCache.contains(key) { return true }
    try checkOpen()
    if let write = queue?.write(forKey: key) {
      return write.entry(at: clock.date, diskCache?.expiration) != nil
    }
    var failure: (any Error)?
    for slot in slots {
      do {
        if try await slot.contains(key) { return true }
      } catch {
        try Task.checkCancellation()
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return false
  }

  @usableFromInline
  func lowerValue(forKey key: Key) async throws -> Value? {
    try await lowerEntry(forKey: key)?.value
  }

  func lowerEntry(forKey key: Key) async throws -> Entry? {
    try checkOpen()
    let token = writers.token(key)
    if let waiting = waitingEntry(forKey: key, token) { return waiting }
    return try await lowerEntry(forKey: key, token)
  }

  private func lowerEntry(forKey key: Key, _ token: Writers.Token) async throws -> Entry? {
    var failure: (any Error)?
    // A tier that cannot confirm a copy would not answer this either.
    var silent: Int?
    for (depth, slot) in slots.enumerated() where depth != silent {
      do {
        guard var entry = try await slot.entry(forKey: key) else { continue }
        var top = depth
        if entry.isUnconfirmed {
          silent = slot.confirmation?.depth
          let confirmed = try await confirmed(entry, key, in: slot)
          silent = nil
          guard let confirmed else { continue }
          // Written again, it counts as read now.
          (entry, top) = (confirmed, depth + 1)
        }
        if top > 0 { await promote(entry, key, above: top, token) }
        keep(entry, key, token)
        return entry
      } catch {
        try Task.checkCancellation()
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return nil
  }
}
