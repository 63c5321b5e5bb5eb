// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("Shipping a log") struct LogShipperTests {
  private let directory: TemporaryDirectory
  private let log: MessageLog<String>
  private let sink = ReferenceSink()

  init() throws {
    directory = try TemporaryDirectory()
    log = try Self.log(directory.file("log"))
  }

  private static func log(
    _ url: URL, whenFull: OverflowPolicy = .overwriteOldest
  ) throws -> MessageLog<String> {
    try MessageLog(
      at: .url(url), capacity: 64.kilobytes, whenFull: whenFull, coder: .string,
      configuration: MessageLogConfiguration(syncInterval: nil))
  }

  private func shipper(
    _ log: MessageLog<String>? = nil, _ sink: (any LogSink)? = nil,
    _ change: (inout LogShipperConfiguration) -> Void = { _ in }
  ) throws -> LogShipper<String> {
    var configuration = LogShipperConfiguration()
    configuration.timeout = nil
    configuration.clock = CacheClock(
      now: { .zero }, date: { Date() }, sleep: { _ in try Task.checkCancellation() })
    change(&configuration)
    return try LogShipper(
      log ?? self.log, consumer: "uploader", sink: sink ?? self.sink, configuration: configuration)
  }

  private func append(_ numbers: ClosedRange<Int>) throws {
    for number in numbers { try log.append("m\(number)") }
  }

  private func texts(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "m\($0)" } }

  private func code(_ body: () async throws -> Void) async -> LarderError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? LarderError)?.code
    }
  }

  // MARK: - What arrives

  @Test func whatTheLogHoldsIsShippedAndAcknowledged() async throws {
    try append(1...10)
    let shipper = try shipper()
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...10))
    #expect(try log.consumer(named: "uploader").acknowledged == 10)
    let statistics = shipper.statistics
    #expect(statistics.messages == 10 && statistics.bytes == 21)
    #expect(statistics.lastSequence == 10 && statistics.lag == 0 && statistics.failures == 0)
    try append(11...12)
    #expect(shipper.statistics.lag == 2)
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...12))
  }

  @Test func anEmptyLogIsShippedAtOnce() async throws {
    let shipper = try shipper()
    try await shipper.shipAll()
    #expect(await sink.texts == [])
    #expect(shipper.statistics.lastSequence == nil && shipper.statistics.lag == 0)
  }

  @Test func batchesHaveNoMoreThanTheirLimits() async throws {
    try append(1...9)
    try await shipper { $0.maximumBatchCount = 4 }.shipAll()
    #expect(await sink.batches.map(\.messageCount) == [4, 4, 1])
    try log.append(String(repeating: "x", count: 100))
    try append(11...14)
    try await shipper { $0.maximumBatchBytes = 6 }.shipAll()
    #expect(await sink.batches.dropFirst(3).map(\.byteCount) == [100, 6, 6])
  }

  @Test func whatIsGoneIsAGap() async throws {
    try append(1...5)
    try await shipper().shipAll()
    try append(6...9)
    try log.remove(through: 7)
    try await shipper().shipAll()
    #expect(await sink.texts == texts(1...5) + ["6...7", "m8", "m9"])
  }

  @Test func aLogThatLostItsStartBeginsWithAGap() async throws {
    try append(1...5)
    try log.remove(through: 3)
    let shipper = try shipper()
    try await shipper.shipAll()
    #expect(await sink.texts == ["1...3", "m4", "m5"])
    #expect(shipper.statistics.gaps == 1 && shipper.statistics.missing == 3)
  }

  @Test func timesAndPartialMessagesComeAlong() async throws {
    var configuration = MessageLogConfiguration()
    configuration.keepsTimes = true
    let log = try MessageLog(
      at: .url(directory.file("times")), capacity: 64.kilobytes, whenFull: .refuse, coder: .data,
      configuration: configuration)
    try log.append(Data("a".utf8))
    let sink = ReferenceSink()
    try await LogShipper(log, consumer: "c", sink: sink).shipAll()
    guard case .message(let message)? = await sink.records.first else {
      Issue.record("Nothing was shipped.")
      return
    }
    let date = try #require(log.entries.first { _ in true }?.date)
    #expect(message.time.map { LogTime.date($0) } == date && !message.isPartial)
  }

  @Test func aLogOpenedForReadingIsShippedBesideItsWriter() async throws {
    try append(1...3)
    let reader = try MessageLog(readingFrom: .url(log.fileURL), coder: .string)
    try await shipper(reader).shipAll()
    #expect(await sink.texts == texts(1...3))
    #expect(try log.consumers.isEmpty)
    #expect(try reader.consumer(named: "uploader").acknowledged == 0)
  }

  // MARK: - Going on

  @Test func aFollowedLogIsShippedAsItGrowsUntilItIsClosed() async throws {
    let shipper = try shipper()
    let running = Task { try await shipper.run() }
    try append(1...3)
    await until { await sink.texts.count >= 3 }
    try append(4...5)
    await until { await sink.texts.count >= 5 }
    #expect(await code { try await shipper.shipAll() } == .busy)
    try await log.close()
    try await running.value
    #expect(await sink.texts == texts(1...5))
    #expect(await code { try await shipper.shipAll() } == .closed)
  }

  @Test func aCancelledShipperEnds() async throws {
    let shipper = try shipper()
    let running = Task { try await shipper.run() }
    try append(1...1)
    await until { await !sink.texts.isEmpty }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    try append(2...2)
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...2))
  }

  @Test func aSuspendedLogIsShippedWhenItIsResumed() async throws {
    try append(1...2)
    let shipper = try shipper()
    let running = Task { try await shipper.run() }
    await until { await sink.texts.count >= 2 }
    try await log.suspend()
    try await log.resume()
    try append(3...4)
    await until { await sink.texts.count >= 4 }
    #expect(await sink.texts == texts(1...4))
    try await log.close()
    try await running.value
  }

  @Test func aSinkThatLostItsEndGetsItAgain() async throws {
    try append(1...6)
    let shipper = try shipper()
    try await shipper.shipAll()
    await sink.lose(4)
    try append(7...7)
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...7))
    await sink.lose(7)
    try log.remove(through: 5)
    try await shipper.shipAll()
    #expect(await sink.texts == ["1...5", "m6", "m7"])
  }

  @Test func twoShippersOfOneLogDoNoHarm() async throws {
    try append(1...200)
    let shippers = try (0..<2).map { _ in try shipper { $0.maximumBatchCount = 3 } }
    try await withThrowingTaskGroup { group in
      for shipper in shippers { group.addTask { try await shipper.shipAll() } }
      try await group.waitForAll()
    }
    #expect(await sink.texts == texts(1...200))
    #expect(shippers.reduce(0) { $0 + $1.statistics.messages } == 200)
  }

  // MARK: - Failures

  @Test func aReplyThatWasLostCountsOnce() async throws {
    try append(1...4)
    let shipper = try shipper { $0.maximumBatchCount = 2 }
    await sink.fail(.refused, .refused)
    // The sink is asked, refuses twice, appends, loses a reply, is asked again.
    try await shipper.shipAll()
    await sink.fail(.partial(0), .lostReply)
    try append(5...6)
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...6))
    let statistics = shipper.statistics
    #expect(statistics.messages == 6 && statistics.bytes == 12)
    #expect(statistics.failures == 3 && statistics.failuresInARow == 0)
    #expect(statistics.lastError is ReferenceSink.Failure)
    #expect(try log.consumer(named: "uploader").acknowledged == 6)
  }

  @Test func nothingIsAcknowledgedThatTheSinkDoesNotHave() async throws {
    try append(1...4)
    await sink.fail { .refused }
    let shipper = try shipper { $0.failuresToGiveUp = 3 }
    await #expect(throws: ReferenceSink.Failure.self) { try await shipper.shipAll() }
    #expect(try log.consumer(named: "uploader").acknowledged == 0)
    #expect(shipper.statistics.failures == 3 && shipper.statistics.failuresInARow == 3)
    await sink.fail(nil)
    try await shipper.shipAll()
    #expect(await sink.texts == texts(1...4))
  }

  @Test func aSinkThatAnswersAndNeverAppendsIsGivenUpToo() async throws {
    try append(1...4)
    let calls = Locked(0)
    await sink.fail {
      calls.withLock { calls in
        calls += 1
        return calls.isMultiple(of: 2) ? .refused : nil
      }
    }
    let shipper = try shipper { $0.failuresToGiveUp = 3 }
    await #expect(throws: ReferenceSink.Failure.self) { try await shipper.shipAll() }
    #expect(await sink.texts == [] && shipper.statistics.failures == 3)
  }

  @Test func pausesGrowAndDifferAndEnd() async throws {
    try append(1...1)
    let pauses = Locked<[Duration]>([])
    await sink.fail { .refused }
    let shipper = try shipper { configuration in
      configuration.failuresToGiveUp = 40
      configuration.initialPause = .milliseconds(100)
      configuration.maximumPause = .seconds(3)
      configuration.clock = CacheClock(
        now: { .zero }, date: { Date() }, sleep: { pause in pauses.withLock { $0.append(pause) } })
    }
    await #expect(throws: ReferenceSink.Failure.self) { try await shipper.shipAll() }
    let all = pauses.withLock { $0 }
    #expect(all.count == 39)
    for (index, pause) in all.enumerated() {
      let longest = min(Duration.milliseconds(100 * (1 << min(index, 20))), .seconds(3))
      #expect(pause <= longest && pause >= longest / 2)
    }
    #expect(Set(all.suffix(20)).count > 1)
  }

  @Test func aSinkThatHangsIsCancelledAndAskedAgain() async throws {
    try append(1...3)
    await sink.fail(.hanging, .partial(0), .hanging)
    let sleepers = Sleepers()
    let shipper = try shipper { configuration in
      configuration.timeout = .seconds(5)
      configuration.clock = CacheClock(
        now: { .zero }, date: { Date() }, sleep: { try await sleepers.sleep($0) })
    }
    let isDone = Locked(false)
    let running = Task {
      defer { isDone.withLock { $0 = true } }
      try await shipper.shipAll()
    }
    while !isDone.withLock({ $0 }) {
      if sleepers.count > 0, shipper.statistics.messages == 0 { sleepers.move(by: .seconds(5)) }
      await Task.yield()
    }
    try await running.value
    #expect(await sink.texts == texts(1...3))
    #expect((shipper.statistics.lastError as? LarderError)?.code == .timedOut)
  }

  @Test func theSinkOfAnotherLogIsAnErrorAndNoLoop() async throws {
    let other = try Self.log(directory.file("other"))
    for _ in 0..<9 { try other.append("of another") }
    try await shipper(other).shipAll()
    try append(1...8)
    let shipper = try shipper()
    #expect(await code { try await shipper.run() } == .configurationMismatch)
    #expect(try log.consumer(named: "uploader").acknowledged == 0)
    #expect(await sink.texts.count == 9)
  }

  @Test(arguments: [
    LarderError.Code.configurationMismatch, .invalidArgument, .tooLarge, .incompatibleVersion,
    .closed,
  ])
  func whatCannotSucceedEndsTheShipper(_ code: LarderError.Code) async throws {
    struct Refusing: LogSink {
      let code: LarderError.Code
      func lastSequence() async throws -> UInt64? { nil }
      func append(_ batch: LogBatch, after last: UInt64?) async throws {
        throw LarderError(code, "So it is.")
      }
    }
    try append(1...1)
    let failures = Locked(0)
    let shipper = try shipper(nil, Refusing(code: code)) { configuration in
      configuration.onFailure = { _ in failures.withLock { $0 += 1 } }
    }
    #expect(await self.code { try await shipper.run() } == code)
    #expect(failures.withLock { $0 } == 0 && shipper.statistics.failures == 1)
  }

  @Test func aConfigurationOutOfRangeIsRefused() throws {
    let changes: [(inout LogShipperConfiguration) -> Void] = [
      { $0.maximumBatchCount = 0 }, { $0.maximumBatchBytes = -1 }, { $0.failuresToGiveUp = 0 },
      { $0.initialPause = .zero }, { $0.maximumPause = .milliseconds(1) }, { $0.timeout = .zero },
    ]
    for change in changes {
      #expect(errorCode { try shipper(nil, nil, change) } == .invalidArgument)
    }
    #expect(
      errorCode { try LogShipper(log, consumer: "", sink: sink) } == .invalidArgument)
  }
}
