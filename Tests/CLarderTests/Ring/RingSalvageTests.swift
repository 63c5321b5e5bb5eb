// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: salvage")
struct RingSalvageTests {
  let directory: TemporaryDirectory
  let url: URL
  let target: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
    target = directory.file("salvaged")
  }

  @Test(arguments: [0, 1, 20, 200])
  func aSoundRingIsCopiedWithNumbersCursorsAndSettings(appended: Int) throws {
    let ring = try Ring(url, data: 2000, slots: 3)
    try ring.append(lengths: (0..<appended).map { $0 * 11 % 47 })
    try ring.acknowledge("a", UInt64(appended))
    try ring.acknowledge("b\0", UInt64(appended / 2))
    let expected = try ring.messages
    ring.close()
    let before = try url.bytes()
    let report = try salvage()
    #expect(report.intact == UInt64(expected.count))
    #expect(report.lost == 0 && report.damaged_places == 0 && report.header_damaged == 0)
    #expect(report.newest_sequence == UInt64(appended))
    #expect(try url.bytes() == before)

    let salvaged = try Ring(target)
    #expect(try salvaged.messages == expected)
    #expect(try salvaged.acknowledged("a") == UInt64(appended))
    #expect(try salvaged.acknowledged("b\0") == UInt64(appended / 2))
    let statistics = try salvaged.statistics
    #expect(statistics.capacity_bytes == UInt64(before.count))
    #expect(statistics.cursor_slots == 3)
    #expect(statistics.flags == UInt32(LARDER_RING_OVERWRITE))
    #expect(salvaged.isSound)
    #expect(try salvaged.append(length: 4) == UInt64(appended) + 1)
  }

  @Test func whatWasRemovedStaysRemovedAndItsNumbersStayGiven() throws {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: repeatElement(9, count: 40))
    try ring.remove(through: 30)
    ring.close()
    #expect(try salvage().intact == 10)
    #expect(try Ring(target).sequences == Array(31...40))

    let emptied = try Ring(url)
    try emptied.remove(through: .max)
    emptied.close()
    try FileManager.default.removeItem(at: target)
    #expect(try salvage().intact == 0)
    let salvaged = try Ring(target)
    #expect(try salvaged.sequences == [])
    #expect(try salvaged.append(length: 1) == 41)
  }

  @Test func damagedMessagesAreLeftOutAndCounted() throws {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: (0..<100).map { $0 * 11 % 47 })
    ring.close()
    let live = RingImage(bytes: try url.bytes()).live
    for index in [4, 5, 12] { try url.flip(at: live[index].offset + 3) }
    let report = try salvage()
    #expect(report.intact == UInt64(live.count) - 3)
    #expect(report.lost == 3 && report.damaged_places == 2)
    #expect(report.first_damage_offset == UInt64(live[4].offset))
    let salvaged = try Ring(target)
    let gone = Set([4, 5, 12].map { live[$0].sequence })
    #expect(try salvaged.sequences == live.map(\.sequence).filter { !gone.contains($0) })
    #expect(try salvaged.messages.areRight)
    #expect(try salvaged.messages.map(\.lost).reduce(0, +) == 3)
    #expect(salvaged.isSound)
  }

  @Test(arguments: [false, true], [30, 100])
  func whatIsMissingInFrontOfTheFirstMessageIsLostAndWasNotOverwritten(
    overwrite: Bool, appended: Int
  ) throws {
    let ring = try Ring(url, data: 2000, overwrite: overwrite)
    for _ in 0..<appended { _ = try? ring.append(length: 9) }
    let before = try ring.statistics
    ring.close()
    let live = RingImage(bytes: try url.bytes()).live
    for record in live.prefix(3) { try url.flip(at: record.offset + 3) }
    let report = try salvage()
    #expect(report.intact == before.count - 3 && report.lost == 3)
    let salvaged = try Ring(target).statistics
    #expect(salvaged.lost == 3 && salvaged.overwritten == before.overwritten)
    #expect(salvaged.next_sequence == before.next_sequence)
  }

  @Test func ofARingWithoutAnyRecordAllIsLost() throws {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: repeatElement(9, count: 30))
    ring.close()
    let live = RingImage(bytes: try url.bytes()).live
    for record in live { try url.flip(at: record.offset + 3) }
    let report = try salvage()
    #expect(report.intact == 0 && report.lost == 30)
    let salvaged = try Ring(target)
    #expect(try salvaged.statistics.lost == 30)
    #expect(try salvaged.append(length: 9) == 31)
  }

  @Test func aRingWithoutItsHeaderIsSalvagedByItsBackup() throws {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: 0..<30)
    ring.close()
    try url.patch([UInt8](repeating: 0, count: 64))
    let report = try salvage()
    #expect(report.header_damaged == 1 && report.intact == 30)
    #expect(try Ring(target).sequences == Array(1...30))
  }

  @Test func anotherCapacityAndPolicyMayBeAskedFor() throws {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: (0..<30).map { $0 * 11 % 47 })
    ring.close()
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = 9000
    options.cursor_slots = 1
    var report = larder_ring_report()
    try check(larder_ring_salvage(url.path, target.path, &options, nil, nil, &report))
    let salvaged = try Ring(target)
    #expect(try salvaged.sequences == Array(1...30))
    #expect(try salvaged.statistics.capacity_bytes == 9000)
    #expect(try salvaged.statistics.flags == 0)
  }

  // MARK: - Refusals

  @Test func aTargetThatExistsIsLeftAlone() throws {
    try Ring(url, data: 1000).append(length: 1)
    try target.create([1, 2, 3])
    #expect(status { try salvage() } == Int(EEXIST))
    #expect(try target.bytes() == [1, 2, 3])
    try FileManager.default.removeItem(at: target)
    let elsewhere = directory.file("elsewhere")
    try FileManager.default.createSymbolicLink(at: target, withDestinationURL: elsewhere)
    #expect(status { try salvage() } == Int(EEXIST))
    #expect(try directory.names == ["ring", "salvaged"])
  }

  @Test func aSourceThatIsNoRingIsForeignAndLeavesNoTarget() throws {
    #expect(status { try salvage() } == Int(ENOENT))
    for bytes in [[], [UInt8](repeating: 0, count: 3000), payload(1, 3000), payload(2, 10)] {
      try url.create(bytes)
      #expect(status { try salvage() } == LARDER_EFOREIGN)
    }
    #expect(try directory.names == ["ring"])
  }

  @Test func progressGrowsAndAnAnswerOtherThanZeroStops() throws {
    let ring = try Ring(url, data: 6 << 20)
    try ring.append(lengths: repeatElement(100_000, count: 50))
    ring.close()
    final class Told {
      var done: [UInt64] = []
      var total: UInt64 = 0
      var stopsAfter = Int.max
    }
    let progress: larder_progress = { context, done, total in
      guard let context else { return 1 }
      let told = Unmanaged<Told>.fromOpaque(context).takeUnretainedValue()
      told.done.append(done)
      told.total = total
      return told.done.count < told.stopsAfter ? 0 : 1
    }
    let told = Told()
    told.stopsAfter = 3
    var report = larder_ring_report()
    let context = Unmanaged.passUnretained(told).toOpaque()
    let stopped = larder_ring_salvage(url.path, target.path, nil, progress, context, &report)
    #expect(stopped == ECANCELED)
    #expect(told.done.count == 3)
    #expect(try directory.names == ["ring"])

    told.done = []
    told.stopsAfter = .max
    try check(larder_ring_salvage(url.path, target.path, nil, progress, context, &report))
    #expect(told.done == told.done.sorted() && told.done.count >= 4)
    #expect(told.total == 6 << 20 && told.done.allSatisfy { $0 <= told.total })
    #expect(try Ring(target).statistics.count == 50)
  }

  @discardableResult private func salvage() throws -> larder_ring_report {
    var report = larder_ring_report()
    try check(larder_ring_salvage(url.path, target.path, nil, nil, nil, &report))
    return report
  }
}
