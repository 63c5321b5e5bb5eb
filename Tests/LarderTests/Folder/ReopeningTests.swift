// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// A store is closed when the last one lets go of it, and that is not a thread of the library
/// which has nothing left to do for it.
struct ReopeningTests {
  private struct Note: Codable, Identifiable {
    var id: Int
    var text: String
  }

  /// What is done with `await` before the store is let go of.
  enum Use: CaseIterable {
    case disk, entry, edit, archive, query, twoTiers, load, batchLoad, log, queue
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("store").path }

  private nonisolated func use(_ use: Use, _ round: Int) async throws {
    switch use {
    case .disk:
      try await DiskCache<Int, Data>(at: .path(path)).set(Data(count: 2000), forKey: round)
    case .entry:
      try await EntryCache<Int>(at: .path(path), valueCount: 1).setValues([Data()], forKey: round)
    case .edit:
      let editor = try #require(
        try await EntryCache<Int>(at: .path(path), valueCount: 1).edit(round))
      try editor.set(Data(count: 2000), at: 0)
      try await editor.commit()
    case .archive: try await Archive<Note>(at: .path(path)).insert(Note(id: round, text: "a"))
    case .query: _ = try await Archive<Note>(at: .path(path)).sorted(by: \.text).results()
    case .twoTiers:
      try await Cache<Int, Data>(at: .path(path)).set(Data(count: 2000), forKey: round)
    case .load:
      _ = try await Cache<Int, Data>(at: .path(path)).value(forKey: round) { Data(count: 2000) }
    case .batchLoad:
      _ = try await Cache<Int, Data>(at: .path(path)).values(forKeys: [round, -1 - round]) { keys in
        Dictionary(uniqueKeysWithValues: keys.map { ($0, Data()) })
      }
    case .log: try await log().append("a", durability: .power)
    case .queue:
      let log = try log()
      let queue = try log.queue(named: "q")
      try log.append("a")
      let job = try await queue.receive(leaseFor: .seconds(60))
      #expect(try await queue.acknowledge(job))
    }
  }

  private func log() throws -> MessageLog<String> {
    try MessageLog(
      at: .url(directory.file("store")), capacity: 64.kilobytes, whenFull: .overwriteOldest,
      configuration: .init(durability: .power))
  }

  @Test(arguments: Use.allCases)
  func whatWasUsedWithAwaitIsOpenedAgainAtOnce(_ use: Use) async throws {
    for round in 0..<effort(100, long: 10_000) { try await self.use(use, round) }
  }
}
