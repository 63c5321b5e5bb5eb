// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: named cursors")
struct RingCursorTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  @Test func aCursorOnlyMovesForward() throws {
    let ring = try Ring(url, data: 1024)
    try ring.append(lengths: 0..<10)
    #expect(try ring.acknowledged("a") == nil)
    for (sequence, expected) in [(3, 3), (2, 3), (0, 3), (3, 3), (10, 10), (9, 10)] {
      try ring.acknowledge("a", UInt64(sequence))
      #expect(try ring.acknowledged("a") == UInt64(expected))
    }
    #expect(try ring.acknowledged("b") == nil)
    #expect(ring.isSound)
  }

  @Test func aNumberThatWasNotGivenYetIsRefusedAndTakesNoSlot() throws {
    let ring = try Ring(url, data: 1024)
    #expect(status { try ring.acknowledge("a", 1) } == LARDER_EINVALID)
    #expect(try cursors(ring).isEmpty)
    try ring.acknowledge("a", 0)
    #expect(try ring.acknowledged("a") == 0)
    try ring.append(lengths: [1, 2])
    #expect(status { try ring.acknowledge("a", 3) } == LARDER_EINVALID)
    #expect(status { try ring.acknowledge("a", .max) } == LARDER_EINVALID)
    #expect(try ring.acknowledged("a") == 0)
    // A message that is gone was given all the same.
    try ring.remove(through: 2)
    try ring.acknowledge("a", 2)
    #expect(try ring.acknowledged("a") == 2)
  }

  @Test func namesAreAnyBytesFromOneToThirtyTwo() throws {
    let ring = try Ring(url, data: 1024)
    try ring.append(lengths: [1, 2, 3])
    let long = String(repeating: "n", count: 32)
    let names = ["\0", "\0\0", "a\0b", "a\0c", "a", long]
    for (index, name) in names.enumerated() { try ring.acknowledge(name, UInt64(index % 4)) }
    for (index, name) in names.enumerated() {
      #expect(try ring.acknowledged(name) == UInt64(index % 4))
    }
    for name in ["", long + "n"] {
      #expect(status { try ring.acknowledge(name, 1) } == LARDER_EINVALID)
      #expect(status { try ring.acknowledged(name) } == LARDER_EINVALID)
      #expect(status { try ring.removeCursor(name) } == LARDER_EINVALID)
    }
    #expect(try cursors(ring).map(\.name) == names)
  }

  @Test(arguments: [UInt32(0), 1, 3, 20])
  func slotsRunOutAndARemovedCursorFreesOne(slots: UInt32) throws {
    let ring = try Ring(url, data: 1024, slots: slots)
    try ring.append(lengths: [1])
    for index in 0..<slots { try ring.acknowledge("name \(index)", 1) }
    #expect(status { try ring.acknowledge("another", 1) } == LARDER_ENOSLOT)
    #expect(try ring.acknowledged("another") == nil)
    if slots == 0 { return }
    try ring.acknowledge("name 0", 1)
    try ring.removeCursor("name 0")
    #expect(status { try ring.removeCursor("name 0") } == LARDER_ENOTFOUND)
    #expect(try ring.acknowledged("name 0") == nil)
    try ring.acknowledge("another", 1)
    #expect(try cursors(ring).count == Int(slots))
    #expect(ring.isSound)
  }

  @Test func aCursorThatIsMadeAnewStartsAtNothing() throws {
    let ring = try Ring(url, data: 1024)
    try ring.append(lengths: [1, 2, 3])
    try ring.acknowledge("a", 3)
    try ring.removeCursor("a")
    try ring.acknowledge("a", 1)
    #expect(try ring.acknowledged("a") == 1)
  }

  @Test func cursorsSurviveReopeningAndAreSeenByReaders() throws {
    var ring = try Ring(url, data: 1024)
    try ring.append(lengths: 0..<9)
    try ring.acknowledge("one", 1)
    try ring.acknowledge("nine", 9)
    let reading = try Ring(reading: url)
    #expect(try reading.acknowledged("nine") == 9)
    let copy = directory.file("copy")
    try copy.create(url.bytes())
    ring.close()
    for file in [url, copy] {
      ring = try Ring(file)
      #expect(try cursors(ring) == [Cursor(name: "one", at: 1), Cursor(name: "nine", at: 9)])
      #expect(status { try ring.acknowledge("nine", 1 << 40) } == LARDER_EINVALID)
    }
  }

  @Test func aListThatIsTooShortIsFilledAndTheCountIsThatOfAll() throws {
    let ring = try Ring(url, data: 1024)
    for name in ["a", "b", "c"] { try ring.acknowledge(name, 0) }
    var count = 0
    try check(larder_ring_cursors(ring.raw, nil, 0, &count))
    #expect(count == 3)
    var list = [larder_ring_cursor](repeating: larder_ring_cursor(), count: 3)
    try check(larder_ring_cursors(ring.raw, &list, 2, &count))
    #expect(count == 3)
    #expect(list.map(\.name_length) == [1, 1, 0])
  }

  @Test func aCursorWhoseHalvesDisagreeStandsAtTheSmaller() throws {
    var ring = try Ring(url, data: 1024)
    try ring.append(lengths: 0..<9)
    try ring.acknowledge("a", 5)
    ring.close()
    let sound = try url.bytes()
    // If we crash here, the place before this one counts.
    for (field, value) in [(40, UInt64(7)), (48, ~UInt64(7)), (40, 4), (48, ~UInt64(4))] {
      var bytes = sound
      bytes.set(value, at: 320 + field)
      try url.create(bytes)
      ring = try Ring(url)
      #expect(try ring.acknowledged("a") == (value == 4 || value == ~4 ? 4 : 5))
    }
  }

  @Test func aSlotWithADamagedNameIsFree() throws {
    var ring = try Ring(url, data: 1024, slots: 1)
    try ring.append(lengths: [1])
    try ring.acknowledge("a", 1)
    ring.close()
    try url.flip(at: 320)
    ring = try Ring(url)
    #expect(try cursors(ring).isEmpty)
    try ring.acknowledge("b", 1)
    #expect(try cursors(ring) == [Cursor(name: "b", at: 1)])
  }

  // MARK: - Helpers

  private struct Cursor: Equatable {
    var name: String
    var at: UInt64
  }

  private func cursors(_ ring: Ring) throws -> [Cursor] {
    var list = [larder_ring_cursor](repeating: larder_ring_cursor(), count: 32)
    var count = 0
    try check(larder_ring_cursors(ring.raw, &list, list.count, &count))
    return list.prefix(count).map { cursor in
      let bytes = withUnsafeBytes(of: cursor.name) { Array($0) }
      #expect(bytes[Int(cursor.name_length)] == 0)
      let name = String(decoding: bytes.prefix(Int(cursor.name_length)), as: UTF8.self)
      return Cursor(name: name, at: cursor.acknowledged)
    }
  }
}
