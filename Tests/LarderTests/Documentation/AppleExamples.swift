// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

// Example: stores of an app
/// The stores of an app.
struct Stores: Sendable {
  let log: MessageLog<String>
  let pages: Cache<String, Data>

  /// Before the app is suspended. A failure is that of a sync; no lock is left all the same.
  func suspend() async throws {
    var failure: (any Error)?
    do { try await log.suspend() } catch { failure = error }
    try await pages.suspend()
    if let failure { throw failure }
  }

  /// When it is active again. What others keep locked is tried again later.
  func resume() async throws {
    try await log.resume()
    try await pages.resume()
  }
}
// End of example

// Example: default isolation
nonisolated struct Draft: Codable, Identifiable, Sendable {
  var id: Int
  var text: String
}

func keep(in folder: URL) throws {
  let drafts = try Archive<Draft>(at: .url(folder), indexes: [ArchiveIndex("text", \.text)])
  try drafts.upsert(Draft(id: 1, text: "Buy milk"))
  let found = try drafts.where { $0.text.hasPrefix("Buy") }.results()
  print(found.map(\.id))  // [1]
}
// End of example

/// The Swift examples of the article on Apple's systems, as far as they are not of an app alone.
@Suite("The examples for apps") struct AppleExamples {
  private let directory: TemporaryDirectory
  private let folder: URL

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("cache")
  }

  @Test func background() async throws {
    let log = try MessageLog(
      at: .url(directory.file("log")), capacity: 64.kilobytes, whenFull: .refuse, coder: .string)
    let stores = Stores(log: log, pages: try Cache(at: .url(folder), coder: .data))
    try await stores.suspend()
    #expect(stores.log.isSuspended && stores.pages.isSuspended)
    #expect(filesHeld(under: directory.url) == [])
    try await stores.resume()
    #expect(!stores.log.isSuspended && !stores.pages.isSuspended)
  }

  @Test func isolation() throws {
    try keep(in: folder)
  }

  @Test func protection() throws {
    // Example: data protection
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.files.protection = .complete
    configuration.files.isExcludedFromBackup = true
    let pages = try DiskCache(at: .url(folder), configuration: configuration)
    // End of example
    #expect(try pages.isEmpty)
  }
}
