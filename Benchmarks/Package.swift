// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import Foundation
import PackageDescription

// A package of its own, so that nobody who depends on Larder fetches or links a rival.

/// Whether `pkg-config` knows the library. `LARDER_BENCH_<NAME>=0` or `=1` in the environment says
/// so instead; `make bench` sets it, because SwiftPM remembers what a manifest evaluated to.
func isInstalled(_ library: String, name: String) -> Bool {
  if let said = Context.environment["LARDER_BENCH_\(name)"] { return said == "1" }
  let pkgConfig = Process()
  pkgConfig.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  pkgConfig.arguments = ["pkg-config", "--exists", library]
  pkgConfig.standardError = FileHandle.nullDevice
  do { try pkgConfig.run() } catch { return false }
  pkgConfig.waitUntilExit()
  return pkgConfig.terminationStatus == 0
}

let swift: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let c: [CSetting] = [
  .treatAllWarnings(as: .error),
  .enableWarning("all"),
  .enableWarning("extra"),
  .enableWarning("conversion"),
  .enableWarning("shadow"),
  .enableWarning("missing-prototypes"),
  .disableWarning("nullability-extension"),
]

var rivals: [Target] = []
var rivalNames: [Target.Dependency] = []
var rivalDefines: [SwiftSetting] = []

if isInstalled("sqlite3", name: "SQLITE") {
  rivals.append(
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]))
  rivalNames.append("CSQLite")
  rivalDefines.append(.define("HAS_SQLITE"))
}

// GRDB is fetched, where it can be linked: `LARDER_BENCH_GRDB=0` leaves it out.
var rivalPackages: [Package.Dependency] = []
if isInstalled("sqlite3", name: "SQLITE"), Context.environment["LARDER_BENCH_GRDB"] != "0" {
  rivalPackages.append(.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"))
  rivalNames.append(.product(name: "GRDB", package: "GRDB.swift"))
  rivalDefines.append(.define("HAS_GRDB"))
}

if isInstalled("rocksdb", name: "ROCKSDB") {
  rivals.append(
    .systemLibrary(
      name: "CRocksDB", pkgConfig: "rocksdb",
      providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]))
  rivalNames.append("CRocksDB")
  rivalDefines.append(.define("HAS_ROCKSDB"))
}

// The server that a cache shares with others, and its own benchmark: nothing is linked, but
// swift-nio is fetched. Without it the area says that it is skipped.
let hasRemote = Context.environment["LARDER_BENCH_REMOTE"] == "1"
if hasRemote {
  rivalNames.append(.product(name: "LarderRemote", package: "larder"))
  rivalDefines.append(.define("HAS_REMOTE"))
}

let package = Package(
  name: "larder-benchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "larder-bench", targets: ["LarderBench"])],
  dependencies: [
    .package(name: "larder", path: "..", traits: hasRemote ? ["Logging", "Remote"] : ["Logging"]),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ] + rivalPackages,
  targets: rivals + [
    .target(
      name: "CRivals",
      dependencies: [
        .product(name: "CLarder", package: "larder"),
        // LMDB, which is a rival too, comes with it.
        .product(name: "CLarderStore", package: "larder"),
      ],
      cSettings: c),
    .executableTarget(
      name: "LarderBench",
      dependencies: [
        "CRivals",
        .product(name: "CLarder", package: "larder"),
        .product(name: "CLarderStore", package: "larder"),
        .product(name: "Larder", package: "larder"),
        .product(name: "LarderCore", package: "larder"),
        .product(name: "LarderLogging", package: "larder"),
        .product(name: "Logging", package: "swift-log"),
      ] + rivalNames,
      swiftSettings: swift + rivalDefines),
  ],
  cLanguageStandard: .c11
)
