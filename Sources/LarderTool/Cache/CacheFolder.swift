// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool
import Synchronization

/// A cache of any program: its keys and values are bytes.
typealias RawCache = DiskCache<Data, Data>

/// Opening a cache's folder as the command line asks for it.
enum CacheFolder {
  /// Matches every cache, whatever coder made its values.
  private static let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })

  /// Opens the cache for reading only, while whoever has it goes on.
  ///
  /// - Parameter tells: Whether writes that are lost are told here.
  static func read(_ path: String, tells: Bool = true) throws -> RawCache {
    try StandardStreams.requireOutput(outside: path)
    do {
      let cache = try openForReading(path)
      if tells { try tellLosses(of: cache) }
      return cache
    } catch let error as LarderError where error.errno == ENOENT {
      // What is missing may be the folder or what it should hold.
      guard FileManager.default.fileExists(atPath: path) else { throw error }
      throw ToolFailure("\(path): there is no cache in that folder")
    }
  }

  private static func openForReading(_ path: String) throws -> RawCache {
    var configuration = DiskCacheConfiguration<Data, Data>()
    configuration.isReadOnly = true
    return try open(path, configuration)
  }

  /// What is known of a folder's keys once it is open.
  private final class Keys: Sendable {
    let areText = Atomic(false)
  }

  private static func open(
    _ path: String, _ configuration: DiskCacheConfiguration<Data, Data>
  ) throws -> RawCache {
    let keys = Keys()
    let keyCoder = KeyCoder<Data>.data { keys.areText.load(ordering: .relaxed) }
    let cache = try RawCache(
      at: .path(path), coder: coder, keyCoder: keyCoder, configuration: configuration)
    keys.areText.store(cache.hasTextKeys, ordering: .relaxed)
    return cache
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
    let cache = try open(path, configuration)
    try tellLosses(of: cache)
    return cache
  }

  /// Tells what opening found to be lost: once the cache was open for writing, nothing else does.
  private static func tellLosses(of cache: RawCache) throws {
    let lost = try cache.recovery.lost
    if lost == 0 { return }
    StandardError.note(
      "\(cache.path): at least \(Quantity.count(lost, "write")) \(lost == 1 ? "is" : "are") lost; "
        + "entries may be missing, or older than they were")
    ToolExit.noteLosses()
  }

  /// The same, before something that opens the cache for writing and does not say.
  static func tellLosses(of path: String) throws {
    if let cache = try? openForReading(path) { try tellLosses(of: cache) }
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
