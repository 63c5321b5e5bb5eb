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
  //
  // What stands in for a value that is too large lets everybody load, as no two machines can share
  // it. If what was loaded is too large, too, it is left as it is: to replace it would take the
  // copies from the others, who would load again, and take ours.
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

    /// Replaces the head of what begins like this, and its life; its value stays. Gives -1 where
    /// the new head has another form.
    private static var renewal: String {
      """
      local v = redis.call('GETRANGE', KEYS[1], 0, 17)
      if string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
      if string.sub(v, 17) ~= string.sub(ARGV[2], 17, 18) then return -1 end
      redis.call('SETRANGE', KEYS[1], 0, ARGV[2])
      if #ARGV == 2 then redis.call('PERSIST', KEYS[1])
      else redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
      return 1
      """
    }

    /// Asks for the right to store what is loaded, unless the key is changed before.
    ///
    /// If somebody else loads what is missing, this waits for the end of that, but no longer than
    /// ``RemoteTierConfiguration/loadLease``. For other reasons it does not wait: whoever has
    /// loaded first stores.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - reason: Why it is loaded.
    /// - Returns: Whether to load; `.allowed` without ``RemoteTierConfiguration/loadLease``.
    /// - Throws: `.timedOut`, `.remote`; `CancellationError`; `.closed`.
    /// - Complexity: One round trip.
    public func beginLoad(
      forKey key: Key, reason: CacheTierLoadReason
    ) async throws -> CacheTierLoad<Value> {
      guard configuration.loadLease > .zero else { return .allowed }
      let bytes = try remoteKey(key)
      // Before it is asked, so that no change is missed.
      let change = events.changes.begin(bytes)
      defer { events.changes.end(change) }
      switch try await claim(bytes) {
      case .mine(let marker): return .granted(makeLease(bytes, .marker(marker)))
      case .found(let start):
        if RemoteValue.isStandIn(start), reason != .refresh {
          return .granted(makeLease(bytes, .standIn(start)))
        }
        let isMarker = RemoteValue.isMarker(start)
        if reason != .missing {
          let known = isMarker ? start : Array(start.prefix(RemoteValue.versionBytes))
          return .granted(makeLease(bytes, .others(known)))
        }
        guard isMarker else { return .changed }
        count(\.sharedLoads)
        try await change.wait(for: configuration.loadLease, configuration.clock)
        return .changed
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

    /// A marker may be there that nobody will replace, or may come: a server that was busy executes
    /// long after what was given up. Others are not to wait for that, and nobody for its removal.
    private func abandon(_ key: [UInt8], _ marker: [UInt8]) {
      let (clock, lease) = (configuration.clock, configuration.loadLease)
      Task.detached { [weak self] in
        // Once it expires by itself there is nothing left to do.
        var (pause, waited) = (Duration.milliseconds(100), Duration.zero)
        while waited < lease {
          do {
            if try await self?.settle(key, [marker]) ?? true { return }
          } catch let error as LarderError where error.code == .closed {
            return
          } catch {}
          do { try await clock.sleep(for: pause) } catch { return }
          waited += pause
          pause *= 2
        }
      }
    }

    /// What the server had when a right to load was granted: the beginning of it.
    private enum Known {
      case marker([UInt8])
      case standIn([UInt8])
      /// Of others: their marker, or the version of what they stored.
      case others([UInt8])

      var bytes: [UInt8] {
        switch self {
        case .marker(let bytes), .standIn(let bytes), .others(let bytes): bytes
        }
      }
    }

    private func makeLease(_ key: [UInt8], _ known: Known) -> CacheTierLease<Value> {
      CacheTierLease(
        publish: { entry in
          do {
            let stored = try self.stored(entry)
            if entry.isUnchanged, case .others(let version) = known, let stored,
              let isRenewed = try await self.renew(key, version, stored)
            {
              return isRenewed
            }
            let isStored =
              if case .standIn(let bytes) = known, stored?.isStandIn == true {
                try await self.isThere(bytes, key)
              } else {
                try await self.settle(key, [known.bytes] + (stored?.arguments ?? []))
              }
            if isStored { self.countWrite(stored) }
            return isStored
          } catch {
            if case .marker(let marker) = known { self.abandon(key, marker) }
            throw error
          }
        },
        release: {
          guard case .marker(let marker) = known else { return }
          do { _ = try await self.settle(key, [marker]) } catch { self.abandon(key, marker) }
        })
    }

    /// Whether what stands in for a value is still there; changes of it are told from then on.
    private func isThere(_ standIn: [UInt8], _ key: [UInt8]) async throws -> Bool {
      let results = try await write(
        [Self.getVersion(key), RemoteCommand("PTTL", [key])], key: key)
      return results[0] == .bytes(Array(standIn.prefix(RemoteValue.versionBytes)))
    }

    private func settle(_ key: [UInt8], _ arguments: [[UInt8]]) async throws -> Bool {
      try await run(Self.settle, key, arguments) == .integer(1)
    }

    /// Gives what the server has a new version and new terms, without sending the value.
    ///
    /// - Returns: Whether it had that version; nil if the new terms have no room there.
    private func renew(
      _ key: [UInt8], _ version: [UInt8], _ stored: Stored
    ) async throws -> Bool? {
      if stored.isStandIn { return nil }
      let head = RemoteValue.head(of: stored.bytes)
      let result = try await run(
        Self.renewal, key, [version, head] + stored.arguments.dropFirst())
      if result == .integer(-1) { return nil }
      let isRenewed = result == .integer(1)
      if isRenewed { countWrite(Stored(bytes: head, life: stored.life)) }
      return isRenewed
    }

    private func run(
      _ script: String, _ key: [UInt8], _ arguments: [[UInt8]]
    ) async throws -> RemoteReply {
      let script = [script, "1"].map { Array($0.utf8) } + [key] + arguments
      return try await write(
        [RemoteCommand("EVAL", script), RemoteCommand("PTTL", [key])], key: key)[0]
    }
  }
#endif
