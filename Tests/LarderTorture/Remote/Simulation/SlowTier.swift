// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport

  /// A tier between memory and the server, as a disk is, where each call takes a while, and others
  /// come between.
  ///
  /// Unchecked: all of it happens on the thread of the loop.
  final class SlowTier: CacheTier, @unchecked Sendable {
    let name = "slow"
    private var entries: [Int: (entry: CacheTierEntry<Stamped>, until: Date?)] = [:]
    private var dice: Dice
    private let clock: CacheClock
    /// In microseconds.
    static let slowest = 200

    init(_ dice: Dice, _ clock: CacheClock) {
      self.dice = dice
      self.clock = clock
    }

    private func pause() async {
      if VirtualLoop.shared.runsAtOnce { return }
      let time = Int64(dice.microseconds(0, Self.slowest))
      try? await VirtualLoop.shared.sleep(.nanoseconds(time))
    }

    func entry(forKey key: Int) async throws -> CacheTierEntry<Stamped>? {
      await pause()
      guard let found = entries[key] else { return nil }
      if let until = found.until, until <= clock.date {
        entries[key] = nil
        return nil
      }
      var entry = found.entry
      entry.expiration = found.until.map { .date($0) } ?? .never
      await pause()
      return entry
    }

    func set(_ entry: CacheTierEntry<Stamped>, forKey key: Int) async throws {
      let until = (entry.expiration ?? .never).expirationDate(from: clock.date)
      await pause()
      entries[key] = (entry, until)
      await pause()
    }

    func remove(forKey key: Int) async throws {
      await pause()
      entries[key] = nil
      await pause()
    }

    func removeAll(progress: CacheProgress?) async throws {
      await pause()
      entries = [:]
      await pause()
    }

    func contains(_ key: Int) async throws -> Bool { try await entry(forKey: key) != nil }
  }
#endif
