// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite("Queues: damaged files") struct LogQueueDamageTests {
  private let fixture: QueueFixture

  init() throws {
    fixture = try QueueFixture()
    fixture.configuration.window = 8
  }

  /// 1 and 2 are done, and so is 4; 3 and 5 were delivered, 6 and 7 were not.
  private func prepare() throws {
    let queue = try fixture.queue()
    try fixture.append(1...7)
    for _ in 1...5 {
      let job = try #require(try queue.poll(leaseFor: .seconds(10)))
      if [1, 2, 4].contains(job.sequence) { try queue.acknowledge(job) }
    }
    try fixture.log.close()
  }

  @Test(arguments: [0x01, 0x80, 0xFF] as [UInt8])
  func noByteCostsAMessage(bits: UInt8) throws {
    try prepare()
    let whole = try fixture.file.bytes()
    #expect(whole.count == 64 + 8 * 16)
    for offset in whole.indices {
      try fixture.file.flip(at: offset, bits)
      let damaged = try fixture.file.bytes()
      let queue = try fixture.reopen()
      let found = try queue.drain()
      // What is not done comes; of what is done, what the file does not say any more may.
      #expect(Set(found).isSuperset(of: [3, 5, 6, 7]), "\(offset)")
      #expect(Set(found).isSubset(of: 3...7), "\(offset)")
      let recovery = try queue.recovery
      if let aside = recovery.setAside {
        #expect(offset < 64, "\(offset)")
        #expect(try aside.bytes() == damaged, "\(offset)")
        try FileManager.default.removeItem(at: aside)
      } else {
        #expect(offset >= 64, "\(offset)")
        #expect(recovery.damagedSlots == 1, "\(offset)")
      }
      try fixture.log.close()
      try Data(whole).write(to: fixture.file)
    }
  }

  @Test(arguments: Array(0...64 + 8 * 16)) func noLengthCostsAMessage(length: Int) throws {
    try prepare()
    let whole = try fixture.file.bytes()
    try Data(whole.prefix(length)).write(to: fixture.file)
    let found = try fixture.reopen().drain()
    #expect(Set(found).isSuperset(of: [3, 5, 6, 7]))
    #expect(Set(found).isSubset(of: 3...7))
  }

  @Test(arguments: [1, 8, 16, 32, 64, 128]) func zerosOverTheHeadAreTold(count: Int) throws {
    try prepare()
    let damaged = try Data(count: count) + fixture.file.bytes().dropFirst(count)
    try damaged.write(to: fixture.file)
    let queue = try fixture.reopen()
    #expect(try Set(queue.drain()).isSuperset(of: [3, 5, 6, 7]))
    #expect(try queue.recovery.setAside != nil)
  }

  /// A new file is whole before it gets its name: nobody makes one of zeros, or an empty one.
  @Test(arguments: [0, 100]) func aFileOfZerosIsToldToo(count: Int) throws {
    try prepare()
    try Data(count: count).write(to: fixture.file)
    let queue = try fixture.reopen()
    #expect(try queue.drain() == [3, 4, 5, 6, 7])
    #expect(try queue.recovery.setAside?.bytes() == [UInt8](repeating: 0, count: count))
  }

  @Test func anotherProgramsFileIsLeftAlone() throws {
    try fixture.append(1...1)
    let theirs = Data("somebody else's".utf8)
    try theirs.write(to: fixture.file)
    #expect(errorCode { try fixture.queue() } == .notALarderFile)
    #expect(errorCode { try fixture.log.removeQueue(named: "work") } == .notALarderFile)
    #expect(try Data(contentsOf: fixture.file) == theirs)
  }

  @Test(arguments: [0, 9, 200]) func zerosAreNotDeleted(count: Int) throws {
    try fixture.append(1...1)
    let theirs = Data(count: count) + Data("something else's".utf8.prefix(count / 4))
    try theirs.write(to: fixture.file)
    #expect(errorCode { try fixture.log.removeQueue(named: "work") } == .notALarderFile)
    #expect(try Data(contentsOf: fixture.file) == theirs)
  }

  @Test func aLaterVersionIsLeftAlone() throws {
    try prepare()
    var bytes = try fixture.file.bytes()
    bytes.set(UInt32(2), at: 8)
    bytes.sealFixed()
    try fixture.file.patch(bytes)
    #expect(errorCode { try fixture.reopen() } == .incompatibleVersion)
    #expect(try fixture.file.bytes() == bytes)
  }

  @Test func anotherQueuesFileIsRefused() throws {
    try prepare()
    let other = fixture.directory.file("log.queue-other")
    try FileManager.default.moveItem(at: fixture.file, to: other)
    _ = try fixture.reopen()
    #expect(errorCode { try fixture.log.queue(named: "other") } == .configurationMismatch)
  }

  @Test func aLogThatWasResizedIsTheSame() throws {
    try prepare()
    try fixture.log.close()
    try MessageLog<String>.resize(
      at: .url(fixture.directory.file("log")), to: fixture.capacity)
    let queue = try fixture.reopen()
    #expect(try queue.recovery.setAside == nil)
    #expect(try queue.drain() == [3, 5, 6, 7])
  }

  @Test func theFileOfAnotherLogIsSetAside() throws {
    try prepare()
    try FileManager.default.removeItem(at: fixture.directory.file("log"))
    var queue = try fixture.reopen()
    try fixture.append(1...7)
    #expect(try queue.drain() == [1, 2, 3, 4, 5, 6, 7])
    #expect(try queue.recovery.setAside != nil)
    queue = try fixture.reopen()
    #expect(try queue.recovery.setAside == nil)
    #expect(try fixture.directory.names.count == 3)
  }

  @Test func anOlderCopyOfTheLogDoesNotTakeNewMessagesForDone() throws {
    try fixture.append(1...2)
    let log = fixture.directory.file("log")
    try fixture.log.close()
    let copy = try Data(contentsOf: log)
    var queue = try fixture.reopen()
    try fixture.append(3...4)
    while let job = try queue.poll(leaseFor: .seconds(1)) { try queue.acknowledge(job) }
    try fixture.log.close()
    try copy.write(to: log)
    queue = try fixture.reopen()
    try fixture.append(5...6)
    #expect(try queue.drain() == [1, 2, 3, 4])
  }

  @Test func aSecondNameOrASymbolicLinkIsRefused() throws {
    try prepare()
    let target = fixture.directory.file("target")
    try FileManager.default.moveItem(at: fixture.file, to: target)
    try FileManager.default.linkItem(at: target, to: fixture.file)
    #expect(errorCode { try fixture.reopen() } == .untrusted)
    try FileManager.default.removeItem(at: fixture.file)
    try FileManager.default.createSymbolicLink(at: fixture.file, withDestinationURL: target)
    #expect(errorCode { try fixture.reopen() } == .io)
  }

  // MARK: - The format

  /// A reader that was written from the page on file formats alone.
  @Test func theFileIsAsThePageSays() throws {
    try prepare()
    let bytes = try fixture.file.bytes()
    #expect(Array(bytes.prefix(8)) == Array("LARDQUEU".utf8))
    #expect(bytes.integer(at: 8, as: UInt32.self) == 1)
    #expect(bytes.integer(at: 12, as: UInt32.self) == 8)
    let log = try fixture.directory.file("log").bytes()
    #expect(Array(bytes[16..<24]) == Array(log[48..<56]))
    #expect(Array(bytes[24..<56]) == Array("work".utf8) + [UInt8](repeating: 0, count: 28))
    #expect(Array(bytes[56..<60]) == [0, 0, 0, 0])
    let seed = bytes.crc(0..<60)
    #expect(bytes.integer(at: 60, as: UInt32.self) == seed)
    var states: [UInt64: [UInt32]] = [:]
    for offset in stride(from: 64, to: bytes.count, by: 16) {
      let slot = Array(bytes[offset..<offset + 16])
      if slot.allSatisfy({ $0 == 0 }) { continue }
      #expect(slot.integer(at: 12, as: UInt32.self) == slot.crc(0..<12, seed: seed))
      let word = slot.integer(at: 0, as: UInt64.self)
      let number = word & (1 << 56 - 1)
      #expect(number % 8 == UInt64(offset - 64) / 16)
      states[number] = [UInt32(word >> 56), slot.integer(at: 8, as: UInt32.self)]
    }
    #expect(states == [1: [2, 1], 2: [2, 1], 3: [1, 1], 4: [2, 1], 5: [1, 1]])
  }

  @Test func aLetterIsAsThePageSays() throws {
    let dead = try fixture.bury(after: 1)
    let queue = try fixture.queue()
    try fixture.append(1...1)
    let job = try #require(try queue.poll(leaseFor: .seconds(1)))
    try queue.release(job)
    let log = try fixture.directory.file("log").bytes()
    var letter: [UInt8] = []
    try dead.forEachMessageBytes { _, bytes in letter = Array(bytes) }
    #expect(Array(letter.prefix(8)) == Array(log[48..<56]))
    #expect(letter.integer(at: 8, as: UInt64.self) == 1)
    #expect(letter.integer(at: 16, as: UInt32.self) == 1)
    #expect(letter.integer(at: 20, as: UInt32.self) == 4)
    #expect(letter.dropFirst(24) == Array("work1".utf8)[...])
  }
}
