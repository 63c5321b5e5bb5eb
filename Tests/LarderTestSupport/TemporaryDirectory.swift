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

/// Makes a folder for a program, which removes it itself: in the folder that is wanted, else in
/// memory where that can be had, as what is tried there is what a process leaves behind and not
/// what a disk does.
public func makeWorkplace(_ name: String, in wanted: String? = nil) throws -> URL {
  let manager = FileManager.default
  let parents = wanted.map { [$0] } ?? ["/dev/shm", manager.temporaryDirectory.path]
  let parent = parents.first { manager.isWritableFile(atPath: $0) } ?? parents[0]
  let folder = URL(fileURLWithPath: parent)
    .appendingPathComponent("\(name).\(UUID().uuidString.prefix(8))")
  try manager.createDirectory(at: folder, withIntermediateDirectories: wanted != nil)
  return folder
}
