// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The Swift examples of the article on entries with several values.
@Suite("The examples on entries") struct EntryExamples {
  private let directory: TemporaryDirectory
  private let path: String
  private let transcript = Transcript()
  private let head = Data("<title>Home</title>".utf8)
  private let body = Data("<h1>Home</h1>".utf8)

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("pages").path
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  private func open() throws -> EntryCache<String> {
    try EntryCache<String>(at: .path(path), valueCount: 2, version: 1)
  }

  @Test func updateSome() throws {
    let pages = try open()
    try pages.setValues([head, Data()], forKey: "home")
    // Example: update an entry
    try pages.update([1: body], forKey: "home")
    // End of example
    #expect(try pages.snapshot(forKey: "home")?.values == [head, body])
    #expect(throws: LarderError.self) { try pages.update([1: body], forKey: "nowhere") }
  }

  @Test func readSome() throws {
    let pages = try open()
    try pages.setValues([head, body], forKey: "home")
    // Example: snapshot
    if let page = try pages.snapshot(forKey: "home", values: [0]) {
      let head = try page.string(at: 0)
      let length = try page.length(at: 1)
      print(head ?? "", length)  // <title>Home</title> 13
    }
    // End of example
    #expect(transcript.lines == ["<title>Home</title> 13"])
  }

  @Test func editWhatWasRead() throws {
    let pages = try open()
    try pages.setValues([Data("7".utf8), Data()], forKey: "counter")
    for _ in 1...3 {
      // Example: edit a snapshot
      let page = try pages.snapshot(forKey: "counter")
      if let page, let editor = try page.edit() {
        let count = Int(try page.string(at: 0) ?? "") ?? 0
        try editor.set("\(count + 1)", at: 0)
        try editor.commit()
      }
      // End of example
    }
    #expect(try pages.snapshot(forKey: "counter")?.string(at: 0) == "10")
  }

  @Test func changeTheLimit() throws {
    let pages = try open()
    for number in 0..<100 {
      try pages.setValues([Data(count: 1000), Data(count: 100_000)], forKey: "\(number)")
    }
    // Example: entry limit
    pages.sizeLimit = 1.megabytes
    try pages.checkpoint()
    print(try pages.size <= 1.megabytes)  // true
    // End of example
    #expect(transcript.lines == ["true"])
    #expect(try pages.snapshot(forKey: "99") != nil)
  }
}
