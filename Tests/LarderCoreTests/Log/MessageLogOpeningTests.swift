// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Opening: good and bad arguments, other limits, other coders, other files.
@Suite struct MessageLogOpeningTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  // MARK: - Arguments

  @Test(arguments: [-1, 0, 1, 63, 64, 127, 1 << 41, .max])
  func capacityOutOfRangeIsAnInvalidArgumentThatNamesTheRange(bytes: Int) throws {
    let error = error { try fixture.open(bytes) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains(" \(bytes).") == true)
    #expect(!FileManager.default.fileExists(atPath: fixture.url.path))
    #expect(try fixture.directory.names == [])
  }

  @Test func smallestCapacityHoldsOneEmptyMessageAndOneByteLessIsRefused() throws {
    let least = try fixture.capacity(1, ofSize: 0)
    #expect(errorCode { try fixture.open(least - 1) } == .invalidArgument)
    let log = try fixture.open(least)
    try log.append("")
    #expect(try log.messages() == [""])
  }

  @Test func otherArgumentsOutOfRangeAreInvalidToo() throws {
    for slots in [-1, 1025, Int.max] {
      let configuration = MessageLogConfiguration(consumerSlots: slots)
      #expect(
        errorCode { try fixture.open(1 << 20, .refuse, configuration) } == .invalidArgument)
    }
    for interval in [Duration.zero, .seconds(-1)] {
      let configuration = MessageLogConfiguration(syncInterval: interval)
      #expect(
        errorCode { try fixture.open(1 << 20, .refuse, configuration) } == .invalidArgument)
    }
    let long = Coder<String>(format: "ninechars", encode: { Data($0.utf8) }, decode: { _ in "" })
    let blank = Coder<String>(format: "a b", encode: { Data($0.utf8) }, decode: { _ in "" })
    for coder in [long, blank] {
      let code = errorCode {
        try MessageLog(
          at: .url(fixture.url), capacity: 4096, whenFull: .refuse, coder: coder)
      }
      #expect(code == .invalidArgument)
      #expect(
        errorCode { try MessageLog(readingFrom: .url(fixture.url), coder: coder) }
          == .invalidArgument)
    }
    #expect(try fixture.directory.names == [])
  }

  @Test func longestIntervalAndMostSlotsAreFine() throws {
    let configuration = MessageLogConfiguration(
      syncInterval: .seconds(Int64.max), consumerSlots: 1024)
    let log = try fixture.open(1 << 20, .refuse, configuration)
    #expect(try log.statistics.consumerSlots == 1024)
    try log.append("x")
    try log.close()
  }

  @Test func urlThatIsNoFileIsAnInvalidArgument() throws {
    let url = try #require(URL(string: "https://example.org/a"))
    let code = errorCode {
      try MessageLog<String>(at: .url(url), capacity: 4096, whenFull: .refuse, coder: .string)
    }
    #expect(code == .invalidArgument)
    #expect(
      errorCode { try MessageLog(readingFrom: .url(url), coder: .string) } == .invalidArgument)
  }

  @Test func directoryOrMissingDirectoryInPlaceOfTheFileIsAnIOErrorWithItsNumber() throws {
    let directory = error {
      try MessageLog<String>(
        at: .url(fixture.directory.url), capacity: 4096, whenFull: .refuse, coder: .string)
    }
    #expect(directory?.code == .io)
    #expect(directory?.errno == EISDIR)
    let missing = error {
      try MessageLog<String>(readingFrom: .url(fixture.directory.file("no/where")), coder: .string)
    }
    #expect(missing?.code == .io)
    #expect(missing?.errno == ENOENT)
    #expect(missing?.message.contains("no/where") == true)
    #expect(!FileManager.default.fileExists(atPath: fixture.directory.file("no").path))
  }

  // MARK: - Locations

  private func openString(at location: StoreLocation) throws -> MessageLog<String> {
    try MessageLog(at: location, capacity: 4.kilobytes, whenFull: .refuse, coder: .string)
  }

  @Test func theFoldersAboveAreMade() throws {
    let url = fixture.directory.file("a/50% b/log")
    try openString(at: .url(url)).append("one")
    #expect(try MessageLog(readingFrom: .path(url.path), coder: .string).messages() == ["one"])
    try Data("mine".utf8).write(to: fixture.directory.file("file"))
    let inside = fixture.directory.file("file/b/log")
    #expect(errorCode { try openString(at: .url(inside)) } == .io)
  }

  @Test func aNamedLogIsInTheProgramsFolder() throws {
    let name = "larder-test-\(UUID().uuidString)"
    let log = try openString(at: .named(name))
    defer { try? FileManager.default.removeItem(at: log.fileURL) }
    let support = try FileManager.default.url(
      for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: false)
    #expect(log.fileURL.path == support.path + "/" + DiskFolder.program + "/" + name)
    try log.append("one")
    #expect(try MessageLog(readingFrom: .named(name), coder: .string).messages() == ["one"])
    let (composed, decomposed) = (name + "\u{E9}", name + "e\u{301}")
    #expect(
      try StoreLocation.named(composed).path(in: .cachesDirectory).utf8.elementsEqual(
        StoreLocation.named(decomposed).path(in: .cachesDirectory).utf8))
    for name in ["", "a/b", "..", "a\0b"] {
      #expect(errorCode { try openString(at: .named(name)) } == .invalidArgument)
    }
  }

  @Test func aRelativePathBeginsWhereTheProcessIs() throws {
    let here = FileManager.default.currentDirectoryPath
    // The way up, and down again, is as good as any other path.
    let path = String(repeating: "../", count: 40) + fixture.url.path.dropFirst()
    let log = try openString(at: .path(path))
    #expect(log.fileURL.path.hasPrefix(here + "/../"))
    try log.append("one")
    #expect(try fixture.reader().messages() == ["one"])
    #expect(errorCode { try openString(at: "") } == .invalidArgument)
    #expect(errorCode { try openString(at: .path("a\0b")) } == .invalidArgument)
  }

  // MARK: - Two writers

  @Test func secondWriterIsBusyAndLearnsWhoHoldsTheFile() throws {
    let log = try fixture.open(holding: 3)
    try log.append(text(1))
    let error = error { try fixture.open(holding: 3) }
    #expect(error?.code == .busy)
    let pid = ProcessInfo.processInfo.processIdentifier
    #expect(error?.message.contains("process \(pid) ") == true)
    #expect(error?.message.contains(fixture.url.path) == true)
    try log.append(text(2))
    #expect(try log.messages() == texts(1...2))
    #expect(try log.statistics.writerProcess == Int(pid))
  }

  // MARK: - Reading only

  @Test func missingFileCannotBeReadAndIsNotCreated() throws {
    let error = error { try fixture.reader() }
    #expect(error?.code == .io)
    #expect(error?.errno == ENOENT)
    #expect(try fixture.directory.names == [])
  }

  @Test func readOnlyFileIsReadAndNotChanged() throws {
    do {
      let log = try fixture.open(holding: 3)
      for number in 1...5 { try log.append(text(number)) }
    }
    let path = fixture.url.path
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
    let before = try Data(contentsOf: fixture.url)
    do {
      let log = try fixture.reader()
      #expect(try log.messages() == texts(3...5))
      #expect(try !log.isWritable)
      #expect(try !log.isEmpty)
      #expect(try log.statistics.isReadOnly)
      #expect(errorCode { try log.append(text(6)) } == .readOnly)
      #expect(errorCode { try log.append(contentsOf: [text(6)]) } == .readOnly)
      #expect(errorCode { try log.append(text(6), durability: .power) } == .readOnly)
      #expect(errorCode { try log.sync() } == .readOnly)
      #expect(errorCode { try log.removeAll() } == .readOnly)
      #expect(errorCode { try log.consumer(named: "c").acknowledge(through: 3) } == .readOnly)
      #expect(errorCode { try log.removeConsumer(named: "c") } == .readOnly)
      #expect(try log.consumer(named: "c").next()?.message == text(3))
    }
    #expect(try Data(contentsOf: fixture.url) == before)
  }

  @Test func readerSeesWhatTheWriterAppendsMeanwhile() throws {
    let log = try fixture.open(holding: 3)
    let reader = try fixture.reader()
    #expect(try reader.messages() == [])
    for number in 1...10 {
      try log.append(text(number))
      #expect(try reader.messages() == texts(max(1, number - 2)...number))
    }
  }

  // MARK: - Other limits than those of the file

  @Test(arguments: [true, false])
  func isWritableSaysWhetherLimitsMatch(matches: Bool) throws {
    try fixture.open(holding: 5, .refuse).append(text(1))
    let bytes = try fixture.capacity(5)
    let readOnly = MessageLogConfiguration(onMismatch: .readOnly)
    #expect(try fixture.open(bytes, .refuse, readOnly).isWritable)
    #expect(try !fixture.open(bytes + 64, .refuse, readOnly).isWritable)
    #expect(try !fixture.open(bytes, .overwriteOldest, readOnly).isWritable)
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse], [4, 9])
  func otherLimitsAreAdaptedWhereNothingIsLost(whenFull: OverflowPolicy, capacity: Int) throws {
    do {
      let log = try fixture.open(holding: 5)
      for number in 1...9 { try log.append(text(number)) }
      try log.remove(through: 5)
      try log.consumer(named: "c").acknowledge(through: 6)
    }
    let log = try fixture.open(try fixture.capacity(capacity), whenFull)
    #expect(try log.isWritable)
    #expect(try log.messages() == texts(6...9))
    #expect(try log.statistics.whenFull == whenFull)
    #expect(try log.statistics.capacity == fixture.capacity(capacity))
    #expect(try log.consumer(named: "c").next()?.message == text(7))
    #expect(try log.verify().isIntact)
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func otherLimitsAreRefusedWhereSomethingWouldBeLost(whenFull: OverflowPolicy) throws {
    do {
      let log = try fixture.open(holding: 5)
      for number in 1...5 { try log.append(text(number)) }
    }
    let failure = error { try fixture.open(try fixture.capacity(4), whenFull) }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains("onMismatch") == true)
    #expect(try fixture.directory.names == ["log.larder"])
    #expect(try fixture.open(holding: 5).messages() == texts(1...5))
  }

  @Test func aDamagedLogIsNotAdapted() throws {
    do {
      let log = try fixture.open(holding: 5)
      for number in 1...5 { try log.append(text(number)) }
    }
    var bytes = try Data(contentsOf: fixture.url)
    bytes[try #require(bytes.range(of: Data(text(3).utf8))).lowerBound] ^= 1
    try bytes.write(to: fixture.url)
    let failure = error { try fixture.open(try fixture.capacity(9), .refuse) }
    #expect(failure?.code == .damaged)
    #expect(failure?.message.contains("salvage") == true)
    #expect(try Data(contentsOf: fixture.url) == bytes)
    #expect(try fixture.open(holding: 5).messages() == [1, 2, 4, 5].map(text))
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func fileOfOtherLimitsIsReadAndNotWritten(whenFull: OverflowPolicy) throws {
    do {
      let log = try fixture.open(holding: 5, whenFull)
      for number in 1...5 { try log.append(text(number)) }
    }
    let other: OverflowPolicy = whenFull == .refuse ? .overwriteOldest : .refuse
    let readOnly = MessageLogConfiguration(onMismatch: .readOnly)
    for log in [
      try fixture.open(try fixture.capacity(5), other, readOnly),
      try fixture.open(try fixture.capacity(9), whenFull, readOnly),
    ] {
      #expect(try log.messages() == texts(1...5))
      let error = error { try log.append(text(6)) }
      #expect(error?.code == .configurationMismatch)
      #expect(error?.message.contains("\(try fixture.capacity(5)) bytes") == true)
      #expect(errorCode { try log.append(contentsOf: [text(6)]) } == .configurationMismatch)
      #expect(errorCode { try log.removeAll() } == .configurationMismatch)
      #expect(try log.messages() == texts(1...5))
    }
  }

  @Test func adaptingToMoreRoomKeepsEverythingAndWritesOn() throws {
    do {
      let log = try fixture.open(holding: 5)
      for number in 1...8 { try log.append(text(number)) }
      try log.consumer(named: "c").acknowledge(through: 6)
    }
    let adapt = MessageLogConfiguration(onMismatch: .adapt)
    let log = try fixture.open(try fixture.capacity(9), .refuse, adapt)
    #expect(try log.isWritable)
    #expect(try log.messages() == texts(4...8))
    #expect(try log.append(text(9)) == 9)
    #expect(try log.consumer(named: "c").next()?.message == text(7))
    #expect(try log.statistics.whenFull == .refuse)
    #expect(try log.verify().isIntact)
  }

  @Test func adaptingToLessRoomKeepsTheNewestThatFit() throws {
    do {
      let log = try fixture.open(holding: 5)
      for number in 1...5 { try log.append(text(number)) }
    }
    let adapt = MessageLogConfiguration(onMismatch: .adapt)
    let log = try fixture.open(try fixture.capacity(2), .overwriteOldest, adapt)
    #expect(log.entries.map(\.sequence) == [4, 5])
    #expect(try log.messages() == texts(4...5))
  }

  @Test func adaptingARefusingLogNeverDropsAMessage() throws {
    do {
      let log = try fixture.open(holding: 5, .refuse)
      for number in 1...5 { try log.append(text(number)) }
    }
    let adapt = MessageLogConfiguration(onMismatch: .adapt)
    let bytes = try fixture.capacity(2)
    #expect(errorCode { try fixture.open(bytes, .refuse, adapt) } == .full)
    #expect(try fixture.open(holding: 5, .refuse).messages() == texts(1...5))
    #expect(try fixture.directory.names == ["log.larder"])
  }

  @Test func adaptingAFileThatIsBeingWrittenIsBusy() throws {
    let log = try fixture.open(holding: 5)
    let adapt = MessageLogConfiguration(onMismatch: .adapt)
    #expect(errorCode { try fixture.open(1 << 20, .overwriteOldest, adapt) } == .busy)
    try log.append(text(1))
  }

  // MARK: - Another coder

  @Test func coderOfAnotherFormatIsRefusedForReadingAndWriting() throws {
    try fixture.open(4096).append("text")
    let url = fixture.url
    for onMismatch in [MessageLogConfiguration.MismatchHandling.readOnly, .adaptIfLossless, .adapt]
    {
      let error = error {
        try MessageLog<Data>(
          at: .url(url), capacity: 4096, whenFull: .overwriteOldest, coder: .data,
          configuration: .init(onMismatch: onMismatch))
      }
      #expect(error?.code == .configurationMismatch)
      #expect(error?.message.contains("\"utf8\"") == true)
      #expect(error?.message.contains("\"data\"") == true)
    }
    #expect(
      errorCode { try MessageLog<[String]>(readingFrom: .url(url)) } == .configurationMismatch)
    #expect(try fixture.open(4096).messages() == ["text"])
  }

  @Test func coderWithoutAFormatReadsEveryFile() throws {
    try fixture.open(4096).append("text")
    let coder = Coder<Int>(encode: { Data(count: $0) }, decode: { $0.count })
    let log = try MessageLog(readingFrom: .url(fixture.url), coder: coder)
    #expect(try log.messages() == [4])
    #expect(try log.statistics.format == "utf8")
  }

  // MARK: - Other files

  @Test func fileOfAnotherKindIsLeftAsItIs() throws {
    let bytes = Data("This is a letter, and nobody wants it overwritten.\n".utf8)
    for content in [bytes, Data(repeating: 0x20, count: 100_000), Data([1])] {
      try content.write(to: fixture.url)
      #expect(errorCode { try fixture.open(4096) } == .notALarderFile)
      #expect(errorCode { try fixture.reader() } == .notALarderFile)
      #expect(try Data(contentsOf: fixture.url) == content)
    }
  }

  @Test func fileThatWasCutShortIsDamagedAndLeftAsItIs() throws {
    try fixture.open(1 << 16).append("x")
    let whole = try Data(contentsOf: fixture.url)
    try whole.prefix(1 << 15).write(to: fixture.url)
    let error = error { try fixture.open(1 << 16) }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains("\(1 << 15)") == true)
    #expect(error?.message.contains("\(1 << 16)") == true)
    #expect(errorCode { try fixture.reader() } == .damaged)
    #expect(try Data(contentsOf: fixture.url) == whole.prefix(1 << 15))
  }

  // MARK: - Other users

  @Test func logThatEveryUserMayWriteToIsRefusedUnlessTheyAreTrusted() throws {
    try fixture.open(4096).append("x")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o666], ofItemAtPath: fixture.url.path)
    let whole = try Data(contentsOf: fixture.url)
    let error = error { try fixture.open(4096) }
    #expect(error?.code == .untrusted)
    #expect(error?.message.contains("every user may write") == true)
    #expect(
      errorCode { try MessageLog<String>.resize(at: .url(fixture.url), to: 8192) }
        == .untrusted)
    #expect(try fixture.reader().messages() == ["x"])
    #expect(try Data(contentsOf: fixture.url) == whole)
    var configuration = MessageLogConfiguration()
    configuration.trustsOtherUsers = true
    try fixture.open(4096, .overwriteOldest, configuration).append("y")
    try MessageLog<String>.resize(
      at: .url(fixture.url), to: 8192, trustsOtherUsers: true)
    #expect(try fixture.reader().messages() == ["x", "y"])
  }

  @Test func logWithASecondNameIsReadAndNeverWrittenTo() throws {
    try fixture.open(4096).append("x")
    try FileManager.default.linkItem(at: fixture.url, to: fixture.directory.file("second"))
    var configuration = MessageLogConfiguration()
    configuration.trustsOtherUsers = true
    let error = error { try fixture.open(4096, .overwriteOldest, configuration) }
    #expect(error?.code == .untrusted)
    #expect(error?.message.contains("hard link") == true)
    #expect(try fixture.reader().messages() == ["x"])
  }
}
