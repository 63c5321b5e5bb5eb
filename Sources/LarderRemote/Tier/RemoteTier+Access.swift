// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  public import Larder
  import LarderCore

  extension RemoteTier {
    /// Reads the entry under a key from the server, which tells when it changes from then on.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entry, with the time that copies of it may live, or, with
    ///   ``RemoteDisconnection/revalidate``, that it lives itself; nil if there is none.
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
      guard let answer = try await ask(RemoteCommand("GET", [bytes]), bytes) else {
        count(\.misses)
        return nil
      }
      let entry = try decode(answer)
      count(\.hits)
      count(\.bytesRead, answer.bytes.count)
      return entry
    }

    /// Asks whether the server still has the version that a copy is of; it tells when that changes
    /// from then on.
    ///
    /// - Parameters:
    ///   - version: The copy's version.
    ///   - key: The key.
    /// - Returns: The life that is left to the entry; nil if the server has another version, or
    ///   nothing.
    /// - Throws: `.timedOut`, `.remote`; `.closed`.
    /// - Complexity: One round trip, with 16 bytes of the value; none for a key that is known to be
    ///   absent.
    public func confirm(
      _ version: CacheTierVersion, forKey key: Key
    ) async throws -> Expiration? {
      let bytes = try remoteKey(key)
      var answer: Answer?
      if !events.absences.contains(bytes) {
        answer = try await ask(Self.getVersion(bytes), bytes)
        count(\.bytesRead, answer?.bytes.count ?? 0)
      }
      guard let answer, answer.bytes == version.bytes else {
        count(\.refutedCopies)
        return nil
      }
      count(\.confirmations)
      return answer.life
    }

    /// A command that reads the version of what is under a key.
    static func getVersion(_ key: [UInt8]) -> RemoteCommand {
      let range = ["0", String(RemoteValue.versionBytes - 1)]
      return RemoteCommand("GETRANGE", [key] + range.map { Array($0.utf8) })
    }

    /// What a server has under a key, or the beginning of it.
    private struct Answer {
      let bytes: [UInt8]
      /// When it had, at the latest.
      let asked: Date
      /// Of a copy.
      let life: Expiration
    }

    /// Reads what the server has under a key, which it tracks from then on.
    ///
    /// - Returns: nil if there is nothing, somebody still loads it, or has it alone.
    private func ask(_ command: RemoteCommand, _ key: [UInt8]) async throws -> Answer? {
      let placeholder = events.absences.begin(key)
      var absence: Duration?
      defer { events.absences.end(placeholder, absentFor: absence) }
      // Before the server looks at its clock, so that no copy outlives the entry.
      let asked = configuration.clock.date
      let patience = configuration.onDisconnect.graceTime == nil ? nil : configuration.softTimeout
      let results = try await transact(
        [command, RemoteCommand("PTTL", [key])], key: key, needsRoom: false, patience: patience)
      guard case .integer(let milliseconds) = results[1] else {
        throw failed(unexpected(results[1]))
      }
      // The beginning of nothing is no bytes.
      if results[0] == .null || results[0] == .bytes([]) && milliseconds == -2 {
        absence = configuration.localLifetime
        return nil
      }
      guard case .bytes(let bytes) = results[0] else { throw failed(unexpected(results[0])) }
      // Somebody loads it, or has it alone, or it expired between the two.
      let isNone = RemoteValue.isMarker(bytes) || RemoteValue.isStandIn(bytes)
      if isNone || milliseconds != -1 && milliseconds <= 0 { return nil }
      // No copy is made if it has changed meanwhile, or is not tracked.
      guard events.absences.isValid(placeholder) else {
        return Answer(bytes: bytes, asked: asked, life: .date(asked))
      }
      let end = milliseconds == -1 ? nil : asked + Double(milliseconds) / 1000
      var trusted = asked + max(.zero, configuration.localLifetime).inSeconds
      trusted = min(end ?? trusted, trusted)
      sample(key, bytes, placeholder, until: trusted)
      // If copies are confirmed, the cache sees to it when.
      let life = confirmsCopies ? end.map(Expiration.date) ?? .never : .date(trusted)
      return Answer(bytes: bytes, asked: asked, life: life)
    }

    private func decode(_ answer: Answer) throws -> CacheTierEntry<Value> {
      do {
        let parts = try RemoteValue.decode(answer.bytes)
        var entry = CacheTierEntry(
          value: try coder.decode(parts.value), cost: parts.cost,
          extendedData: parts.extendedData, expiration: answer.life)
        if let times = parts.times {
          let asked = answer.asked.inNanoseconds
          entry.age = .nanoseconds(
            max(0, asked.subtractingReportingOverflow(times.written).partialValue))
          if times.refresh != .max {
            entry.refreshAfter = .nanoseconds(
              times.refresh.subtractingReportingOverflow(times.written).partialValue)
          }
        }
        if confirmsCopies {
          entry.version = CacheTierVersion(bytes: answer.bytes.prefix(RemoteValue.versionBytes))
          entry.writtenAt = answer.asked
        }
        return entry
      } catch {
        count(\.failures)
        throw error
      }
    }

    /// Stores an entry on the server; others who have copies are told.
    ///
    /// One above ``RemoteTierConfiguration/maximumValueBytes`` is not sent: the server gets 17
    /// bytes that stand in for it, and others find nothing.
    ///
    /// - Parameters:
    ///   - entry: What to store.
    ///   - key: The key.
    /// - Throws: `.timedOut` and `.remote`: whether it was stored is unknown then. What the coders
    ///   throw; `.closed`.
    /// - Complexity: One round trip.
    public func set(_ entry: CacheTierEntry<Value>, forKey key: Key) async throws {
      let bytes = try remoteKey(key)
      let stored = try stored(entry)
      var command = RemoteCommand("UNLINK", [bytes])
      if let stored {
        var arguments = stored.arguments
        if arguments.count > 1 { arguments.insert(Array("PX".utf8), at: 1) }
        command = RemoteCommand("SET", [bytes] + arguments)
      }
      _ = try await write([command, RemoteCommand("PTTL", [bytes])], key: bytes)
      countWrite(stored)
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

    /// An entry as the server stores it.
    struct Stored {
      let bytes: [UInt8]
      /// In milliseconds; nil for ever.
      let life: Int64?

      /// Both, as they are sent.
      var arguments: [[UInt8]] { [bytes] + (life.map { [Array(String($0).utf8)] } ?? []) }

      /// Whether the value itself is too large.
      var isStandIn: Bool { RemoteValue.isStandIn(bytes) }
    }

    /// Counts a write of what was sent, nil for an entry that had expired.
    func countWrite(_ stored: Stored?) {
      count(stored?.isStandIn ?? true ? \.localWrites : \.writes)
      count(\.bytesWritten, stored?.bytes.count ?? 0)
    }

    /// - Returns: nil for what has expired.
    func stored(_ entry: CacheTierEntry<Value>) throws -> Stored? {
      let value = try coder.encode(entry.value)
      let life = remainingLife(of: entry)
      if let life, life <= 0 { return nil }
      let version = entry.version ?? CacheTierVersion()
      let written = (entry.writtenAt ?? configuration.clock.date).inNanoseconds
      let refresh = entry.refreshAfter.map { written.addingReportingOverflow($0.inNanoseconds) }
      let count = value.count + (entry.extendedData?.count ?? 0)
      let isTooLarge = count > configuration.maximumValueBytes
      return Stored(
        bytes: isTooLarge
          ? RemoteValue.standIn(for: version)
          : RemoteValue.encode(
            value: value, cost: entry.cost, extendedData: entry.extendedData,
            times: RemoteValue.Times(
              written: written,
              refresh: refresh.map { $0.overflow ? .max : $0.partialValue } ?? .max),
            version: version),
        life: life)
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
      _ = try await transact([RemoteCommand("UNLINK", [bytes])], key: bytes, needsRoom: false)
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
      // Every entry is longer than a marker.
      let reply = try await send([RemoteCommand("STRLEN", [bytes])], key: bytes)[0]
      try check(reply)
      guard case .integer(let count) = reply else { throw failed(unexpected(reply)) }
      return count > RemoteValue.markerBytes
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
          var replies = try await send(
            unlinks.flatMap { Self.unannounced([$0]) }, key: nil, to: server)
          if replies.contains(Self.isFull) {
            replies = try await send(unlinks, key: nil, to: server)
          }
          for reply in replies {
            try check(reply)
            let results = if case .array(let results) = reply { results } else { [reply] }
            if results.contains(.integer(1)) { removed += 1 }
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
