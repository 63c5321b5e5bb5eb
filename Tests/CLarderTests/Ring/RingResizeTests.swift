// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: resizing")
struct RingResizeTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  @Test(arguments: [UInt64(2000), 2008, 10_000, 100_000])
  func aLargerRingHoldsEverythingItHeld(bytes: UInt64) throws {
    let before = try filled(200)
    let messages = try Ring(url).messages
    try resize(to: bytes)
    let ring = try Ring(url)
    #expect(try ring.messages == messages)
    let after = try ring.statistics
    #expect(after.data_bytes == bytes)
    #expect(after.next_sequence == 201 && after.overwritten == before.overwritten)
    #expect(try ring.acknowledged("a") == 150)
    #expect(ring.isSound)
    #expect(try directory.names == ["ring"])
    #expect(try ring.append(length: 3) == 201)
  }

  @Test(arguments: [UInt64(1992), 1000, 200, 100, 16])
  func aSmallerOneKeepsTheNewestThatFit(bytes: UInt64) throws {
    let before = try filled(200)
    let messages = try Ring(url).messages
    try resize(to: bytes)
    let ring = try Ring(url)
    let kept = try ring.messages
    if bytes < 64 {
      // Of messages that are all too long but for an empty one, that one.
      #expect(kept.map(\.payload) == [[]])
    } else {
      #expect(!kept.isEmpty && kept == messages.suffix(kept.count))
    }
    let after = try ring.statistics
    #expect(after.next_sequence == 201)
    #expect(after.removed == before.removed && after.lost == 0)
    #expect(after.overwritten == 200 - UInt64(kept.count))
    #expect(try ring.acknowledged("a") == 150)
    #expect(try ring.append([]) == 201)
    #expect(ring.isSound)
  }

  @Test func whatDoesNotFitARefusingRingIsNotDropped() throws {
    try filled(200)
    let before = try Ring(url).messages
    let bytes = try url.bytes()
    #expect(status { try resize(to: 1000, overwrite: false) } == LARDER_EFULL)
    #expect(status { try resize(to: 32, overwrite: false) } == LARDER_EFULL)
    #expect(try url.bytes().count == bytes.count)
    #expect(try Ring(url).messages == before)
    #expect(try directory.names == ["ring"])
    try resize(to: 4000, overwrite: false)
    let ring = try Ring(url)
    #expect(try ring.messages == before)
    #expect(try ring.statistics.flags == 0)
  }

  @Test func numbersCountersAndGapsAreKept() throws {
    var ring = try Ring(url, data: 2000)
    try ring.append(lengths: repeatElement(16, count: 50))
    try ring.remove(through: 10)
    ring.close()
    try url.flip(at: 832 + 20 * 32 + 20)
    try resize(to: 5000)
    ring = try Ring(url)
    #expect(try ring.sequences == Array(11...20) + Array(22...50))
    let statistics = try ring.statistics
    #expect(statistics.removed == 10 && statistics.count == 39)
    #expect(
      statistics.count + statistics.overwritten + statistics.removed + statistics.lost == 50)
    #expect(ring.isSound)
    try ring.remove(through: .max)
    ring.close()
    try resize(to: 3000)
    #expect(try Ring(url).append(length: 1) == 51)
  }

  @Test func permissionsAreKept() throws {
    try filled(20)
    for mode in [0o644, 0o600, 0o640, 0o660] {
      let manager = FileManager.default
      try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
      try resize(to: UInt64(4000 + mode * 8))
      let attributes = try manager.attributesOfItem(atPath: url.path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
    }
  }

  @Test func slotsAndFormatMayChange() throws {
    try filled(20)
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = capacity(data: 3000, slots: 1)
    options.cursor_slots = 1
    options.content_format = 99
    try check(larder_ring_resize(url.path, &options, nil))
    let ring = try Ring(url)
    #expect(try ring.statistics.content_format == 99)
    #expect(try ring.statistics.cursor_slots == 1)
    #expect(try ring.acknowledged("a") == 15)
    #expect(try ring.acknowledged("b") == nil)
  }

  @Test func aFileInUseOrMissingOrForeignIsRefusedAndLeftAlone() throws {
    var detail = larder_ring_detail()
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = 5000
    #expect(larder_ring_resize(url.path, &options, &detail) == ENOENT)
    #expect(try directory.names == [])
    let ring = try Ring(url, data: 2000)
    #expect(larder_ring_resize(url.path, &options, &detail) == LARDER_EBUSY)
    #expect(detail.holder_pid != 0)
    ring.close()
    options.capacity_bytes = 63
    #expect(larder_ring_resize(url.path, &options, &detail) == LARDER_EINVALID)
    #expect(detail.capacity_bytes == larder_ring_minimum_capacity(8))
    #expect(try directory.names == ["ring"])
    try url.create(payload(1, 5000))
    options.capacity_bytes = 5000
    #expect(larder_ring_resize(url.path, &options, &detail) == LARDER_EFOREIGN)
    #expect(try url.bytes() == payload(1, 5000))
  }

  @Test func whatAResizeThatWasKilledLeftIsSweptUp() throws {
    try filled(20)
    try directory.file("ring.resize").create(payload(1, 700))
    try resize(to: 9000)
    #expect(try directory.names == ["ring"])
    #expect(try Ring(url).statistics.data_bytes == 9000)
  }

  // MARK: - Helpers

  @discardableResult private func filled(_ count: Int) throws -> larder_ring_statistics {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: (0..<count).map { $0 * 11 % 47 })
    try ring.acknowledge("a", UInt64(count * 3 / 4))
    try ring.acknowledge("b", 1)
    return try ring.statistics
  }

  private func resize(to bytes: UInt64, overwrite: Bool = true) throws {
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = capacity(data: bytes)
    options.flags = overwrite ? UInt32(LARDER_RING_OVERWRITE) : 0
    try check(larder_ring_resize(url.path, &options, nil))
  }
}
