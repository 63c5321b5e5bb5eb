// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("The identity of a log") struct LogIdentityTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("log") }
  private var file: URL { directory.file("log.identity") }

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ url: URL? = nil, bytes: Int = 1 << 16) throws -> MessageLog<String> {
    try MessageLog(
      at: .url(url ?? self.url), capacity: DataSize(bytes: bytes), whenFull: .overwriteOldest,
      coder: .string,
      configuration: MessageLogConfiguration(syncInterval: nil, onMismatch: .adapt))
  }

  private func identity(_ url: URL? = nil, bytes: Int = 1 << 16) throws -> UUID {
    let log = try open(url, bytes: bytes)
    defer { try? log.close() }
    return try log.identity()
  }

  @Test func itStaysWithTheLog() throws {
    let identity = try identity()
    #expect(try self.identity() == identity)
    let log = try open()
    #expect(try MessageLog(readingFrom: .url(url), coder: .string).identity() == identity)
    try log.append("a")
    try log.close()
    try MessageLog<String>.resize(at: .url(url), to: 128.kilobytes)
    #expect(try self.identity(bytes: 1 << 17) == identity)
    // Adapted when it is opened.
    #expect(try self.identity(bytes: 1 << 18) == identity)
    #expect(try file.bytes().count == 64)
  }

  @Test func aReaderMakesOneToo() throws {
    let log = try open()
    let identity = try MessageLog(readingFrom: .url(url), coder: .string).identity()
    #expect(try log.identity() == identity)
  }

  @Test func aLogMadeAgainIsAnotherAndTheFirstPutBackIsItself() throws {
    let identity = try identity()
    let aside = directory.file("aside")
    try FileManager.default.moveItem(at: url, to: aside)
    let another = try self.identity()
    #expect(another != identity)
    #expect(try self.identity() == another)
    try FileManager.default.removeItem(at: url)
    try FileManager.default.moveItem(at: aside, to: url)
    #expect(try self.identity() == identity)
  }

  @Test func aCopyIsAnotherUnlessItTakesItsIdentityAlong() throws {
    let identity = try identity()
    let copies = ["alone", "whole"].map { directory.file($0) }
    for copy in copies { try FileManager.default.copyItem(at: url, to: copy) }
    try FileManager.default.copyItem(at: file, to: directory.file("whole.identity"))
    #expect(try copies.map { try self.identity($0) == identity } == [false, true])
  }

  @Test func aSalvagedLogIsAnother() throws {
    let identity = try identity()
    let saved = directory.file("saved")
    _ = try MessageLog<String>.salvage(from: .url(url), to: .url(saved))
    try FileManager.default.copyItem(at: file, to: directory.file("saved.identity"))
    #expect(try self.identity(saved) != identity)
  }

  @Test func allWhoAskAtOnceGetTheSame() throws {
    let log = try open()
    let readers = try (0..<8).map { _ in try MessageLog(readingFrom: .url(url), coder: .string) }
    let found = Locked<Set<UUID>>([])
    onDiskThreads(8) { index in
      if let identity = try? readers[index].identity() {
        found.withLock { _ = $0.insert(identity) }
      }
    }
    #expect(try found.withLock { $0 } == [log.identity()])
  }

  @Test(arguments: [0, 1, 7, 8, 40, 63])
  func whatACrashLeftOfANewOneIsReplaced(bytes: Int) throws {
    let identity = try identity()
    let whole = try Data(contentsOf: file)
    try whole.prefix(bytes).write(to: file)
    let another = try self.identity()
    #expect(try another != identity && file.bytes().count == 64)
    #expect(try self.identity() == another)
    // Behind one of another log, too.
    try (whole + whole.prefix(bytes)).write(to: directory.file("more.identity"))
    let more = try self.identity(directory.file("more"))
    #expect(try self.identity(directory.file("more")) == more)
    #expect(try directory.file("more.identity").bytes().count == 128)
  }

  @Test func roomThatTheSystemMadeForOneIsUsed() throws {
    let identity = try identity()
    let whole = try Data(contentsOf: file)
    try (whole + Data(count: 64)).write(to: directory.file("more.identity"))
    #expect(try self.identity(directory.file("more")) != identity)
    #expect(try directory.file("more.identity").bytes().count == 128)
  }

  @Test func aDamagedOneIsToldAndLeft() throws {
    _ = try identity()
    var bytes = try Data(contentsOf: file)
    bytes[30] ^= 1
    try bytes.write(to: file)
    #expect(errorCode { try identity() } == .damaged)
    #expect(try Data(contentsOf: file) == bytes)
  }

  @Test func aFileOfSomethingElseIsLeft() throws {
    for text in ["x", String(repeating: "something else ", count: 9)] {
      try Data(text.utf8).write(to: file)
      #expect(errorCode { try identity() } == .notALarderFile)
      #expect(try Data(contentsOf: file) == Data(text.utf8))
    }
  }

  @Test func aClosedLogHasNone() throws {
    let log = try open()
    try log.close()
    #expect(errorCode { try log.identity() } == .closed)
  }
}
