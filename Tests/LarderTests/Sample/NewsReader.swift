// SPDX-License-Identifier: MIT

import Foundation
import Larder

/// Fetches the articles of feeds, keeps them, and finds them again.
struct NewsReader: Sendable {
  struct Note: Codable, Sendable {
    var date = Date()
    var text: String
  }

  struct Article: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var words: Int
    var isRead = false
  }

  let notes: MessageLog<Note>
  let feeds: Cache<String, [String]>
  let pages: EntryCache<String>
  let articles: Archive<Article>
  let fetch: @Sendable (String) async throws -> String

  init(folder: URL, fetch: @escaping @Sendable (String) async throws -> String) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    notes = try MessageLog<Note>(
      at: .url(folder.appendingPathComponent("notes.larder")), capacity: 1.megabytes,
      whenFull: .overwriteOldest)

    var configuration = CacheConfiguration<String, [String]>()
    configuration.memory.countLimit = 100
    configuration.expiration = .seconds(900)
    feeds = try Cache(at: .path(folder.path + "/feeds"), configuration: configuration)

    pages = try EntryCache<String>(at: .path(folder.path + "/pages"), valueCount: 2, version: 1)
    articles = try Archive<Article>(
      at: .path(folder.path + "/articles"), indexes: [ArchiveIndex("words", \.words)])
    self.fetch = fetch
  }

  /// Fetches a feed, unless that was done lately, and those of its articles that are new.
  func refresh(_ feed: String) async throws {
    let names = try await feeds.value(forKey: feed) {
      try await fetch(feed).split(separator: "\n").map(String.init)
    }
    for name in names {
      if try await articles.contains(id: name) { continue }
      let text = try await fetch(name)
      let title = String(text.prefix { $0 != "\n" })
      try await pages.setValues([Data(title.utf8), Data(text.utf8)], forKey: name)
      let words = text.split(whereSeparator: \.isWhitespace).count
      try await articles.upsert(Article(id: name, title: title, words: words))
      try notes.append(Note(text: "fetched \(name)"))
    }
  }

  /// The text of an article, which counts as read from then on.
  func read(_ name: String) async throws -> String? {
    guard let page = try await pages.snapshot(forKey: name, values: [1]) else { return nil }
    try await articles.update(id: name) { $0.isRead = true }
    try notes.append(Note(text: "read \(name)"))
    return try page.string(at: 1)
  }

  /// The shortest articles that nobody has read.
  func suggestions(_ count: Int) async throws -> [String] {
    try await articles.where { $0.words < 1000 && !$0.isRead }
      .sorted(by: \.words).limit(count).results().map(\.title)
  }
}
