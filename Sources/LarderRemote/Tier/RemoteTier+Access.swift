// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  public import Larder
  import LarderCore

  extension RemoteTier {
    /// Reads the entry under a key from the server, which tells when it changes from then on.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entry, with the time that copies of it may live; nil if there is none.
    /// - Throws: `.timedOut` and `.remote` if the server does not answer or cannot be reached,
    ///   `.damaged` and `.incompatibleVersion` if what is there is not of this version of Larder,
    ///   what the coders throw; `.closed`.
    /// - Complexity: One round trip; none for a key that is known to be absent.
    public func entry(forKey key: Key) async throws -> CacheTierEntry<Value>? {
      let bytes = try remoteKey(key)
      if events.absences.contains(bytes) {
        count(\.rememberedMisses)
        return nil
      }
      let placeholder = events.absences.begin(bytes)
      var absence: Duration?
      defer { events.absences.end(placeholder, absentFor: absence) }
      // Before the server looks at its clock, so that no copy outlives the entry.
      let asked = configuration.clock.date
      let patience = configuration.onDisconnect.graceTime == nil ? nil : configuration.softTimeout
      let results = try await transact(
        [RemoteCommand("GET", [bytes]), RemoteCommand("PTTL", [bytes])], key: bytes,
        patience: patience)
      guard case .bytes(let value) = results[0] else {
        guard results[0] == .null else { throw failed(unexpected(results[0])) }
        absence = configuration.localLifetime
        count(\.misses)
        return nil
      }
      // Somebody loads it.
      if RemoteValue.isMarker(value) {
        count(\.misses)
        return nil
      }
      // It expired between the two.
      guard let life = try remainingLife(results[1]) else {
        count(\.misses)
        return nil
      }
      // No copy is made if it has changed meanwhile, or is not tracked.
      let end =
        events.absences.isValid(placeholder)
        ? asked.addingTimeInterval(Double(life.inNanoseconds) / 1e9) : asked
      let entry = try decode(value, until: end)
      sample(bytes, value, placeholder, until: end)
      count(\.hits)
      count(\.bytesRead, value.count)
      return entry
    }

    /// How long a copy may live; nil if the entry has expired.
    private func remainingLife(_ reply: RemoteReply) throws -> Duration? {
      guard case .integer(let milliseconds) = reply else { throw failed(unexpected(reply)) }
      let longest = max(.zero, configuration.localLifetime)
      if milliseconds == -1 { return longest }
      return milliseconds > 0 ? min(.milliseconds(milliseconds), longest) : nil
    }

    private func decode(_ bytes: [UInt8], until end: Date) throws -> CacheTierEntry<Value> {
      do {
        let parts = try RemoteValue.decode(bytes)
        return CacheTierEntry(
          value: try coder.decode(parts.value), cost: parts.cost,
          extendedData: parts.extendedData, expiration: .date(end))
      } catch {
        count(\.failures)
        throw error
      }
    }

    /// Stores an entry on the server; others who have copies are told.
    ///
    /// One above ``RemoteTierConfiguration/maximumValueBytes`` is not sent: what the server has
    /// under the key is removed.
    ///
    /// - Parameters:
    ///   - entry: What to store.
    ///   - key: The key.
    /// - Throws: `.timedOut` and `.remote`: whether it was stored is unknown then. What the coders
    ///   throw; `.closed`.
    /// - Complexity: One round trip.
    public func set(_ entry: CacheTierEntry<Value>, forKey key: Key) async throws {
      let bytes = try remoteKey(key)
      let (value, life) = try stored(entry)
      var command = RemoteCommand("UNLINK", [bytes])
      if let value {
        let expiry = life.map { [Array("PX".utf8), Array(String($0).utf8)] } ?? []
        command = RemoteCommand("SET", [bytes, value] + expiry)
      }
      _ = try await write([command, RemoteCommand("PTTL", [bytes])], key: bytes)
      countWrite(value)
    }

    /// Sends commands that change a key, as one transaction; whoever asks keeps what it wrote.
    func write(_ commands: [RemoteCommand], key: [UInt8]) async throws -> [RemoteReply] {
      let placeholder = events.absences.begin(key)
      defer {
        events.absences.end(placeholder, absentFor: nil)
        events.wrote(key)
      }
      let results = try await transact(commands, key: key)
      // Not if others have changed it since, or it is not tracked.
      if !events.absences.isValid(placeholder) { events.invalidate([key]) }
      return results
    }

    /// Counts a write of what was sent; nil for what stays local.
    func countWrite(_ value: [UInt8]?) {
      count(value != nil ? \.writes : \.localWrites)
      count(\.bytesWritten, value?.count ?? 0)
    }

    /// An entry as the server stores it, and its life in milliseconds, nil for ever.
    ///
    /// - Returns: No value for what is too large, or has expired.
    func stored(_ entry: CacheTierEntry<Value>) throws -> (value: [UInt8]?, life: Int64?) {
      let value = try coder.encode(entry.value)
      let life = remainingLife(of: entry)
      let count = value.count + (entry.extendedData?.count ?? 0)
      if count > configuration.maximumValueBytes || life.map({ $0 <= 0 }) ?? false {
        return (nil, life)
      }
      return (
        RemoteValue.encode(value: value, cost: entry.cost, extendedData: entry.extendedData), life
      )
    }

    /// - Returns: In milliseconds; nil for ever.
    private func remainingLife(of entry: CacheTierEntry<Value>) -> Int64? {
      let now = configuration.clock.date
      let expiration = (entry.expiration ?? configuration.expiration).drawn
      guard let end = expiration.expirationDate(from: entry.writtenAt ?? now) else { return nil }
      // A century is as good as for ever, and no server's clock overflows.
      return Int64(min(max(0, end.timeIntervalSince(now)), 3_155_760_000) * 1000)
    }

    /// Removes the entry under a key from the server; others who have copies are told.
    ///
    /// - Parameter key: The key.
    /// - Throws: `.timedOut` and `.remote`: whether it was removed is unknown then; `.closed`.
    /// - Complexity: One round trip.
    public func remove(forKey key: Key) async throws {
      let bytes = try remoteKey(key)
      defer { events.wrote(bytes) }
      let replies = try await send([RemoteCommand("UNLINK", [bytes])], key: bytes)
      for reply in replies { try check(reply) }
      count(\.removals)
    }

    /// Whether the server has an entry under a key.
    ///
    /// - Parameter key: The key.
    /// - Throws: `.timedOut`, `.remote`; `.closed`.
    /// - Complexity: One round trip; none for a key that is known to be absent.
    public func contains(_ key: Key) async throws -> Bool {
      let bytes = try remoteKey(key)
      if events.absences.contains(bytes) { return false }
      // A marker is shorter than every entry.
      let reply = try await send([RemoteCommand("STRLEN", [bytes])], key: bytes)[0]
      try check(reply)
      guard case .integer(let count) = reply else { throw failed(unexpected(reply)) }
      return count > RemoteValue.versionBytes + 1
    }

    /// Removes every entry of the tier from the server: all keys with its prefix.
    ///
    /// In a cluster from all of its masters, one after the other. What moves from one to another
    /// meanwhile may stay.
    ///
    /// - Parameter progress: Told how many were removed, which is also given for all; returns
    ///   whether to go on. nil for nobody.
    /// - Throws: `.timedOut` and `.remote`, some were perhaps removed then; `CancellationError` if
    ///   `progress` said so; `.closed`.
    /// - Complexity: O(keys of the database), in steps of a thousand.
    public func removeAll(progress: CacheProgress?) async throws {
      try await removeKeys(beginningWith: prefix, progress)
    }

    /// Removes every entry of the tier whose key begins with another key.
    ///
    /// - Parameter prefix: What the keys begin with.
    /// - Returns: How many entries were removed.
    /// - Throws: `.invalidArgument` if the key coder does not keep prefixes; as
    ///   `removeAll(progress:)`.
    /// - Complexity: As `removeAll(progress:)`.
    @discardableResult
    public func remove(prefix: Key) async throws -> Int {
      guard keyCoder.keepsPrefixes else {
        throw LarderError(
          .invalidArgument, "The key coder of tier \(name) does not keep prefixes.")
      }
      return try await removeKeys(beginningWith: try remoteKey(prefix), nil)
    }

    @discardableResult
    private func removeKeys(
      beginningWith start: [UInt8], _ progress: CacheProgress?
    ) async throws -> Int {
      let pattern = Self.escaped(start) + [UInt8(ascii: "*")]
      var removed = 0
      for server in try await connection.masters {
        var cursor = Array("0".utf8)
        repeat {
          try Task.checkCancellation()
          let keys = try await scan(&cursor, pattern, server)
          defer { for key in keys { events.wrote(key) } }
          // One by one: in a cluster they belong to different slots.
          let unlinks = keys.map { RemoteCommand("UNLINK", [$0]) }
          let replies = keys.isEmpty ? [] : try await send(unlinks, key: nil, to: server)
          for reply in replies {
            try check(reply)
            if reply == .integer(1) { removed += 1 }
          }
          if progress?(UInt64(removed), UInt64(removed)) == false { throw CancellationError() }
        } while cursor != Array("0".utf8)
      }
      count(\.removals, removed)
      return removed
    }

    /// Some of a server's keys that match a pattern.
    private func scan(
      _ cursor: inout [UInt8], _ pattern: [UInt8], _ server: any RemoteConnection
    ) async throws -> [[UInt8]] {
      let scan = RemoteCommand(
        "SCAN", [cursor, Array("MATCH".utf8), pattern, Array("COUNT".utf8), Array("1000".utf8)])
      let reply = try await send([scan], key: nil, to: server)[0]
      try check(reply)
      guard case .array(let parts) = reply, parts.count == 2, case .bytes(let next) = parts[0],
        case .array(let found) = parts[1]
      else { throw failed(unexpected(reply)) }
      cursor = next
      return found.compactMap { if case .bytes(let key) = $0 { key } else { nil } }
    }

    /// A pattern that only the bytes themselves match.
    static func escaped(_ bytes: [UInt8]) -> [UInt8] {
      bytes.flatMap { byte in
        "*?[]\\".utf8.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
      }
    }
  }
#endif
