// SPDX-License-Identifier: MIT
public import Foundation

/// The log of a store, as the files in its folder: to look at, and to damage behind the
/// store's back.
public struct StoreLog {
  private let folder: URL

  /// - Parameter store: The store's folder.
  public init(_ store: URL) { folder = store.appendingPathComponent("log", isDirectory: true) }

  /// The files of the segments, oldest first.
  public var segments: [URL] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path)
        .filter { $0.hasSuffix(".seg") }.sorted().map { folder.appendingPathComponent($0) }
    }
  }

  /// The bytes of all their files.
  public var size: Int {
    get throws { try segments.reduce(0) { try $0 + Data(contentsOf: $1).count } }
  }

  /// What its files take on the disk, in bytes.
  public var blocks: Int {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).reduce(0) { sum, name in
        var facts = stat()
        // What is deleted meanwhile takes nothing.
        guard stat(folder.appendingPathComponent(name).path, &facts) == 0 else { return sum }
        return sum + Int(facts.st_blocks) * 512
      }
    }
  }

  /// The segments that hold some bytes.
  public func segments(with bytes: Data) throws -> [URL] {
    try segments.filter { try Data(contentsOf: $0).range(of: bytes) != nil }
  }

  /// Flips bits of one byte of `bytes`, in place, wherever they lie in the log.
  ///
  /// - Returns: How often they are there.
  @discardableResult
  public func flip(_ bytes: Data, at offset: Int = 0, mask: UInt8 = 1) throws -> Int {
    try segments.reduce(0) { try $0 + Self.flip(bytes, at: offset, mask: mask, in: $1) }
  }

  /// The same in any file.
  @discardableResult
  public static func flip(
    _ bytes: Data, at offset: Int = 0, mask: UInt8 = 1, in file: URL
  ) throws -> Int {
    let all = try Data(contentsOf: file)
    let handle = try FileHandle(forUpdating: file)
    defer { try? handle.close() }
    var count = 0
    var rest = all.startIndex..<all.endIndex
    while let found = all.range(of: bytes, in: rest) {
      let place = found.lowerBound + offset
      try handle.seek(toOffset: UInt64(place))
      try handle.write(contentsOf: Data([all[place] ^ mask]))
      rest = found.upperBound..<all.endIndex
      count += 1
    }
    return count
  }
}
