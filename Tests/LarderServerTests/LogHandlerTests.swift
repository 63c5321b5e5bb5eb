// SPDX-License-Identifier: MIT

#if Logging
  import Foundation
  import LarderCore
  import LarderLogging
  import LarderTestSupport
  import Logging
  import Testing

  @Suite("A logger that writes to a message log") struct LogHandlerTests {
    enum Sensitivity: Int64, Logger.MetadataValueAttributes.Attribute {
      case open = 1
      case secret = 2
    }

    private struct Failure: Error, CustomStringConvertible {
      let description: String
    }

    private let directory: TemporaryDirectory
    private let url: URL

    init() throws {
      directory = try TemporaryDirectory()
      url = directory.file("log")
    }

    private func destination(
      _ change: (inout LogDestinationConfiguration) -> Void = { _ in }
    ) throws -> LogDestination {
      var configuration = LogDestinationConfiguration()
      configuration.capacity = 1.megabytes
      change(&configuration)
      return try LogDestination(at: .url(url), configuration: configuration)
    }

    private func logger(
      _ destination: LogDestination, provider: Logger.MetadataProvider? = nil
    ) -> Logger {
      Logger(label: "test") {
        MessageLogHandler(label: $0, destination: destination, metadataProvider: provider)
      }
    }

    @Test func everyPartOfAnEventIsInTheRecord() throws {
      let date = Date(timeIntervalSince1970: 1_700_000_000.25)
      let destination = try destination {
        $0.clock = CacheClock(now: { .zero }, date: { date })
      }
      logger(destination).error(
        "größe", error: Failure(description: "broken"),
        metadata: ["id": "7", "list": ["a", ["k": "v"]]], source: "Source", file: "File",
        function: "f()", line: 300)
      logger(destination).warning("plain", source: "S", file: "F", function: "g()", line: 1)
      let records = try MessageLog<LogRecord>(readingFrom: .url(url)).messages()
      try #require(records.count == 2)
      let first = records[0]
      #expect(first.time == date && first.level == .error && first.label == "test")
      #expect(first.message == "größe" && first.source == "Source" && first.file == "File")
      #expect(first.function == "f()" && first.line == 300 && first.error == "broken")
      #expect(first.metadata == ["id": "7", "list": ["a", ["k": "v"]]])
      #expect(records[1].metadata == [:] && records[1].error == nil)
      #expect(destination.lostCount == 0)
    }

    @Test func theBytesAreTheMapThatIsDocumented() throws {
      let destination = try destination {
        $0.clock = CacheClock(now: { .zero }, date: { Date(timeIntervalSince1970: 1.5) })
      }
      logger(destination).info(
        "m", metadata: ["k": "v"], source: "s", file: "f", function: "g", line: 9)
      let items = try MessageLog<CBORValue>(readingFrom: .url(url)).messages()
      #expect(
        items == [
          [
            "time": .tagged(1, 1.5), "level": "info", "label": "test", "message": "m",
            "metadata": ["k": "v"], "source": "s", "file": "f", "function": "g", "line": 9,
          ]
        ])
      // What the coder makes of the record is the same, so that a program may write one, too.
      let record = try #require(try destination.log.messages().first)
      #expect(try CBORValue(CBOREncoder().encode(record)) == items.first)
    }

    @Test func theEventsMetadataWinsThenTheProvidersThenTheLoggers() throws {
      let destination = try destination()
      let provider = Logger.MetadataProvider { ["a": "provider", "b": "provider"] }
      var logger = logger(destination, provider: provider)
      logger[metadataKey: "a"] = "logger"
      logger[metadataKey: "b"] = "logger"
      logger[metadataKey: "c"] = "logger"
      logger.info("m", metadata: ["a": "event", "d": "event"])
      logger.info("m")
      let metadata = try destination.log.messages().map(\.metadata)
      #expect(
        metadata == [
          ["a": "event", "b": "provider", "c": "logger", "d": "event"],
          ["a": "provider", "b": "provider", "c": "logger"],
        ])
    }

    @Test func copiesOfALoggerHaveValuesOfTheirOwn() throws {
      let destination = try destination()
      var first = logger(destination)
      first.logLevel = .debug
      first[metadataKey: "only-on"] = "first"
      var second = first
      second.logLevel = .error
      second[metadataKey: "only-on"] = "second"
      #expect(first.logLevel == .debug && second.logLevel == .error)
      #expect(first[metadataKey: "only-on"] == "first")
      #expect(second[metadataKey: "only-on"] == "second")
      first.debug("one")
      second.debug("not this one")
      second.error("two")
      let records = try destination.log.messages()
      #expect(records.map(\.message) == ["one", "two"])
      #expect(records.map { $0.metadata["only-on"] } == ["first", "second"])
    }

    @Test func metadataIsHiddenByItsAttributes() throws {
      let destination = try destination {
        $0.hidesMetadata = { $0[Sensitivity.self] == .secret }
      }
      let secret = Logger.MetadataValue.attributed("4711", attributes: [Sensitivity.secret])
      let open = Logger.MetadataValue.attributed("7", attributes: [Sensitivity.open])
      logger(destination).info(
        "m", metadata: ["pin": secret, "id": open, "all": [secret, ["pin": secret]]])
      let metadata = try destination.log.messages().map(\.metadata)
      #expect(
        metadata == [["pin": "<hidden>", "id": "7", "all": ["<hidden>", ["pin": "<hidden>"]]]])
      let bytes = try Data(contentsOf: url)
      #expect(bytes.range(of: Data("4711".utf8)) == nil)
    }

    @Test(arguments: [0, 1, 23, 24, 255, 256, 900, 1023, 1024, 70_000])
    func textsOfEveryLengthComeBack(length: Int) throws {
      let destination = try destination()
      let text = String(repeating: "x", count: length)
      let many = Dictionary(
        uniqueKeysWithValues: (0..<min(length, 300)).map {
          ("\($0)", Logger.MetadataValue.string("v"))
        })
      logger(destination).info("\(text)", metadata: many)
      let record = try #require(try destination.log.messages().first)
      #expect(record.message == text && record.metadata == many)
    }

    @Test func metadataThatIsNestedTooDeeplyIsCutOff() throws {
      let destination = try destination()
      var value: Logger.MetadataValue = "leaf"
      for _ in 0..<2000 { value = .array([value]) }
      logger(destination).info("m", metadata: ["deep": value])
      var found = try #require(try destination.log.messages().first?.metadata["deep"])
      var depth = 0
      while case .array(let items) = found, let item = items.first {
        (found, depth) = (item, depth + 1)
      }
      #expect(found == "…" && depth == 32)
    }

    @Test func aCriticalMessageInADeletedFileIsCounted() throws {
      let destination = try destination { $0.criticalDurability = .power }
      let logger = logger(destination)
      logger.critical("on the disk")
      #expect(destination.lostCount == 0)
      try FileManager.default.removeItem(at: url)
      for _ in 0..<10 { logger.critical("nowhere") }
      #expect(destination.lostCount == 10)
    }

    @Test func whatCannotBeWrittenIsCounted() async throws {
      let destination = try destination {
        $0.capacity = 4096
        $0.whenFull = .refuse
      }
      let logger = logger(destination)
      for _ in 0..<100 { logger.info("a message of some length") }
      let count = try destination.log.count
      #expect(count > 0 && destination.lostCount == UInt64(100 - count))
      logger.info("\(String(repeating: "x", count: 5000))")
      #expect(destination.lostCount == UInt64(101 - count))
      // Not even a log whose calls wait for its resumption holds up a log call.
      try await destination.log.suspend(calls: .wait)
      logger.info("suspended")
      #expect(destination.lostCount == UInt64(102 - count))
      try await destination.log.resume()
      try await destination.log.close()
      logger.info("closed")
      #expect(destination.lostCount == UInt64(103 - count))
    }

    @Test func criticalMessagesAreSyncedIfThatIsAskedFor() throws {
      for durability in [Durability.process, .power] {
        let destination = try destination {
          $0.criticalDurability = durability
          $0.log.syncInterval = nil
        }
        logger(destination).error("not synced")
        let before = try destination.log.statistics.syncedSequence
        logger(destination).critical("m")
        let statistics = try destination.log.statistics
        let isSynced = statistics.syncedSequence == statistics.newestSequence
        #expect(isSynced == (durability == .power))
        #expect(isSynced || statistics.syncedSequence == before)
        try destination.log.close()
        try FileManager.default.removeItem(at: url)
      }
    }

    @Test func aFileThatCannotBeWrittenIsAnErrorWhenItIsOpened() throws {
      let first = try destination()
      #expect(errorCode { try destination() } == .busy)
      try first.log.close()
      let code = errorCode {
        try destination {
          $0.capacity = 2.megabytes
          $0.log.onMismatch = .readOnly
        }
      }
      #expect(code == .configurationMismatch)
      // By default the file is adapted, and what is in it stays.
      logger(try destination { $0.capacity = 2.megabytes }).info("m")
      #expect(try MessageLog<LogRecord>(readingFrom: .url(url)).statistics.capacity == 2 << 20)
    }

    /// Without reading the messages before.
    @Test func messagesAreFoundByTheirTime() throws {
      let destination = try destination()
      logger(destination).info("m")
      #expect(try destination.log.statistics.keepsTimes)
      let entry = try #require(destination.log.entries(since: .distantPast).first { _ in true })
      #expect(try entry.message.message == "m" && entry.date != nil)
    }

    @Test func aMessageMayLogWhileItIsMade() throws {
      let destination = try destination()
      let logger = logger(destination)
      struct Talkative: CustomStringConvertible, Sendable {
        let logger: Logger
        var description: String {
          logger.info("inner")
          return "value"
        }
      }
      logger.info("outer", metadata: ["k": .stringConvertible(Talkative(logger: logger))])
      #expect(try destination.log.messages().map(\.message) == ["inner", "outer"])
    }
  }
#endif
