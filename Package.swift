// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

/// Every Swift target of ours is built with these.
let language: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
/// And all but two with these.
let swift = language + [.treatAllWarnings(as: .error)]

/// And every C target with these, under clang; `make check-c` adds gcc and a few more.
let c: [CSetting] = [
  .treatAllWarnings(as: .error),
  .enableWarning("all"),
  .enableWarning("extra"),
  .enableWarning("conversion"),
  .enableWarning("shadow"),
  .enableWarning("missing-prototypes"),
  .disableWarning("nullability-extension"),
]

// Apple's systems have no LMDB, and Homebrew's writes other files: every build for them has a macOS
// host, which is where a manifest is evaluated, and takes LMDB from a package. Elsewhere the system
// has it, but not where Linux builds for Android or with the static SDK: then, as with any other
// wish, the environment says so. It is no trait, which not every Xcode knows, nor passes on.
#if os(macOS)
  let usual = "bundled"
#else
  let usual = "system"
#endif
let wished = Context.environment["LARDER_LMDB"] ?? usual
if wished != "bundled" && wished != "system" {
  fatalError("LARDER_LMDB is \"\(wished)\", not \"bundled\" or \"system\".")
}
let isBundled = wished == "bundled"
let lmdbPackage: [Package.Dependency] =
  isBundled
  ? [.package(url: "https://github.com/agisboye/CLMDB", .upToNextMinor(from: "0.9.24"))] : []
// By its bare name it would be taken for the package, which would then be fetched.
let lmdb: [Target.Dependency] =
  isBundled ? [.product(name: "LMDB", package: "CLMDB")] : [.target(name: "CLMDB")]
let lmdbOfSystem: [Target] =
  isBundled
  ? [] : [.systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])])]

/// What LMDB defines, all of it.
let functionsOfLMDB = """
  cmp cursor_close cursor_count cursor_dbi cursor_del cursor_get cursor_open cursor_put
  cursor_renew cursor_txn dbi_close dbi_flags dbi_open dcmp del drop env_close env_copy
  env_copy2 env_copyfd env_copyfd2 env_create env_get_fd env_get_flags env_get_maxkeysize
  env_get_maxreaders env_get_path env_get_userctx env_info env_open env_set_assert env_set_flags
  env_set_mapsize env_set_maxdbs env_set_maxreaders env_set_userctx env_stat env_sync get
  mid2l_append mid2l_insert mid2l_search midl_alloc midl_append midl_append_list
  midl_append_range midl_free midl_need midl_search midl_shrink midl_sort midl_xmerge put
  reader_check reader_list set_compare set_dupsort set_relctx set_relfunc stat strerror
  txn_abort txn_begin txn_commit txn_env txn_id txn_renew txn_reset version
  """
/// From a package LMDB is compiled under names of ours, on Apple's systems with locks of ours: see
/// lmdb/bundled.c.
let bundledLMDB: [CSetting] =
  functionsOfLMDB.split(whereSeparator: \.isWhitespace).map { name in
    .define("mdb_\(name)", to: "larder_mdb_\(name)")
  } + [
    .define("LARDER_BUNDLED_LMDB"),
    .define(
      "LARDER_LMDB_LOCKS",
      .when(platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS])),
  ]

/// Apple's tools look for it in the bundle of a target that has resources. Elsewhere a target with
/// resources gets a source file for nothing.
#if os(macOS)
  let privacy = (excluded: [String](), resources: [Resource.copy("PrivacyInfo.xcprivacy")])
#else
  let privacy = (excluded: ["PrivacyInfo.xcprivacy"], resources: [Resource]())
#endif

/// What a server has besides, each behind a trait of its own, without which it is not even fetched.
func server(_ trait: String, _ product: String, in package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: [trait]))
}
let logging = server("Logging", "Logging", in: "swift-log")
let metrics = server("Metrics", "Metrics", in: "swift-metrics")
let lifecycle = server("ServiceLifecycle", "ServiceLifecycle", in: "swift-service-lifecycle")
let configuration = server("Configuration", "Configuration", in: "swift-configuration")
let tracing = server("Tracing", "Tracing", in: "swift-distributed-tracing")

/// What LarderRemote is built on, with its trait.
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Remote"])),
  .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Remote"])),
  .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Remote"])),
]

