// SPDX-License-Identifier: MIT

#if Logging
  public import LarderCore
  public import Logging

  /// How the log that log calls are written to is opened, and what is written.
  ///
  /// ```swift
  /// var configuration = LogDestinationConfiguration()
  /// configuration.capacity = 256.megabytes
  /// configuration.criticalDurability = .power
  /// let destination = try LogDestination(at: .url(url), configuration: configuration)
  /// ```
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct LogDestinationConfiguration: Sendable {
    /// The size of the file, which is all that the log ever takes; 64 MiB by default.
    public var capacity = 64.megabytes

    /// What a full log does with one more message: it overwrites the oldest ones by default. One
    /// that refuses loses the message, and ``LogDestination/lostCount`` counts it.
    public var whenFull: OverflowPolicy = .overwriteOldest

    /// Everything else about the file. Its durability is of no effect on a log call, which never
    /// waits for a device. By default a file of another size or policy is adapted, and a new one
    /// keeps the time of each message, by which messages are found without reading the others.
    public var log = {
      var log = MessageLogConfiguration(onMismatch: .adapt)
      log.keepsTimes = true
      return log
    }()

    /// What a message of level `critical` survives when its log call returns: the end of the
    /// process by default, as every other message. With `.power` such a call waits for the device,
    /// and blocks its thread meanwhile.
    public var criticalDurability: Durability = .process

    /// Whether a value of metadata with these attributes is written as `<hidden>`; nil, the
    /// default: none is.
    ///
    /// Called with the attributes of each value, those inside of arrays and dictionaries too, on
    /// the thread that logs. Must not log.
    ///
    /// ```swift
    /// configuration.hidesMetadata = { $0[Sensitivity.self] == .sensitive }
    /// ```
    public var hidesMetadata: (@Sendable (Logger.MetadataValueAttributes) -> Bool)?

    /// The time of each record; the system's by default. Only its date counts here. The time that
    /// the log itself keeps is the system's in any case.
    public var clock: CacheClock = .system

    /// The defaults.
    ///
    /// - Complexity: O(1).
    public init() {}
  }
#endif
