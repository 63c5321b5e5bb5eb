// SPDX-License-Identifier: MIT

#if Logging
  public import Logging

  /// Writes what a `Logger` logs to a ``LogDestination``.
  ///
  /// ```swift
  /// LoggingSystem.bootstrap { MessageLogHandler(label: $0, destination: destination) }
  /// ```
  ///
  /// A log call encodes its record on the stack and appends it to memory that the system writes to
  /// disk: it waits for no device, and never throws or traps. What cannot be written is counted:
  /// ``LogDestination/lostCount``.
  ///
  /// **Concurrency.** A value; safe to pass between threads. A change of level or metadata is seen
  /// by this handler alone, not by its copies; all share the destination.
  public struct MessageLogHandler: LogHandler {
    /// The logger's label, part of every record.
    public let label: String

    /// Where the records go.
    public let destination: LogDestination

    /// The least severe level that is logged; `info` by default.
    public var logLevel: Logger.Level = .info

    /// Part of every record, unless the provider or the event have a value of the same key.
    public var metadata: Logger.Metadata = [:]

    /// Asked at each log call; what it gives is part of the record, unless the event has a value of
    /// the same key.
    public var metadataProvider: Logger.MetadataProvider?

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - label: The logger's label.
    ///   - destination: Where the records go.
    ///   - metadataProvider: Asked at each log call; by default the one that the logging system was
    ///     given.
    /// - Complexity: O(1).
    public init(
      label: String, destination: LogDestination,
      metadataProvider: Logger.MetadataProvider? = LoggingSystem.metadataProvider
    ) {
      self.label = label
      self.destination = destination
      self.metadataProvider = metadataProvider
    }

    /// The handler's metadata under one key.
    ///
    /// - Complexity: O(1).
    public subscript(metadataKey key: String) -> Logger.MetadataValue? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    /// Writes one event.
    ///
    /// - Parameter event: What was logged.
    /// - Complexity: O(bytes). Waits for no device, but for a message of level `critical` where
    ///   ``LogDestinationConfiguration/criticalDurability`` says so.
    public func log(event: LogEvent) {
      destination.write(event, label: label, metadata, metadataProvider?.get() ?? [:])
    }
  }
#endif
