// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// A log whose file is deleted, moved or replaced while it is open, for writing.
@Suite("Message log: replaced")
struct MessageLogReplacedTests {
  /// What happens to the file.
  enum Displacement: CaseIterable {
    case deleted, madeAnew, rotated, renamedOver, folderMadeAnew

    /// Leaves another log at the path, unless the file is only deleted.
    func happen(to file: URL) throws {
      let files = FileManager.default
      let folder = file.deletingLastPathComponent()
      switch self {
      case .deleted: try files.removeItem(at: file)
      case .madeAnew:
        try files.removeItem(at: file)
        try Self.makeOther(file)
      case .rotated:
        try files.moveItem(at: file, to: file.appendingPathExtension("1"))
        try Self.makeOther(file)
      case .renamedOver:
        let other = file.appendingPathExtension("other")
        try Self.makeOther(other)
        #expect(rename(other.path, file.path) == 0)
      case .folderMadeAnew:
        try files.moveItem(at: folder, to: folder.appendingPathExtension("moved"))
        try files.createDirectory(at: folder, withIntermediateDirectories: false)
        try Self.makeOther(file)
      }
    }

    static func makeOther(_ file: URL) throws {
      let log = try MessageLog<String>(
        at: .url(file), capacity: 16.kilobytes, whenFull: .refuse, coder: .string)
      try log.append(contentsOf: ["theirs 1", "theirs 2", "theirs 3"])
      try log.close()
    }
  }

  private let directory: TemporaryDirectory
  private let folder: URL
  private let file: URL

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("folder")
    file = folder.appendingPathComponent("log")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  private func open() throws -> MessageLog<String> {
    try MessageLog(at: .url(file), capacity: 64.kilobytes, whenFull: .refuse, coder: .string)
  }

  /// What is at the path is as it was, and nothing lies beside it.
  private func expectNothingElse(_ before: Data?) throws {
    #expect(FileManager.default.contents(atPath: file.path) == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.allSatisfy { !$0.contains("identity") && !$0.contains("late") })
  }

  @Test(arguments: Displacement.allCases, [Durability.process, .power])
  func whatPromisesToKeepSaysThatItCannot(_ how: Displacement, at end: Durability) async throws {
    let log = try open()
    try log.append("ours")
    let queue = try log.queue(named: "jobs")
    let consumer = try log.consumer(named: "uploader")
    let job = try #require(try queue.poll(leaseFor: .seconds(60)))
    try how.happen(to: file)
    let before = FileManager.default.contents(atPath: file.path)
    // It makes no system call that could tell.
    #expect(try log.append("ours, too") == 2)
    #expect(errorCode { try log.append("b", durability: .power) } == .replaced)
    #expect(errorCode { try log.append(contentsOf: ["c"], durability: .power) } == .replaced)
    #expect(errorCode { try log.sync() } == .replaced)
    await #expect { try await log.append("d", durability: .power) } throws: { $0.isReplaced }
    await #expect { try await log.sync() } throws: { $0.isReplaced }
    #expect(errorCode { try consumer.acknowledge(through: 1) } == .replaced)
    #expect(try consumer.acknowledged == 0)
    #expect(errorCode { try queue.acknowledge(job) } == .replaced)
    #expect(errorCode { try log.removeConsumer(named: "uploader") } == .replaced)
    #expect(errorCode { try log.queue(named: "late") } == .replaced)
    #expect(errorCode { try log.removeQueue(named: "late") } == .replaced)
    #expect(errorCode { try log.identity() } == .replaced)
    #expect(errorCode { try log.verify() } == .replaced)
    // The messages are there for as long as it is open.
    #expect(try log.messages() == ["ours", "ours, too", "b", "c", "d"])
    #expect(errorCode { try log.close(durability: end) } == .replaced)
    try await log.close()
    try expectNothingElse(before)
  }

  @Test func aLogThatWasMovedGoesOn() throws {
    let log = try open()
    try log.append("one", durability: .power)
    let moved = directory.file("moved")
    try FileManager.default.moveItem(at: file, to: moved)
    try log.append("two", durability: .power)
    try log.consumer(named: "uploader").acknowledge(through: 2)
    #expect(try log.verify().isIntact)
    // What is to lie beside it has no folder that it knows.
    #expect(errorCode { try log.queue(named: "jobs") } == .replaced)
    #expect(errorCode { try log.identity() } == .replaced)
    try log.close(durability: .power)
    let other = try MessageLog<String>(readingFrom: .url(moved), coder: .string)
    #expect(try other.messages() == ["one", "two"])
    #expect(try other.consumers == ["uploader": 2])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func aQueueWhoseFileIsGoneDoesNotForget() throws {
    let log = try open()
    try log.append(contentsOf: ["a", "b"])
    let queue = try log.queue(named: "jobs")
    let first = try #require(try queue.poll(leaseFor: .seconds(60)))
    let second = try #require(try queue.poll(leaseFor: .seconds(60)))
    try FileManager.default.removeItem(at: folder.appendingPathComponent("log.queue-jobs"))
    #expect(errorCode { try queue.acknowledge(second) } == .replaced)
    #expect(errorCode { try queue.acknowledge(first) } == .replaced)
    try log.close()
    let next = try open().queue(named: "jobs")
    #expect(try next.poll(leaseFor: .seconds(60))?.message == "a")
    #expect(try next.poll(leaseFor: .seconds(60))?.message == "b")
  }

  @Test func aDeadLetterThatNobodyWouldFindIsNotTaken() throws {
    let letters = try MessageLog<DeadLetter<String>>(
      at: .url(directory.file("letters")), capacity: 16.kilobytes, whenFull: .refuse,
      coder: .deadLetters(of: .string))
    var configuration = LogQueueConfiguration<String>()
    configuration.deadLetters = letters
    configuration.maximumAttempts = 1
    let log = try open()
    try log.append("a")
    let queue = try log.queue(named: "jobs", configuration: configuration)
    let job = try #require(try queue.poll(leaseFor: .seconds(60)))
    try FileManager.default.removeItem(at: directory.file("letters"))
    #expect(errorCode { try queue.release(job) } == .replaced)
    #expect(try log.consumers["jobs"] == 0)
  }

  @Test(arguments: [Displacement.madeAnew, .rotated, .renamedOver, .folderMadeAnew])
  func aSuspendedLogIsNotResumedInAnotherOne(_ how: Displacement) throws {
    let log = try open()
    try log.append("ours")
    try log.suspend()
    try how.happen(to: file)
    let before = FileManager.default.contents(atPath: file.path)
    #expect(errorCode { try log.resume() } == .replaced)
    #expect(log.isSuspended)
    try expectNothingElse(before)
  }
}

extension Error {
  /// Whether it is Larder's `.replaced`.
  var isReplaced: Bool { (self as? LarderError)?.code == .replaced }
}
