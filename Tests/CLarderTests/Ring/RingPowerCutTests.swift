// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// What a power cut leaves: some pages as they were, some as they were to be.
@Suite("Ring: after a power cut")
struct RingPowerCutTests {
  let directory: TemporaryDirectory
  let url: URL
  let torn: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
    torn = directory.file("torn")
  }

  /// With 59 cursors the data start with the second page.
  private func makeRing(pages: Int) throws -> Ring {
    let ring = try Ring(url, data: UInt64(pages * 4096 - 64), slots: 59)
    #expect(try ring.statistics.capacity_bytes == UInt64((pages + 1) * 4096))
    return ring
  }

  /// A ring whose writer says that it is open.
  private func imageOfOpenRing() throws -> [UInt8] {
    var bytes = try url.bytes()
    bytes.set(UInt32(0), at: 124)
    return bytes
  }

  @Test(arguments: [0, 100, 300])
  func anOldHeaderWithNewDataKeepsAPrefix(before: Int) throws {
    for after in [1, 10, 100, 300, 1000] {
      try? FileManager.default.removeItem(at: url)  // It need not be there.
      let ring = try makeRing(pages: 4)
      try ring.append(lengths: (0..<before).map { $0 * 7 % 90 })
      try ring.sync()
      let synced = UInt64(before)
      let header = try imageOfOpenRing().prefix(4096)
      try ring.append(lengths: (0..<after).map { $0 * 13 % 90 })
      var image = try url.bytes()
      image.replaceSubrange(0..<4096, with: header)
      try torn.create(inAnotherBoot: image)
      let result = try expectPrefix(ring, synced: synced, image, "\(before) and \(after)")
      // All pages are there, so nothing needs to be given up.
      if after <= 100 { #expect(result.last == synced + UInt64(after)) }
    }
  }

  @Test func aPageThatIsMissingBehindTheLastSyncEndsTheLog() throws {
    let ring = try makeRing(pages: 8)
    try ring.append(lengths: (0..<150).map { $0 * 7 % 90 })
    try ring.sync()
    try ring.append(lengths: (0..<150).map { $0 * 13 % 90 })
    let image = try url.bytes()
    let live = RingImage(bytes: image).live
    let unsynced = live.first { $0.sequence == 151 }!.offset / 4096 + 1
    let last = live.last!.offset / 4096
    for page in unsynced...last {
      var bytes = image
      for index in page * 4096..<(page + 1) * 4096 { bytes[index] = 0 }
      try torn.create(inAnotherBoot: bytes)
      let sequences = try expectPrefix(ring, synced: 150, bytes, "page \(page)")
      let whole = live.filter { $0.offset + $0.size <= page * 4096 }
      #expect(sequences == whole.map(\.sequence), "page \(page)")
      let again = try Ring(torn)
      // Records that were given up do not come back when new ones lead up to them.
      try again.append(lengths: (0..<20).map { $0 * 17 % 90 })
      let now = try again.messages
      again.close()
      try torn.create(inAnotherBoot: torn.bytes())
      #expect(try Ring(torn).messages == now)
    }
  }

  @Test func everythingSyncedSurvivesWithoutAnyPageSince() throws {
    let ring = try makeRing(pages: 4)
    for round in 1...10 {
      try ring.append(lengths: (0..<37).map { ($0 + round) * 7 % 200 })
      try ring.sync()
      let image = try url.bytes()
      try torn.create(inAnotherBoot: image)
      let sequences = try expectPrefix(ring, synced: UInt64(round * 37), image, "\(round)")
      #expect(try sequences == ring.sequences)
    }
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func anyMixtureOfOldAndNewPagesGivesAPrefixWithEverythingSynced(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<50 {
      try? FileManager.default.removeItem(at: url)  // It need not be there.
      let ring = try makeRing(pages: Int.random(in: 2...9, using: &generator))
      let longest = [90, 90, 600, 3000].randomElement(using: &generator)!
      var old = try imageOfOpenRing()
      var synced: UInt64 = 0
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let count = Int.random(in: 0...(longest > 90 ? 20 : 200), using: &generator)
        try ring.append(
          lengths: (0..<count).map { _ in Int.random(in: 0...longest, using: &generator) })
        if Int.random(in: 0..<4, using: &generator) > 0 {
          try ring.sync()
          old = try url.bytes()
          synced = try ring.statistics.synced_sequence
        }
      }
      let new = try url.bytes()
      var image = old
      let chance = Int.random(in: 0...8, using: &generator)
      for start in stride(from: 0, to: image.count, by: 4096)
      where Int.random(in: 0..<8, using: &generator) < chance {
        let end = min(start + 4096, image.count)
        image.replaceSubrange(start..<end, with: new[start..<end])
      }
      try torn.create(inAnotherBoot: image)
      try expectPrefix(ring, synced: synced, image, "seed \(generator.seed), round \(round)")
    }
  }

  /// Opens the torn file and says what is in it.
  @discardableResult private func expectPrefix(
    _ ring: Ring, synced: UInt64, _ image: [UInt8], _ comment: Comment
  ) throws -> [UInt64] {
    let before = try ring.statistics
    let reading = try Ring(reading: torn)
    let again = try Ring(torn)
    let messages = try again.messages
    let sequences = messages.map(\.sequence)
    let statistics = try again.statistics
    #expect(messages.areRight, comment)
    // Of what was overwritten since the last sync any part may be left; what is missing is told.
    let whole = sequences.filter { $0 >= before.oldest_sequence }
    if let first = whole.first, let last = whole.last {
      #expect(whole == Array(first...last), comment)
      #expect(last <= before.newest_sequence, comment)
    }
    let numbers = sequences.isEmpty ? 0 : sequences.last! - sequences.first! + 1
    let holes = numbers - UInt64(sequences.count)
    #expect(sequences.count == whole.count || before.overwritten > 0, comment)
    // What was synced, but overwritten since, is not asked for.
    if before.oldest_sequence <= synced, synced > 0 {
      #expect(sequences.contains(synced), comment)
      #expect(sequences.contains(before.oldest_sequence), comment)
    }
    let highest = RingImage(bytes: image).everySequence.max() ?? 0
    #expect(statistics.next_sequence > highest, comment)
    #expect(statistics.count == UInt64(messages.count), comment)
    #expect(
      statistics.count + statistics.overwritten + statistics.removed + statistics.lost
        + statistics.skipped == statistics.next_sequence - 1, comment)
    // What was given is not given again.
    #expect(statistics.next_sequence >= before.next_sequence, comment)
    #expect(again.isSound || (holes > 0 && again.verify().report.lost == holes), comment)
    #expect(try reading.messages == messages, comment)
    #expect(try again.append(length: 1) == statistics.next_sequence, comment)
    again.close()
    return sequences
  }
}
