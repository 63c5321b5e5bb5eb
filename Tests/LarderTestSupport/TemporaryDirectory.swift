// SPDX-License-Identifier: MIT

public import Foundation

/// A directory of a test's own, removed with the last reference to it.
public final class TemporaryDirectory: Sendable {
  /// The directory.
  public let url: URL

  /// Makes an empty directory.
  public init() throws {
    url = FileManager.default.temporaryDirectory
      .appendingPathComponent("larder-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    // A directory that cannot be removed is not what the test is about.
    try? FileManager.default.removeItem(at: url)
  }

  /// The URL of a file in the directory, which need not exist.
  public func file(_ name: String) -> URL {
    url.appendingPathComponent(name, isDirectory: false)
  }

  /// The names in the directory, sorted.
  public var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
  }
}
