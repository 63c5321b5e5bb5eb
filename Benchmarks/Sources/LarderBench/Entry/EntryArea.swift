// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

/// Entries of two values each.
enum EntryArea: Area {
  static let name = "entry"
  static let title = "Entries with several values"
  static let quickEffort = Effort(fewest: 3, most: 301, seconds: 2)

  static var rows: [Row] {
    [
      commit("entry.commit", size: 100, goal: .ratio(0.1)),
      snapshot("entry.snapshot", size: 100, goal: .ratio(1)),
      commit("entry.commit.return", size: 100, flushes: false, goal: .none),
      commit("entry.commit.100k", size: 100_000, goal: .none),
      commit("entry.commit.100k.return", size: 100_000, flushes: false, goal: .none),
      snapshot("entry.snapshot.100k", size: 100_000, goal: .none),
      set("entry.set", flushes: true), set("entry.set.return", flushes: false), update,
    ]
  }

  /// A new cache of entries of two values.
  static func cache(_ bench: Bench, _ name: String) throws -> EntryCache<Int> {
    try EntryCache(at: .path(bench.freshFolder(name)), valueCount: 2)
  }

  /// What is closed here is thrown away: how its last flush went does not matter.
  static func closeQuietly(_ cache: EntryCache<Int>) { try? cache.close() }
}
