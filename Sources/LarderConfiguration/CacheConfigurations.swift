// SPDX-License-Identifier: MIT

#if Configuration
  public import Configuration
  public import Larder
  public import LarderCore

  extension MemoryCacheConfiguration {
    /// Reads a configuration; what is missing keeps its default.
    ///
    /// | key | what |
    /// |---|---|
    /// | `name` | text |
    /// | `policy` | `lru`, `fifo`, `s3fifo` or `adaptive` |
    /// | `countLimit` | entries |
    /// | `costLimit` | a size: the unit of cost is yours, bytes most of the time |
    /// | `expiration` | a duration after the write, or `never` |
    /// | `autoTrimInterval`, `refreshAfter`, `staleIfError`, `softLoadTimeout`, `loadTimeout` | durations |
    ///
    /// ```swift
    /// let pages = MemoryCache<String, Data>(try .init(config: config.scoped(to: "pages")))
    /// ```
    ///
    /// - Parameter config: Where the keys are.
    /// - Throws: `.invalidArgument` for a value that makes no sense. The message has the key.
    /// - Complexity: That of the reader.
    public init(config: ConfigReader) throws {
      self.init()
      if let name = config.string(forKey: "name") { self.name = name }
      set(
        &policy,
        try config.choice("policy", EvictionPolicy.allCases.map { ($0.description, $0) }))
      set(&countLimit, try config.count("countLimit"))
      set(&costLimit, try config.cost("costLimit"))
      set(&expiration, try config.expiration("expiration"))
      set(&autoTrimInterval, try config.duration(forKey: "autoTrimInterval"))
      set(&refreshAfter, try config.duration(forKey: "refreshAfter"))
      set(&staleIfError, try config.duration(forKey: "staleIfError"))
      set(&softLoadTimeout, try config.duration(forKey: "softLoadTimeout"))
      set(&loadTimeout, try config.duration(forKey: "loadTimeout"))
    }
  }

  extension StoreConfiguration {
    fileprivate mutating func read(_ config: ConfigReader) throws {
      set(&inlineThreshold, try config.cost("inlineThreshold"))
      set(&autoTrimInterval, try config.duration(forKey: "autoTrimInterval"))
      set(
        &checkpointInterval,
        try config.duration(forKey: "checkpointInterval")
          ?? config.duration(forKey: "flushInterval"))
      set(&syncInterval, try config.duration(forKey: "syncInterval"))
      set(&journalCapacity, try config.bytes("journalCapacity"))
      set(&durability, try config.durability("durability"))
      set(&isReadOnly, try config.truth("isReadOnly"))
      set(&trustsOtherUsers, try config.truth("trustsOtherUsers"))
    }
  }

  extension DiskCacheConfiguration {
    /// Reads a configuration; what is missing keeps its default. `costLimit` and `flushInterval`,
    /// as the version before had it, are read for `sizeLimit` and `checkpointInterval`.
    ///
    /// | key | what |
    /// |---|---|
    /// | `name` | text |
    /// | `countLimit` | entries |
    /// | `sizeLimit`, `freeDiskSpaceLimit`, `journalCapacity`, `inlineThreshold` | sizes |
    /// | `expiration` | a duration after the write, or `never` |
    /// | `autoTrimInterval`, `checkpointInterval`, `syncInterval`, `keepsExpired` | durations |
    /// | `durability` | `process` or `power` |
    /// | `tracksUse`, `isReadOnly`, `trustsOtherUsers` | `true` or `false` |
    ///
    /// - Parameter config: Where the keys are.
    /// - Throws: `.invalidArgument` for a value that makes no sense. The message has the key.
    /// - Complexity: That of the reader.
    public init(config: ConfigReader) throws {
      self.init()
      try store.read(config)
      if let name = config.string(forKey: "name") { self.name = name }
      set(&countLimit, try config.count("countLimit"))
      set(&sizeLimit, try config.size("sizeLimit", once: "costLimit"))
      set(&freeDiskSpaceLimit, try config.bytes("freeDiskSpaceLimit"))
      set(&expiration, try config.expiration("expiration"))
      set(&keepsExpired, try config.duration(forKey: "keepsExpired"))
      set(&tracksUse, try config.truth("tracksUse"))
    }
  }

  extension CacheConfiguration {
    /// Reads a configuration; what is missing keeps its default.
    ///
    /// | key | what |
    /// |---|---|
    /// | `name` | text |
    /// | `memory.…` | as of `MemoryCacheConfiguration` |
    /// | `disk.…` | as of `DiskCacheConfiguration` |
    /// | `expiration` | a duration after the write, or `never`: in both, unless they have their own |
    /// | `writePolicy` | `writeThrough` or `writeBack` |
    /// | `negativeLifetime` | a duration |
    /// | `negativeCountLimit` | keys |
    /// | `keepsHotKeys` | `true` or `false` |
    ///
    /// ```swift
    /// let users = try Cache<Int, User>(
    ///   at: .path(path), configuration: .init(config: config.scoped(to: "users")))
    /// ```
    ///
    /// - Parameter config: Where the keys are.
    /// - Throws: `.invalidArgument` for a value that makes no sense. The message has the key.
    /// - Complexity: That of the reader.
    public init(config: ConfigReader) throws {
      self.init()
      memory = try config.within("memory") { try MemoryCacheConfiguration(config: $0) }
      disk = try config.within("disk") { try DiskCacheConfiguration(config: $0) }
      if let name = config.string(forKey: "name") { self.name = name }
      if let expiration = try config.expiration("expiration") {
        if memory.expiration == .never { memory.expiration = expiration }
        if disk.expiration == .never { disk.expiration = expiration }
      }
      set(
        &writePolicy,
        try config.choice(
          "writePolicy", [("writeThrough", .writeThrough), ("writeBack", .writeBack())]))
      set(&negativeLifetime, try config.duration(forKey: "negativeLifetime"))
      set(&negativeCountLimit, try config.count("negativeCountLimit"))
      set(&keepsHotKeys, try config.truth("keepsHotKeys"))
    }
  }

  extension EntryCacheConfiguration {
    /// Reads a configuration; what is missing keeps its default. `byteLimit` and `flushInterval`,
    /// as the version before had it, are read for `sizeLimit` and `checkpointInterval`.
    ///
    /// | key | what |
    /// |---|---|
    /// | `countLimit` | entries |
    /// | `sizeLimit`, `freeDiskSpaceLimit`, `journalCapacity`, `inlineThreshold` | sizes |
    /// | `expiration` | a duration after the write, or `never` |
    /// | `keyRule` | `any`, `diskLruCache` or `swiftyCache` |
    /// | `readingDamage` | `asError` or `asMiss` |
    /// | `autoTrimInterval`, `checkpointInterval`, `syncInterval` | durations |
    /// | `durability` | `process` or `power` |
    /// | `tracksUse`, `isReadOnly`, `trustsOtherUsers` | `true` or `false` |
    ///
    /// - Parameter config: Where the keys are.
    /// - Throws: `.invalidArgument` for a value that makes no sense. The message has the key.
    /// - Complexity: That of the reader.
    public init(config: ConfigReader) throws {
      self.init()
      try store.read(config)
      set(&countLimit, try config.count("countLimit"))
      set(&sizeLimit, try config.size("sizeLimit", once: "byteLimit"))
      set(&freeDiskSpaceLimit, try config.bytes("freeDiskSpaceLimit"))
      set(&expiration, try config.expiration("expiration"))
      set(
        &keyRule,
        try config.choice(
          "keyRule",
          [("any", .any), ("diskLruCache", .diskLruCache), ("swiftyCache", .swiftyCache)]))
      set(
        &readingDamage,
        try config.choice("readingDamage", [("asError", .asError), ("asMiss", .asMiss)]))
      set(&tracksUse, try config.truth("tracksUse"))
    }
  }
#endif
