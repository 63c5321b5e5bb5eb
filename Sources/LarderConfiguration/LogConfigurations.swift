// SPDX-License-Identifier: MIT

#if Configuration
  public import Configuration
  public import LarderCore

  extension MessageLogConfiguration {
    /// Reads a configuration; what is missing keeps its default.
    ///
    /// | key | what |
    /// |---|---|
    /// | `durability` | `process` or `power` |
    /// | `syncInterval` | a duration longer than 0, or `never` |
    /// | `consumerSlots` | 0 to 1024 |
    /// | `onMismatch` | `adaptIfLossless`, `adapt` or `readOnly` |
    /// | `keepsTimes`, `trustsOtherUsers` | `true` or `false` |
    /// | `maximumAge` | a duration |
    ///
    /// Size and policy are no part of it: read them by `size(forKey:)` and `whenFull(from:)`.
    ///
    /// - Parameter config: Where the keys are.
    /// - Throws: `.invalidArgument` for a value that makes no sense. The message has the key.
    /// - Complexity: That of the reader.
    public init(config: ConfigReader) throws {
      self.init()
      try read(config)
    }

    mutating func read(_ config: ConfigReader) throws {
      set(&durability, try config.durability("durability"))
      if let expiration = try config.expiration("syncInterval") {
        syncInterval = expiration.afterWrite
      }
      set(&consumerSlots, try config.count("consumerSlots", through: 1024))
      set(
        &onMismatch,
        try config.choice(
          "onMismatch",
          [("adaptIfLossless", .adaptIfLossless), ("adapt", .adapt), ("readOnly", .readOnly)]))
      set(&keepsTimes, try config.truth("keepsTimes"))
      set(&maximumAge, try config.duration(forKey: "maximumAge"))
      set(&trustsOtherUsers, try config.truth("trustsOtherUsers"))
    }

    /// What a full log does, as `whenFull` says: `overwriteOldest` or `refuse`.
    ///
    /// - Parameter config: Where the key is.
    /// - Returns: nil if there is no such key.
    /// - Throws: `.invalidArgument` for anything else.
    /// - Complexity: That of the reader.
    public static func whenFull(from config: ConfigReader) throws -> OverflowPolicy? {
      try config.choice(
        "whenFull", [("overwriteOldest", .overwriteOldest), ("refuse", .refuse)])
    }
  }
#endif