let package = Package(
  name: "larder",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Larder", targets: ["Larder"]),
    .library(name: "LarderCore", targets: ["LarderCore"]),
    .library(name: "LarderCompatibility", targets: ["LarderCompatibility"]),
    .library(name: "LarderCompression", targets: ["LarderCompression"]),
    .library(name: "LarderEncryption", targets: ["LarderEncryption"]),
    .library(name: "LarderLogging", targets: ["LarderLogging"]),
    .library(name: "LarderMetrics", targets: ["LarderMetrics"]),
    .library(name: "LarderLifecycle", targets: ["LarderLifecycle"]),
    .library(name: "LarderConfiguration", targets: ["LarderConfiguration"]),
    .library(name: "LarderTracing", targets: ["LarderTracing"]),
    .library(name: "LarderRemote", targets: ["LarderRemote"]),
    .library(name: "CLarder", targets: ["CLarder"]),
    .library(name: "CLarderStore", targets: ["CLarderStore"]),
    .executable(name: "larder", targets: ["LarderTool"]),
  ],
  traits: [
    .trait(
      name: "Encryption",
      description: "Coders that encrypt, in LarderEncryption; adds a dependency on swift-crypto."),
    .trait(
      name: "Logging",
      description: "A backend of swift-log, in LarderLogging; adds a dependency on swift-log."),
    .trait(
      name: "Metrics",
      description: "Statistics as metrics, in LarderMetrics; adds a dependency on swift-metrics."),
    .trait(
      name: "ServiceLifecycle",
      description:
        "An orderly end, in LarderLifecycle; adds a dependency on swift-service-lifecycle."),
    .trait(
      name: "Configuration",
      description: "Configured stores, in LarderConfiguration; adds one on swift-configuration."),
    .trait(
      name: "Tracing",
      description: "Spans of loads, in LarderTracing; adds one on swift-distributed-tracing."),
    .trait(
      name: "Remote",
      description: "A Redis or Valkey server behind caches, in LarderRemote; adds swift-nio."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    // Not even fetched without its trait.
    .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
  ] + lmdbPackage,
  targets: [
    // How the C core talks to the system. It needs more of the C library than C11 has.
    .target(name: "CLarderSystem", cSettings: c + [.define("_GNU_SOURCE")]),
    .target(
      name: "CLarder", dependencies: ["CLarderSystem"], cSettings: c + [.headerSearchPath(".")]),
    .target(
      name: "LarderCore", dependencies: ["CLarderSystem", "CLarder"], exclude: privacy.excluded,
      resources: privacy.resources, swiftSettings: swift),
    .target(
      name: "CLarderStore", dependencies: ["CLarder", "CLarderSystem"] + lmdb,
      cSettings: c + (isBundled ? bundledLMDB : [])
        + [.define("_GNU_SOURCE"), .headerSearchPath(".")]),
    .target(
      name: "Larder", dependencies: ["LarderCore", "CLarderSystem", "CLarder", "CLarderStore"],
      swiftSettings: swift),
    // Names of the libraries that Larder comes from.
    .target(
      name: "LarderCompatibility", dependencies: ["Larder", "LarderCore"], swiftSettings: swift),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .target(
      name: "LarderCompression", dependencies: ["LarderCore", "CZlib"], swiftSettings: swift),
    .target(
      name: "LarderEncryption",
      dependencies: [
        "LarderCore",
        .product(
          name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
      ],
      swiftSettings: swift),
    .target(
      name: "LarderLogging", dependencies: ["LarderCore", logging], swiftSettings: swift),
    .target(
      name: "LarderMetrics", dependencies: ["Larder", "LarderCore", metrics, lifecycle],
      swiftSettings: swift),
    .target(
      name: "LarderLifecycle", dependencies: ["Larder", "LarderCore", lifecycle],
      swiftSettings: swift),
    .target(
      name: "LarderConfiguration",
      dependencies: ["Larder", "LarderCore", "LarderLogging", configuration],
      swiftSettings: swift),
    .target(
      name: "LarderTracing", dependencies: ["Larder", "LarderCore", tracing],
      swiftSettings: swift),
    .target(
      name: "LarderRemote", dependencies: ["Larder", "LarderCore"] + nio, swiftSettings: swift),
    // What needs no Larder of the command, to be compiled beside Larder instead of after it.
    .target(
      name: "LarderLogTool",
      dependencies: [
        "LarderCore",
        .target(name: "LarderRemote", condition: .when(traits: ["Remote"])),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/LarderTool",
      exclude: ["Archive", "Cache", "Demo", "Entry", "LarderCommand.swift", "Manual"],
      sources: ["Log", "Support"], swiftSettings: swift),
    .executableTarget(
      name: "LarderTool",
      dependencies: [
        "Larder", "LarderCore", "LarderLogTool",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      exclude: ["Log", "Support"], swiftSettings: swift),

    .target(
      name: "LarderTestSupport", dependencies: ["LarderCore", "CLarder"],
      path: "Tests/LarderTestSupport", swiftSettings: swift),
    // Not a product: `make torture` runs it.
    .executableTarget(
      name: "LarderTorture",
      dependencies: [
        "Larder", "LarderCore", "LarderTestSupport",
        .target(name: "LarderRemote", condition: .when(traits: ["Remote"])),
      ] + nio,
      path: "Tests/LarderTorture", exclude: ["defects.txt", "Remote/defects.txt"],
      swiftSettings: swift),
    // Programs as a user would write them: `make test-outside` runs them.
    .executableTarget(
      name: "LarderOutside",
      dependencies: [
        "Larder", "LarderTestSupport",
        .target(name: "LarderRemote", condition: .when(traits: ["Remote"])),
      ], path: "Tests/Outside",
      exclude: ["full_disk.c", "outside.mk", "resized_log.c"], swiftSettings: swift),
    // Not products either: that they compile is a test, and LarderTests run them. At the top level
    // an `await` of what blocks is a warning, which the compiler has no switch for.
    .executableTarget(
      name: "TopLevelBlocking", dependencies: ["Larder"], path: "Tests/LarderTopLevel/Blocking",
      swiftSettings: swift),
    .executableTarget(
      name: "TopLevelAwaiting", dependencies: ["Larder"], path: "Tests/LarderTopLevel/Awaiting",
      swiftSettings: language),
    .executableTarget(
      name: "TopLevelMoving", dependencies: ["Larder"], path: "Tests/LarderTopLevel/Moving",
      swiftSettings: swift),
    .executableTarget(
      name: "TopLevelBoth", dependencies: ["Larder"], path: "Tests/LarderTopLevel/Both",
      swiftSettings: language),
    .testTarget(
      name: "CLarderTests", dependencies: ["CLarder", "LarderTestSupport"], swiftSettings: swift),
    .testTarget(
      name: "LarderCoreTests", dependencies: ["LarderCore", "CLarder", "LarderTestSupport"],
      swiftSettings: swift),
    .testTarget(
      name: "LarderCompressionTests",
      dependencies: ["LarderCompression", "LarderCore", "CZlib", "LarderTestSupport"],
      swiftSettings: swift),
    .testTarget(
      name: "LarderEncryptionTests",
      dependencies: [
        "LarderEncryption", "LarderCompression", "LarderCore", "LarderTestSupport",
        .product(
          name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
      ],
      swiftSettings: swift),
    .testTarget(
      name: "CLarderStoreTests", dependencies: ["CLarderStore", "CLarder", "LarderTestSupport"],
      swiftSettings: swift),
    .testTarget(
      name: "LarderTests", dependencies: ["Larder", "CLarderStore", "LarderTestSupport"],
      swiftSettings: swift),
    .testTarget(
      name: "LarderCompatibilityTests", dependencies: ["LarderCompatibility", "LarderTestSupport"],
      swiftSettings: swift),
    .testTarget(
      name: "LarderRemoteTests",
      dependencies: [
        "LarderRemote", "LarderRemoteMachine", "LarderTool", "LarderLogTool", "Larder",
        "LarderCompression", "LarderCore", "LarderTestSupport",
      ] + nio,
      swiftSettings: swift),
    // A program that LarderRemoteTests starts, and kills.
    .executableTarget(
      name: "LarderRemoteMachine",
      dependencies: ["LarderRemote", "Larder", "LarderCore", "LarderTestSupport"],
      path: "Tests/LarderRemoteMachine", swiftSettings: swift),
    .testTarget(
      name: "LarderToolTests", dependencies: ["LarderTool", "LarderLogTool", "LarderTestSupport"],
      swiftSettings: swift),
    // A server that LarderServerTests drive, stop and kill. Both are as much as their traits give.
    .executableTarget(
      name: "LarderServer",
      dependencies: [
        "Larder", "LarderLogging", "LarderMetrics", "LarderLifecycle", "LarderConfiguration",
        logging, metrics, lifecycle, configuration,
        server("ServiceLifecycle", "UnixSignals", in: "swift-service-lifecycle"),
      ],
      path: "Tests/LarderServer", swiftSettings: swift),
    .testTarget(
      name: "LarderServerTests",
      dependencies: [
        "Larder", "LarderLogging", "LarderMetrics", "LarderLifecycle", "LarderConfiguration",
        "LarderTracing", "LarderServer", "LarderTestSupport",
        logging, metrics, lifecycle, configuration, tracing,
        server("Metrics", "MetricsTestKit", in: "swift-metrics"),
        server("Tracing", "InMemoryTracing", in: "swift-distributed-tracing"),
      ],
      swiftSettings: swift),
  ] + lmdbOfSystem,
  cLanguageStandard: .c11
)
