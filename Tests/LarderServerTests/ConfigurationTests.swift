// SPDX-License-Identifier: MIT

#if Configuration
  import Configuration
  import Foundation
  import Larder
  import LarderConfiguration
  import LarderTestSupport
  import Testing

  #if Logging
    import LarderLogging
  #endif

  @Suite("Stores by configuration") struct ConfigurationTests {
    private func reader(_ values: [AbsoluteConfigKey: ConfigValue]) -> ConfigReader {
      ConfigReader(provider: InMemoryProvider(values: values))
    }

    @Test func anEmptyConfigurationHasTheDefaults() throws {
      let config = reader([:])
      let memory = try MemoryCacheConfiguration<Int, Int>(config: config)
      #expect(memory.countLimit == .max && memory.costLimit == .max && memory.policy == .standard)
      #expect(memory.expiration == .never && memory.loadTimeout == nil)
      let disk = try DiskCacheConfiguration<Int, Int>(config: config)
      #expect(disk.journalCapacity == 256 << 20 && disk.durability == .process)
      let entries = try EntryCacheConfiguration(config: config)
      #expect(entries.sizeLimit == nil && entries.keyRule == .any)
      #expect(try MessageLogConfiguration(config: config) == MessageLogConfiguration())
      #expect(try CacheConfiguration<Int, Int>(config: config).writePolicy == .writeThrough)
    }

    @Test func aMemoryCacheIsConfigured() throws {
      let memory = try MemoryCacheConfiguration<Int, Int>(
        config: reader([
          "name": "pages", "policy": "s3fifo", "countLimit": 1000, "costLimit": "64MiB",
          "expiration": "1h30m", "autoTrimInterval": "250ms", "refreshAfter": "10m",
          "staleIfError": "1d", "softLoadTimeout": "0.5s", "loadTimeout": "30s",
        ]))
      #expect(memory.name == "pages" && memory.policy == .s3fifo && memory.countLimit == 1000)
      #expect(memory.costLimit == 64 << 20)
      #expect(memory.expiration == Expiration(afterWrite: .seconds(5400)))
      #expect(memory.autoTrimInterval == .milliseconds(250) && memory.refreshAfter == .seconds(600))
      #expect(memory.staleIfError == .seconds(86_400) && memory.loadTimeout == .seconds(30))
      #expect(memory.softLoadTimeout == .milliseconds(500))
    }

    @Test func aCacheIsConfiguredWithItsTiers() throws {
      let cache = try CacheConfiguration<Int, Int>(
        config: reader([
          "users.name": "users", "users.expiration": "30d", "users.memory.countLimit": 10,
          "users.memory.expiration": "1h", "users.disk.sizeLimit": "1GiB",
          "users.disk.freeDiskSpaceLimit": "4GB", "users.disk.journalCapacity": 1_048_576,
          "users.disk.durability": "power", "users.disk.tracksUse": true,
          "users.disk.keepsExpired": "2m",
          "users.writePolicy": "writeBack", "users.negativeLifetime": "1m",
          "users.negativeCountLimit": 5, "users.keepsHotKeys": true,
        ]).scoped(to: "users"))
      #expect(cache.name == "users" && cache.memory.countLimit == 10)
      #expect(cache.memory.expiration == Expiration(afterWrite: .seconds(3600)))
      #expect(cache.disk.expiration == Expiration(afterWrite: .seconds(2_592_000)))
      #expect(cache.disk.sizeLimit == 1.gigabytes && cache.disk.freeDiskSpaceLimit == 4_000_000_000)
      #expect(cache.disk.journalCapacity == 1 << 20 && cache.disk.durability == .power)
      #expect(cache.disk.keepsExpired == .seconds(120))
      #expect(cache.disk.tracksUse && cache.writePolicy == .writeBack() && cache.keepsHotKeys)
      #expect(cache.negativeLifetime == .seconds(60) && cache.negativeCountLimit == 5)
    }

    @Test func logsAndEntriesAreConfigured() throws {
      let config = reader([
        "durability": "power", "syncInterval": "never", "consumerSlots": 3, "onMismatch": "adapt",
        "trustsOtherUsers": true, "whenFull": "refuse", "capacity": "1GiB",
        "criticalDurability": "power", "pages.sizeLimit": "100M",
        "pages.keyRule": "diskLruCache", "pages.readingDamage": "asMiss", "pages.isReadOnly": false,
        "pages.inlineThreshold": 100,
        "pages.trustsOtherUsers": true,
      ])
      let log = try MessageLogConfiguration(config: config)
      #expect(log.durability == .power && log.syncInterval == nil && log.consumerSlots == 3)
      #expect(log.onMismatch == .adapt && log.trustsOtherUsers)
      #expect(try MessageLogConfiguration.whenFull(from: config) == .refuse)
      #expect(try config.size(forKey: "capacity") == 1.gigabytes)
      let entries = try EntryCacheConfiguration(config: config.scoped(to: "pages"))
      #expect(entries.sizeLimit == 100.megabytes && entries.keyRule == .diskLruCache)
      #expect(entries.readingDamage == .asMiss)
      #expect(entries.inlineThreshold == 100 && entries.trustsOtherUsers)
      #if Logging
        let destination = try LogDestinationConfiguration(config: config)
        #expect(destination.capacity == 1.gigabytes && destination.whenFull == .refuse)
        #expect(destination.criticalDurability == .power && destination.log.syncInterval == nil)
      #endif
    }

    @Test func keysOfTheVersionBeforeAreRead() throws {
      let config = reader([
        "costLimit": "1GiB", "byteLimit": "2GiB", "maximumBytes": "3GiB", "flushInterval": "7s",
      ])
      let disk = try DiskCacheConfiguration<Int, Int>(config: config)
      #expect(disk.sizeLimit == 1.gigabytes && disk.checkpointInterval == .seconds(7))
      let entries = try EntryCacheConfiguration(config: config)
      #expect(entries.sizeLimit == 2.gigabytes && entries.checkpointInterval == .seconds(7))
      #if Logging
        #expect(try LogDestinationConfiguration(config: config).capacity == 3.gigabytes)
      #endif
    }

    @Test func theEnvironmentIsText() throws {
      let provider = EnvironmentVariablesProvider(environmentVariables: [
        "PAGES_COUNT_LIMIT": "1000", "PAGES_SIZE_LIMIT": "4096", "PAGES_TRACKS_USE": "true",
      ])
      let config = ConfigReader(provider: provider).scoped(to: "pages")
      let disk = try DiskCacheConfiguration<Int, Int>(config: config)
      #expect(disk.countLimit == 1000 && disk.sizeLimit == 4096 && disk.tracksUse)
    }

    @Test(
      arguments: [
        ("sizeLimit", "64 sheep"), ("sizeLimit", "-1"), ("sizeLimit", 1.5), ("sizeLimit", -1),
        ("sizeLimit", ConfigValue(.stringArray(["1", "2"]), isSecret: false)),
        ("countLimit", "many"), ("countLimit", -1), ("countLimit", true),
        ("expiration", "60"), ("expiration", 60), ("expiration", "30m1h"), ("expiration", "-5s"),
        ("checkpointInterval", "soon"), ("checkpointInterval", true), ("durability", "diamond"),
        ("durability", 1), ("tracksUse", "maybe"), ("tracksUse", 7),
      ] as [(String, ConfigValue)])
    func nonsenseIsAnErrorThatNamesTheKey(key: String, value: ConfigValue) throws {
      let config = reader([AbsoluteConfigKey([key]): value])
      let error = error { try DiskCacheConfiguration<Int, Int>(config: config) }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message.contains(key) == true && error?.message.contains("sheep") == false)
    }

    @Test func anErrorNamesThePartOfACache() throws {
      for part in ["memory", "disk"] {
        let config = reader([AbsoluteConfigKey([part, "countLimit"]): -1])
        let error = error { try CacheConfiguration<Int, Int>(config: config) }
        #expect(error?.message == "What is configured as \(part).countLimit is not 0 or more.")
      }
      #expect(
        errorCode { try MessageLogConfiguration(config: reader(["consumerSlots": 1025])) }
          == .invalidArgument)
      let log = try MessageLogConfiguration(
        config: reader(["consumerSlots": 1024, "keepsTimes": true, "maximumAge": "7d"]))
      #expect(log.consumerSlots == 1024 && log.keepsTimes && log.maximumAge == .seconds(604_800))
    }

    @Test func nonsenseInAPolicyIsAnError() throws {
      let config = reader(["policy": "best", "writePolicy": "never", "keyRule": "none"])
      #expect(
        errorCode { try MemoryCacheConfiguration<Int, Int>(config: config) } == .invalidArgument)
      #expect(errorCode { try CacheConfiguration<Int, Int>(config: config) } == .invalidArgument)
      #expect(errorCode { try EntryCacheConfiguration(config: config) } == .invalidArgument)
    }
  }
#endif
