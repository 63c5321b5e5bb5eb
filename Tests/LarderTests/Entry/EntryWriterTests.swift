// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Values that come piece by piece. After DiskLruCache's tests of its output streams and
/// aggressiveClearingHandlesWrite; there a stream that failed took the entry with it.
struct EntryWriterTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  /// The spool's limit of memory is 256 KiB.
  @Test(arguments: [0, 1, 20_480, 262_143, 262_144, 262_145, 1 << 20, 12 << 20])
  func whatIsWrittenInPiecesComesBackWhole(size: Int) throws {
    let value = entryBytes(size)
    for values in [1, 2] {
      let cache = try place.open(values: values, at: place.directory.file("\(values)").path)
      let editor = try cache.editor("a")
      let writer = try editor.writer(at: 0)
      var offset = 0
      while offset < size {
        let end = min(offset + 70_001, size)
        try writer.write(value[offset..<end])
        offset = end
      }
      #expect(writer.count == size && writer.index == 0)
      try writer.close()
      if values == 2 { try editor.set("end", at: 1) }
      try editor.commit()
      #expect(try cache.snapshot(forKey: "a")?.data(at: 0) == value)
      #expect(try cache.size.bytes == size + (values == 2 ? 3 : 0))
      #expect(try cache.verify().isIntact)
    }
  }

  @Test func aFileOfASpoolHasNoName() throws {
    let cache = try place.open()
    let names = try place.names
    let segments = try place.log.segments
    let editor = try cache.editor("a")
    let writer = try editor.writer(at: 0)
    try writer.write(entryBytes(1 << 20))
    #expect(try place.names == names)
    #expect(try place.log.segments == segments)
    try editor.abort()
    #expect(try place.names == names)
  }

  @Test func whatADeadProcessLeftOfASpoolGoes() throws {
    do { try place.open().set("a", "A", "B") }
    let left = place.url.appendingPathComponent("spool.123.456")
    try Data(count: 10).write(to: left)
    let reader = try place.open { $0.isReadOnly = true }
    #expect(try place.names.contains("spool.123.456"))
    try reader.close()
    let cache = try place.open()
    #expect(try !place.names.contains("spool.123.456"))
    #expect(try cache.texts("a") == ["A", "B"])
  }

  @Test func textAndBytesAreWritten() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    let writer = try editor.writer(at: 1)
    try writer.write("grö")
    try writer.write(Data("ß".utf8))
    try Array("e".utf8).withUnsafeBytes { try writer.write($0) }
    try editor.set("", at: 0)
    try editor.commit()
    #expect(try cache.texts("a") == ["", "größe"])
  }

  @Test func aWriterNeedNotBeClosed() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    try editor.writer(at: 0).write("A")
    _ = try editor.writer(at: 1)
    try editor.commit()
    #expect(try cache.texts("a") == ["A", ""])
  }

  @Test func aClosedWriterTakesNothingMore() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    let writer = try editor.writer(at: 0)
    try writer.write("A")
    try writer.close()
    try writer.close()
    #expect(errorCode { try writer.write("B") } == .conflict)
    try editor.set("B", at: 1)
    try editor.commit()
    #expect(try cache.texts("a") == ["A", "B"])
  }

  @Test func theLastOneToSetAValueCounts() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    let first = try editor.writer(at: 0)
    try first.write("first")
    let second = try editor.writer(at: 0)
    #expect(errorCode { try first.write("more") } == .conflict)
    try second.write("second")
    try editor.set("third", at: 1)
    let third = try editor.writer(at: 1)
    try third.write("x")
    try editor.set("fourth", at: 1)
    #expect(errorCode { try third.write("more") } == .conflict)
    try editor.commit()
    #expect(try cache.texts("a") == ["second", "fourth"])
  }

  @Test func aStreamThatFailedFailsTheCommitAndKeepsTheOldValues() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    try cache.checkpoint()
    let moved = place.directory.file("moved")
    let editor = try cache.editor("a")
    let writer = try editor.writer(at: 0)
    try writer.write(entryBytes(1000))
    // There is no folder for the file that is needed now.
    try FileManager.default.moveItem(at: place.url, to: moved)
    let failure = error { try writer.write(entryBytes(1 << 20)) }
    try FileManager.default.moveItem(at: moved, to: place.url)
    #expect(failure?.code == .replaced)
    #expect(failure?.errno == ENOENT)
    #expect(errorCode { try writer.write("more") } == .conflict)
    #expect(errorCode { try writer.close() } == .replaced)
    try editor.set("C", at: 1)
    #expect(errorCode { try editor.commit() } == .replaced)
    #expect(try cache.texts("a") == ["A", "B"])
    // And it is of no consequence to the next.
    let next = try cache.editor("a")
    try next.writer(at: 0).write("C")
    try next.commit()
    #expect(try cache.texts("a") == ["C", "B"])
  }

  @Test func aWriterKeepsItsEditOpen() throws {
    let cache = try place.open()
    var writer: EntryWriter? = try cache.editor("a").writer(at: 0)
    #expect(try cache.edit("a") == nil)
    try writer?.write("A")
    writer = nil
    #expect(try cache.edit("a") != nil)
  }
}
