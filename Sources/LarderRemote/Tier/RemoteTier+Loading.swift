// SPDX-License-Identifier: MIT

#if Remote
  public import Larder
  import LarderCore

  // One machine loads, the others wait for it. Whoever finds nothing under a key puts a marker
  // there, in one step (a script, which a server runs alone). Whoever finds a marker waits until
  // the server says that it has changed. What was loaded replaces the marker, and nothing but that
  // very marker: if the key was removed meanwhile, or the marker has expired and another machine
  // has put down its own, the value is stale, and is not stored. No read takes a marker for a
  // value. What is loaded again replaces only the version that was there when that began.
  extension RemoteTier {
    /// Stores a marker if there is nothing, else says how what there is begins.
    private static var claim: String {
      """
      local v = redis.call('GETRANGE', KEYS[1], 0, 16)
      if #v > 0 then return v end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      return false
      """
    }

    /// Replaces what begins like this, and only that; without a value removes it.
    private static var settle: String {
      """
      if redis.call('GETRANGE', KEYS[1], 0, #ARGV[1] - 1) ~= ARGV[1] then return 0 end
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
      switch try await claim(bytes) {
      case .mine(let marker): return .granted(makeLease(key, bytes, marker))
      case .found(let start):
        guard RemoteValue.isMarker(start) else { return .changed }
        count(\.sharedLoads)
        try await change.wait(for: configuration.loadLease, configuration.clock)
        return .changed
      }
    }

    /// Asks for the right to replace what the server has, or nothing, unless that is changed
    /// before.
    ///
    /// Waits for no load of others: whoever has loaded first stores.
    ///
    /// - Parameter key: The key.
    /// - Returns: That right; `.allowed` without ``RemoteTierConfiguration/loadLease``.
    /// - Throws: `.timedOut`, `.remote`; `CancellationError`; `.closed`.
    /// - Complexity: One round trip.
    public func beginReload(forKey key: Key) async throws -> CacheTierLoad<Value> {
      guard configuration.loadLease > .zero else { return .allowed }
      let bytes = try remoteKey(key)
      switch try await claim(bytes) {
      case .mine(let marker): return .granted(makeLease(key, bytes, marker))
      case .found(let start):
        let version = Array(start.prefix(RemoteValue.versionBytes))
        let known = RemoteValue.isMarker(start) ? start : version
        return .granted(makeLease(key, bytes, known, isMine: false))
      }
    }

    private enum Claim {
      /// There was nothing, and now there is this marker.
      case mine([UInt8])
      /// There is what begins like this.
      case found([UInt8])
    }

    private func claim(_ key: [UInt8]) async throws -> Claim {
      let marker = RemoteValue.marker()
      let lease = String(max(1, configuration.loadLease.inNanoseconds / 1_000_000))
      let script = [Self.claim, "1"].map { Array($0.utf8) } + [key, marker, Array(lease.utf8)]
      // Nobody tells us of what we write ourselves.
      defer { events.absences.forget(key) }
      do {
        let results = try await transact(
          [RemoteCommand("EVAL", script), RemoteCommand("PTTL", [key])], key: key)
        switch results[0] {
        case .null: return .mine(marker)
        case .bytes(let start): return .found(start)
        default: throw failed(unexpected(results[0]))
        }
      } catch {
        abandon(key, marker)
        throw error
      }
    }

    /// A marker may be there that nobody will replace: others are not to wait for that, and nobody
    /// for its removal.
    private func abandon(_ key: [UInt8], _ marker: [UInt8]) {
      // Without it the others wait until the marker expires.
      Task.detached { [self] in _ = try? await settle(key, [marker]) }
    }

    /// - Parameter isMine: Whether what there is is a marker of ours.
    private func makeLease(
      _ key: Key, _ bytes: [UInt8], _ known: [UInt8], isMine: Bool = true
    ) -> CacheTierLease<Value> {
      CacheTierLease(
        publish: { entry in
          do {
            let (value, life) = try self.stored(entry)
            let expiry = life.map { [Array(String($0).utf8)] } ?? []
            let replacement = value.map { [$0] + expiry } ?? []
            let isStored = try await self.settle(bytes, [known] + replacement)
            // What is too large stays here, and the server has nothing.
            if isStored { self.countWrite(value) }
            return isStored
          } catch {
            if isMine { self.abandon(bytes, known) }
            throw error
          }
        },
        release: {
          // Without it the others wait until the marker expires.
          if isMine { _ = try? await self.settle(bytes, [known]) }
        })
    }

    private func settle(_ key: [UInt8], _ arguments: [[UInt8]]) async throws -> Bool {
      let script = [Self.settle, "1"].map { Array($0.utf8) } + [key] + arguments
      let results = try await write(
        [RemoteCommand("EVAL", script), RemoteCommand("PTTL", [key])], key: key)
      return results[0] == .integer(1)
    }
  }
#endif
