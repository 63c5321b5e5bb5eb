// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// A cache of any program: its keys and values are bytes.
typealias RawCache = DiskCache<Data, Data>

/// Opening a cache's folder as the command line asks for it.
enum CacheFolder {
  /// Matches every cache, whatever coder made its values.
  private static let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })

  /// Opens the cache for reading only, while whoever has it goes on.
  static func read(_ path: String) throws -> RawCache {
    try StandardStreams.requireOutput(outside: path)
    do {
      return try openForReading(path)
    } catch let error as LarderError where error.errno == ENOENT {
      // What is missing may be the folder or what it should hold.
      guard FileManager.default.fileExists(atPath: path) else { throw error }
      throw ToolFailure("\(path): there is no cache in that folder")
    }
  }

  private static func openForReading(_ path: String) throws -> RawCache {
    var configuration = DiskCacheConfiguration<Data, Data>()
    configuration.isReadOnly = true
    return try RawCache(path: path, coder: coder, keyCoder: .data, configuration: configuration)
  }

  /// Opens the cache for reading and writing, and nobody else may have it.
  ///
  /// - Parameter creates: Whether a missing one is created.
  static func write(
    _ path: String, others: OtherUsers, creates: Bool = false
  ) throws -> RawCache {
    try StandardStreams.requireOutput(outside: path)
    var configuration = DiskCacheConfiguration<Data, Data>()
    configuration.mustExist = !creates
    configuration.trustsOtherUsers = others.areTrusted
    return try RawCache(path: path, coder: coder, keyCoder: .data, configuration: configuration)
  }

  /// Runs what needs a cache for itself, and says which process has it open, if one does.
  ///
  /// - Parameter purpose: A verb, for the sentence.
  static func alone<Result>(
    _ path: String, _ purpose: String, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let error as LarderError where error.code == .busy {
      // The cache itself says who it is, if it is whole enough to be opened.
      guard let writer = try? openForReading(path).statistics.writerProcess else { throw error }
      throw ToolFailure(
        "Could not \(purpose) \(path): process \(writer) has it open; close it there first.")
    }
  }
}
