// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The code of the page "Coming from SwiftyCache and DiskLruCache": its examples, and every cell of
/// its tables.
@Suite("Coming from SwiftyCache and DiskLruCache") struct ComingFromSwiftyCacheExamples {
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

  @Test func theSameProgram() async throws {
    // Example: from SwiftyCache
    var configuration = EntryCacheConfiguration()
    configuration.sizeLimit = 10.megabytes
    let pages = try EntryCache<String>(
      at: .path(path), valueCount: 2, version: 1, configuration: configuration)

    try await pages.setValues([head, body], forKey: "home")
    if let page = try await pages.snapshot(forKey: "home") {
      print(try page.string(at: 0) ?? "")  // <title>Home</title>
    }
    // End of example
    #expect(transcript.lines == ["<title>Home</title>"])
    #expect(try pages.size.bytes == head.count + body.count)
  }

  @Test func theSameEdit() throws {
    let pages = try EntryCache<String>(at: .path(path), valueCount: 2, version: 1)
    let chunks = (1...100).map { Data("chunk \($0)\n".utf8) }
    // Example: from DiskLruCache
    if let editor = try pages.edit("home") {
      defer { editor.abortUnlessCommitted() }
      try editor.set("<title>Home</title>", at: 0)
      let writer = try editor.writer(at: 1)
      for chunk in chunks { try writer.write(chunk) }
      try editor.commit()
    }
    // End of example
    let page = try #require(try pages.snapshot(forKey: "home"))
    #expect(try page.data(at: 1) == chunks.reduce(Data(), +))
  }

  @Test func calls() async throws {
    var configuration = EntryCacheConfiguration()
    configuration.sizeLimit = 10.megabytes
    configuration.keyRule = .swiftyCache
    configuration.expiration = .days(30)
    let pages = try EntryCache<String>(
      at: .path(path), valueCount: 2, version: 1, configuration: configuration)
    let key = "Home"
    try await pages.setValues([head, body], forKey: key)
    try await pages.update([1: body], forKey: key)
    #expect(try await pages.snapshot(forKey: key)?.values == [head, body])
    let page = try #require(try await pages.snapshot(forKey: key, values: [0]))
    let head = try page.data(at: 0)
    let text = try page.string(at: 0)
    let length = try page.length(at: 1)
    let stream = try page.inputStream(at: 0)
    #expect(head == self.head && text == "<title>Home</title>" && length == body.count)
    #expect(stream.streamStatus == .notOpen)
    #expect(try pages.size.bytes == head.count + body.count)
    #expect(try pages.count == 1)
    #expect(try await pages.contains(key))
    #expect(try await pages.keys() == [key])
    pages.sizeLimit = 1.megabytes
    let wasThere = try await pages.remove(forKey: key)
    #expect(wasThere)
    try await pages.checkpoint()
    try await pages.sync()
    try await pages.removeAll()
    #expect(!pages.isClosed)
    try await pages.close()
    try await pages.destroy()
    #expect(pages.isClosed)
  }

  @Test func editing() throws {
    var configuration = EntryCacheConfiguration()
    configuration.keyRule = .diskLruCache
    let pages = try EntryCache<String>(
      at: .path(path), valueCount: 2, version: 1, configuration: configuration)
    try pages.setValues([head, body], forKey: "home")
    let snapshot = try #require(try pages.snapshot(forKey: "home"))
    let editor = try #require(try snapshot.edit())
    #expect(try pages.edit("home") == nil)
    let old = try editor.data(at: 0)
    let oldText = try editor.string(at: 0)
    let oldStream = try editor.inputStream(at: 1)
    #expect(old == head && oldText != nil && oldStream != nil)
    try editor.set("<title>New</title>", at: 0)
    try editor.commit()
    #expect(try snapshot.edit() == nil)
    let other = try #require(try pages.edit("home"))
    try other.set(Data(), at: 1)
    try other.abort()
    #expect(try pages.snapshot(forKey: "home")?.data(at: 1) == body)
    for key in ["Home", "a b", ""] {
      #expect(throws: LarderError.self) { try pages.setValues([head, body], forKey: key) }
    }
    let report = try pages.verify()
    #expect(report.isIntact)
  }

  @Test func errors() throws {
    let pages = try EntryCache<String>(at: .path(path), valueCount: 2, version: 1)
    var codes: [LarderError.Code] = []
    do { try pages.setValues([head], forKey: "home") } catch let error as LarderError {
      codes.append(error.code)
    }
    let editor = try #require(try pages.edit("home"))
    do { try pages.setValues([head, body], forKey: "home") } catch let error as LarderError {
      codes.append(error.code)
    }
    try editor.abort()
    do { try editor.commit() } catch let error as LarderError { codes.append(error.code) }
    try pages.close()
    do { try pages.removeAll() } catch let error as LarderError { codes.append(error.code) }
    #expect(codes == [.invalidArgument, .conflict, .conflict, .closed])
  }
}
