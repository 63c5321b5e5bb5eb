// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import Synchronization

  /// Some of the copies that caches have of a server's entries, to be compared with the server.
  ///
  /// A copy is in here from when it was made until its change was heard, or its life ends. So one
  /// whose version is not the server's, and that is still in here when the reply is, is stale: from
  /// then on until its change is heard, which is measured. If that is never heard, a promise was
  /// broken.
  final class RemoteStaleness: Sendable {
    struct Copy: Sendable, Equatable {
      let number: UInt64
      let version: [UInt8]
      /// When it ends by itself.
      let end: Date
      /// Since when it is known to be stale, by the clock.
      var staleSince: Int64?
    }

    private struct State {
      var copies: [[UInt8]: Copy] = [:]
      var made: UInt64 = 0
      var checks: UInt64 = 0
      var milliseconds = Array(repeating: UInt64(0), count: RemoteTierStatistics.buckets)
      var unannounced: UInt64 = 0

      mutating func end(_ copy: Copy, at now: Int64) {
        guard let since = copy.staleSince else { return }
        let milliseconds = UInt64(clamping: (now - since) / 1_000_000)
        let bucket = UInt64.bitWidth - milliseconds.leadingZeroBitCount
        self.milliseconds[min(bucket, self.milliseconds.count - 1)] += 1
      }
    }

    /// How many are followed at a time.
    private static let limit = 256

    private let state = Mutex(State())
    private let sampling: Int
    private let clock: CacheClock

    init(sampling: Int, clock: CacheClock) {
      self.sampling = sampling
      self.clock = clock
    }

    /// A copy was made.
    ///
    /// - Returns: It, if it is one to check.
    func make(_ key: [UInt8], _ value: [UInt8], until end: Date) -> Copy? {
      if sampling <= 0 { return nil }
      return state.withLock { state in
        state.made += 1
        guard state.made % UInt64(sampling) == 0, state.copies.count < Self.limit,
          state.copies[key] == nil
        else { return nil }
        let version = Array(value.prefix(RemoteValue.versionBytes))
        let copy = Copy(number: state.made, version: version, end: end)
        state.copies[key] = copy
        return copy
      }
    }

    /// Compares a copy with what the server has.
    ///
    /// - Returns: Whether it is stale.
    func compare(_ key: [UInt8], _ copy: Copy, with version: [UInt8]) -> Bool {
      let now = clock.nanoseconds
      return state.withLock { state in
        // Else its change was heard before the reply.
        guard state.copies[key]?.number == copy.number else { return false }
        state.checks += 1
        if version == copy.version {
          state.copies[key] = nil
          return false
        }
        state.copies[key]?.staleSince = now
        return true
      }
    }

    /// The life of a copy ended, whatever was heard.
    func expire(_ key: [UInt8], _ copy: Copy) {
      state.withLock { state in
        guard let last = state.copies[key], last.number == copy.number else { return }
        if last.staleSince != nil { state.unannounced += 1 }
        state.copies[key] = nil
      }
    }

    /// A key was changed, and the copies of it are dropped.
    func change(_ key: [UInt8]) {
      if sampling <= 0 { return }
      let now = clock.nanoseconds
      state.withLock { state in
        guard let copy = state.copies.removeValue(forKey: key) else { return }
        state.end(copy, at: now)
      }
    }

    func changeAll() {
      if sampling <= 0 { return }
      let now = clock.nanoseconds
      state.withLock { state in
        for copy in state.copies.values { state.end(copy, at: now) }
        state.copies = [:]
      }
    }

    func add(to statistics: inout RemoteTierStatistics) {
      state.withLock { state in
        statistics.stalenessChecks = state.checks
        statistics.staleMilliseconds = state.milliseconds
        statistics.unannouncedChanges = state.unannounced
      }
    }
  }

  extension RemoteTier {
    /// Compares some of the copies with the server, once in their life.
    ///
    /// - Parameter placeholder: From before the value was read.
    func sample(
      _ key: [UInt8], _ value: [UInt8], _ placeholder: RemoteAbsences.Placeholder, until end: Date
    ) {
      guard let copy = events.staleness.make(key, value, until: end) else { return }
      // What is heard from now on ends it.
      guard events.absences.isValid(placeholder) else { return events.staleness.expire(key, copy) }
      let clock = configuration.clock
      let life = Duration.seconds(max(0, end.timeIntervalSince(clock.date)))
      Task.detached { [weak self, events] in
        let wait = life * Double.random(in: 0..<1)
        do {
          try await clock.sleep(for: wait)
          if await self?.isStale(key, copy) ?? false { try await clock.sleep(for: life - wait) }
        } catch {}
        events.staleness.expire(key, copy)
      }
    }

    private func isStale(_ key: [UInt8], _ copy: RemoteStaleness.Copy) async -> Bool {
      // What cannot be asked is not counted.
      guard
        case .bytes(let version)? = try? await send([Self.getVersion(key)], key: key).first,
        configuration.clock.date < copy.end
      else { return false }
      return events.staleness.compare(key, copy, with: version)
    }
  }
#endif
