// SPDX-License-Identifier: MIT
public import Foundation

/// Where the programs are that were built with the tests: beside the test bundle on every platform,
/// whatever the scratch path.
public let builtProducts: URL = {
  let bundle = Bundle.allBundles.first { $0.bundleURL.pathExtension == "xctest" }
  return bundle?.bundleURL.deletingLastPathComponent()
    ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
}()
