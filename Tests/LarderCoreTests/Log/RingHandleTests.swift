// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// The layer below messages, which the command line uses too.
@Suite struct RingHandleTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("ring").path
  }

  private func append(_ text: String, to ring: borrowing RingHandle) throws {
    _ = try Data(text.utf8).withUnsafeBytes { try ring.append($0) }
  }

  private func open(_ options: RingOptions = .init(capacity: 4096)) throws -> RingHandle {
    try RingHandle(path: path, options: options)
  }

  @Test func markOfAnUnendedMessageIsKept() throws {
    do {
      let ring = try open()
      var batch = RingBatch()
      for text in ["one", "two", "thr"] {
        Data(text.utf8).withUnsafeBytes { batch.add($0, isPartial: text == "thr") }
      }
      #expect(batch.count == 3)
      #expect(batch.byteCount == 9)
      #expect(try ring.append(batch) == 3)
    }
    let log = try MessageLog<String>(
      readingFrom: .path(path), coder: Coder.string)
    #expect(log.entries.map(\.isPartial) == [false, false, true])
    #expect(log.reversed().map(\.isPartial) == [true, false, false])
  }

  @Test func batchIsUsedAgain() throws {
    let ring = try open(RingOptions(capacity: 1 << 20))
    var batch = RingBatch()
    var expected: [String] = []
    for round in 0..<5 {
      for number in 0..<100 {
        let text = String(repeating: "\(round)", count: number)
        expected.append(text)
        Data(text.utf8).withUnsafeBytes { batch.add($0) }
      }
      try ring.append(batch)
      batch.removeAll()
      #expect(batch.count == 0)
      #expect(try ring.append(batch) == 0)
    }
    let reader = try ring.makeReader()
    var found: [String] = []
    while let record = try reader.next() {
      found.append(String(decoding: record.bytes, as: UTF8.self))
    }
    #expect(found == expected)
  }

  @Test func capacityZeroTakesAnExistingFileAsItIs() throws {
    do {
      let ring = try open(RingOptions(capacity: 8192, overwrite: true, contentFormat: "text"))
      try append("a", to: ring)
    }
    let ring = try open(RingOptions(existing: true))
    let statistics = try ring.statistics()
    #expect(statistics.capacity == 8192)
    #expect(statistics.whenFull == .overwriteOldest)
    #expect(statistics.format == "text")
    #expect(!statistics.isReadOnly)
  }

  @Test func existingFileIsNotCreated() throws {
    let error = error { _ = try open(RingOptions(capacity: 4096, existing: true)) }
    #expect(error?.errno == ENOENT)
    #expect(try directory.names == [])
  }

  @Test func pathWithANULIsAnInvalidArgument() throws {
    for path in ["", path + "\0.txt"] {
      let code = errorCode {
        _ = try RingHandle(path: path, options: RingOptions(capacity: 4096))
      }
      #expect(code == .invalidArgument)
    }
  }

  @Test func waitingEndsWithAMessageOrWithTheTime() throws {
    let ring = try open()
    #expect(try !ring.wait(after: 0, timeout: .zero))
    try append("a", to: ring)
    #expect(try ring.wait(after: 0, timeout: nil))
    #expect(try ring.wait(after: 0, timeout: .seconds(Int64.max)))
    #expect(try !ring.wait(after: 1, timeout: .milliseconds(1)))
  }

  @Test func readerOutlivesItsHandle() throws {
    let reader: RingReader
    do {
      let ring = try open()
      try append("a", to: ring)
      reader = try ring.makeReader()
    }
    #expect(try reader.next()?.sequence == 1)
    #expect(try reader.next()?.sequence == nil)
  }
}
