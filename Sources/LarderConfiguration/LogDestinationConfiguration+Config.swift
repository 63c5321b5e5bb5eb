// SPDX-License-Identifier: MIT

#if Configuration && Logging
  public import Configuration
  import LarderCore
  public import LarderLogging

  extension LogDestinationConfiguration {
    /// Reads a configuration; what is missing keeps its default. `maximumBytes`, as the version
    /// before had it, is read for `capacity`.
    ///
    /// | key | what |
    /// |---|---|
    /// | `capacity` | a size |
    /// | `whenFull` | `overwriteOldest` or `refuse` |
    /// | `criticalDurability` | `process` or `power` |
    /// | and those of `MessageLogConfiguration` | |
    ///
    /// - Parameter config: Where the keys are.
    /// - Throws: `.invalidArgument` for a value that makes no sense. The message has the key.
    /// - Complexity: That of the reader.
    public init(config: ConfigReader) throws {
      self.init()
      try log.read(config)
      set(&capacity, try config.size("capacity", once: "maximumBytes"))
      set(&whenFull, try MessageLogConfiguration.whenFull(from: config))
      set(&criticalDurability, try config.durability("criticalDurability"))
    }
  }
#endif
