// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

/// Whatever releases of a program have done to a folder, an index, a scan and an array agree.
///
/// `LARDER_HISTORIES` says how many random histories there are, and `LARDER_SEED` which one is the
/// first.
struct ArchiveHistoryTests {
  private static let count =
    ProcessInfo.processInfo.environment["LARDER_HISTORIES"].flatMap { UInt64($0) }
    ?? effort(4, long: 12, sanitized: 2)

  private func histories(
    _ plant: ArchiveHistory.Plant, _ count: UInt64, _ body: (ArchiveHistory, UInt64) -> Bool
  ) throws {
    let first = SeededGenerator(seed: 1).seed
    for seed in first..<first + count {
      var history = try ArchiveHistory(seed: seed, plant)
      try history.run(steps: 30)
      if !body(history, seed) { return }
    }
  }

  @Test func anIndexSaysWhatAScanSaysWhateverReleasesDid() throws {
    var (byIndex, refusals) = (0, 0)
    try histories(.none, Self.count) { history, seed in
      #expect(
        history.failures.isEmpty,
        "seed \(seed): \(history.failures.first ?? "") after \(history.log)")
      byIndex += history.queriesByIndex
      refusals += history.refusals
      return true
    }
    #expect(byIndex > 20 * Self.count)
    #expect(refusals > 0 || Self.count < 12)
  }

  @Test(
    .enabled(if: !isSanitized, "what finds them is the same"),
    arguments: ArchiveHistory.Plant.allCases.filter { $0 != .none })
  func whatIsLeftOutOfTheChecksIsFound(plant: ArchiveHistory.Plant) throws {
    var isFound = false
    try histories(plant, 200) { history, _ in
      isFound = !history.failures.isEmpty
      return !isFound
    }
    #expect(isFound)
  }
}
