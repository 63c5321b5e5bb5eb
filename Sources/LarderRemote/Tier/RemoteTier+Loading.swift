// SPDX-License-Identifier: MIT

#if Remote
  public import Larder
  import LarderCore

  // One machine loads, the others wait for it. Whoever finds nothing under a key puts a marker
  // there, in one step (a script, which a server runs alone). Whoever finds a marker waits until
  // the server says that it has changed. What was loaded replaces the marker, and nothing but that
  // very marker: if the key was removed meanwhile, or the marker has expired and another machine
  // has put down its own, the value is stale, and is not stored. No read takes a marker for a
  // value.
  extension RemoteTier {
    /// Stores a marker if there is nothing, else says what there is.
    private static var claim: String {
      """
      local v = redis.call('GET', KEYS[1])
      if v then return v end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      return false
      """
    }

    /// Replaces the marker, and only that; without a value removes it.
    private static var settle: String {
      """
      if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
      if #ARGV == 1 then redis.call('DEL', KEYS[1])
      elseif #ARGV == 2 then redis.call('SET', KEYS[1], ARGV[2])
      else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
      return 1
      """
    }

    /// Asks to be the only one who loads what the server has not.
    ///
    /// If somebody else does, this waits for the end of that, but no longer than
    /// ``RemoteTierConfiguration/loadLease``.
    ///
    /// - Parameter key: The key.
    /// - Returns: Whether to load.
    /// - Throws: `.timedOut`, `.remote`; `CancellationError`; `.closed`.
    /// - Complexity: One round trip.
    public func beginLoad(forKey key: Key) async throws -> CacheTierLoad<Value> {
      guard configuration.loadLease > .zero else { return .allowed }
      let bytes = try remoteKey(key)
      // Before it is asked, so that no change is missed.
      let change = events.changes.begin(bytes)
      defer { events.changes.end(change) }
      let marker = RemoteValue.marker()
      let lease = String(max(1, configuration.loadLease.inNanoseconds / 1_000_000))
      let script = [Self.claim, "1"].map { Array($0.utf8) } + [bytes, marker, Array(lease.utf8)]
      let replies = try await send(
        [RemoteCommand("CLIENT", "CACHING", "YES"), RemoteCommand("EVAL", script)], key: bytes)
      for reply in replies { try check(reply) }
      // Nobody tells us of what we write ourselves.
      events.absences.forget(bytes)
      switch replies[1] {
      case .null: return .granted(makeLease(key, bytes, marker))
      case .bytes(let found) where RemoteValue.isMarker(found):
        count(\.sharedLoads)
        try await change.wait(for: configuration.loadLease, configuration.clock)
        return .changed
      case .bytes: return .changed
      default: throw failed(unexpected(replies[1]))
      }
    }

    private func makeLease(_ key: Key, _ bytes: [UInt8], _ marker: [UInt8]) -> CacheTierLease<Value>
    {
      CacheTierLease(
        publish: { entry in
          let (value, life) = try self.stored(entry)
          guard let value else {
            try await self.set(entry, forKey: key)
            return true
          }
          let expiry = life.map { [Array(String($0).utf8)] } ?? []
          return try await self.settle(bytes, [marker, value] + expiry)
        },
        release: {
          // Without it the others wait until the marker expires.
          _ = try? await self.settle(bytes, [marker])
        })
    }

    private func settle(_ key: [UInt8], _ arguments: [[UInt8]]) async throws -> Bool {
      let script = [Self.settle, "1"].map { Array($0.utf8) } + [key] + arguments
      let results = try await transact(
        [RemoteCommand("EVAL", script), RemoteCommand("PTTL", [key])], key: key)
      guard results[0] == .integer(1) else { return false }
      if arguments.count > 1 { count(\.writes) }
      return true
    }
  }
#endif
