// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// A program that was written from the README alone, with a log, a cache, entries and an archive.
@Suite("The sample program") struct NewsReaderTests {
  private static let web = [
    "news": "long\nshort\nmiddle",
    "long": "A long one\n" + Array(repeating: "word", count: 2000).joined(separator: " "),
    "short": "A short one\nIt has six more words here.",
    "middle": "One in between\n" + Array(repeating: "word", count: 500).joined(separator: " "),
  ]

  private let directory: TemporaryDirectory
  private let fetched = Locked<[String]>([])

  init() throws { directory = try TemporaryDirectory() }

  private func open() throws -> NewsReader {
    try NewsReader(folder: directory.file("news")) { [fetched] name in
      fetched.withLock { $0.append(name) }
      guard let text = Self.web[name] else { throw URLError(.fileDoesNotExist) }
      return text
    }
  }

  @Test func itKeepsWhatItFetchedAndFindsItAgain() async throws {
    do {
      let reader = try open()
      try await reader.refresh("news")
      try await reader.refresh("news")
      #expect(fetched.withLock { $0 } == ["news", "long", "short", "middle"])
      #expect(try await reader.suggestions(10) == ["A short one", "One in between"])
      #expect(try await reader.read("short") == Self.web["short"])
      #expect(try await reader.read("nowhere") == nil)
      try await reader.notes.close()
      try await reader.feeds.close()
      try await reader.pages.close()
      try await reader.articles.close()
    }
    let reader = try open()
    try await reader.refresh("news")
    #expect(fetched.withLock { $0.count } == 4)
    #expect(try await reader.suggestions(10) == ["One in between"])
    #expect(
      try reader.notes.messages().map(\.text) == [
        "fetched long", "fetched short", "fetched middle", "read short",
      ])
    await #expect(throws: URLError.self) { try await reader.refresh("other") }
  }

  @Test func itIsShort() {
    let text = Documentation.page("Tests/LarderTests/Sample/NewsReader.swift").text
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    #expect(lines.count > 40 && lines.count < 80)
  }
}
