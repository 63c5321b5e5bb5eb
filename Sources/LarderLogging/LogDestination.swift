// SPDX-License-Identifier: MIT

#if Logging
  public import LarderCore
  import Logging
  import Synchronization

  /// A message log that any number of loggers write to.
  ///
  /// Opened once, where an error can be handled, and shared by the handlers:
  ///
  /// ```swift
  /// let destination = try LogDestination(at: .named("server.log"))
  /// LoggingSystem.bootstrap { MessageLogHandler(label: $0, destination: destination) }
  /// ```
  ///
  /// Each message is a ``LogRecord``, a CBOR map: `larder log cat` prints it, and any program reads
  /// it with a `MessageLog<LogRecord>`, while it is being written to.
  ///
  /// **Concurrency.** Safe to use from any number of threads at a time. The messages of one thread
  /// are in the log in their order.
  ///
  /// **Durability.** When a log call returns, its message survives the end of the process, whatever
  /// ends it. A power cut costs what was logged in the last sync interval, one second by default.
  public final class LogDestination: Sendable {
    /// The log: to read and follow, to sync and close it.
    ///
    /// Close it when nobody logs any more. What is logged later is lost and counted.
    public let log: MessageLog<LogRecord>

    let configuration: LogDestinationConfiguration
    private let lost = Atomic<UInt64>(0)

    /// Opens the log, and creates its file if it is missing or empty.
    ///
    /// - Parameters:
    ///   - location: The file. The folders above it are made if they are missing.
    ///   - configuration: Everything else; see there for the defaults.
    /// - Throws: As `MessageLog` does when it is opened; `.configurationMismatch` too, if the file
    ///   has another size or policy and the configuration says that it is only to be read then.
    /// - Complexity: As opening a `MessageLog`.
    public init(
      at location: StoreLocation, configuration: LogDestinationConfiguration = .init()
    ) throws {
      log = try MessageLog(
        at: location, capacity: configuration.capacity,
        whenFull: configuration.whenFull, coder: .cbor, configuration: configuration.log)
      self.configuration = configuration
      if let mismatch = log.mismatch {
        try? log.close()
        throw mismatch
      }
    }

    /// Log calls whose message was not written, because the log was full, closed or suspended, or
    /// the message larger than it; and those at ``LogDestinationConfiguration/criticalDurability``
    /// whose sync failed, or found that the log's file was deleted or replaced. Others cannot tell
    /// that, and are not counted.
    ///
    /// - Complexity: O(1).
    public var lostCount: UInt64 { lost.load(ordering: .relaxed) }

    /// Writes one event. Never throws: what cannot be written is counted.
    func write(
      _ event: LogEvent, label: String, _ metadata: Logger.Metadata, _ provided: Logger.Metadata
    ) {
      do {
        let sequence = try RecordWriter.withRecord(
          of: event, label: label, at: configuration.clock.date,
          RecordMetadata(
            handler: metadata, provided: provided, event: event.metadata ?? [:],
            hides: configuration.hidesMetadata)
        ) { bytes throws(LarderError) in
          try log.append(encoded: bytes)
        }
        guard event.level >= .critical, configuration.criticalDurability == .power else { return }
        try log.sync(through: sequence)
      } catch {
        lost.add(1, ordering: .relaxed)
      }
    }
  }
#endif
