// SPDX-License-Identifier: MIT

#if Logging
  import Foundation
  import LarderCore
  import Logging

  /// The three sources of an event's metadata; the later one wins.
  struct RecordMetadata {
    let handler: Logger.Metadata
    let provided: Logger.Metadata
    let event: Logger.Metadata
    let hides: (@Sendable (Logger.MetadataValueAttributes) -> Bool)?

    /// How many keys they have together.
    var count: Int {
      var count = event.count
      for key in provided.keys where event.index(forKey: key) == nil { count += 1 }
      for key in handler.keys where isOnlyOfHandler(key) { count += 1 }
      return count
    }

    func isOnlyOfHandler(_ key: String) -> Bool {
      event.index(forKey: key) == nil && provided.index(forKey: key) == nil
    }
  }

  /// The bytes of a ``LogRecord``, written front to back: no dictionary is merged, and for a short
  /// record nothing is allocated.
  struct RecordWriter: ~Copyable {
    /// Enough for most records, and few enough to lie on the stack.
    private static let stackBytes = 1024
    /// Deeper values of metadata are left out: a program that reads them has a stack, too.
    private static let depthLimit = 32

    private var bytes: UnsafeMutableRawBufferPointer
    private var count = 0
    private var isOwned = false

    private init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

    deinit { if isOwned { bytes.deallocate() } }

    /// Lends the bytes of a record.
    static func withRecord<Result>(
      of event: LogEvent, label: String, at date: Date, _ metadata: RecordMetadata,
      _ body: (UnsafeRawBufferPointer) throws(LarderError) -> Result
    ) throws(LarderError) -> Result {
      let result = withUnsafeTemporaryAllocation(byteCount: stackBytes, alignment: 8) { stack in
        var writer = RecordWriter(stack)
        writer.record(event, label, date, metadata)
        let bytes = UnsafeRawBufferPointer(rebasing: writer.bytes[..<writer.count])
        do throws(LarderError) {
          return Swift.Result<Result, LarderError>.success(try body(bytes))
        } catch {
          return .failure(error)
        }
      }
      return try result.get()
    }

    private mutating func record(
      _ event: LogEvent, _ label: String, _ date: Date, _ metadata: RecordMetadata
    ) {
      let metadataCount = metadata.count
      head(5, 8 + (metadataCount > 0 ? 1 : 0) + (event.error == nil ? 0 : 1))
      text("time")
      time(date)
      text("level")
      text(event.level.rawValue)
      text("label")
      text(label)
      text("message")
      text(event.message.description)
      if metadataCount > 0 {
        text("metadata")
        head(5, metadataCount)
        pairs(of: metadata)
      }
      text("source")
      text(event.source)
      text("file")
      text(event.file)
      text("function")
      text(event.function)
      text("line")
      head(0, Int(clamping: event.line))
      if let error = event.error {
        text("error")
        text("\(error)")
      }
    }

    // MARK: - Metadata

    private mutating func pairs(of metadata: RecordMetadata) {
      for (key, item) in metadata.event { pair(key, item, metadata.hides) }
      for (key, item) in metadata.provided where metadata.event.index(forKey: key) == nil {
        pair(key, item, metadata.hides)
      }
      for (key, item) in metadata.handler where metadata.isOnlyOfHandler(key) {
        pair(key, item, metadata.hides)
      }
    }

    private mutating func pair(
      _ key: String, _ item: Logger.MetadataValue,
      _ hides: (@Sendable (Logger.MetadataValueAttributes) -> Bool)?, depth: Int = 0
    ) {
      text(key)
      value(item, hides, depth: depth)
    }

    private mutating func value(
      _ value: Logger.MetadataValue,
      _ hides: (@Sendable (Logger.MetadataValueAttributes) -> Bool)?, depth: Int
    ) {
      guard depth < Self.depthLimit else { return text("…") }
      switch value {
      case .string(let string): text(string)
      case .stringConvertible(let convertible):
        text(hides?(value.attributes) == true ? "<hidden>" : convertible.description)
      case .array(let values):
        head(4, values.count)
        for item in values { self.value(item, hides, depth: depth + 1) }
      case .dictionary(let pairs):
        head(5, pairs.count)
        for (key, item) in pairs { pair(key, item, hides, depth: depth + 1) }
      }
    }

    // MARK: - Items of CBOR

    /// Seconds since 1970, a float of 8 bytes under tag 1.
    private mutating func time(_ date: Date) {
      reserve(10)
      bytes[count] = 0xC1
      bytes[count + 1] = 0xFB
      bytes.storeBytes(
        of: date.timeIntervalSince1970.bitPattern.bigEndian, toByteOffset: count + 2,
        as: UInt64.self)
      count += 10
    }

    private mutating func text(_ text: String) {
      var text = text
      text.withUTF8 { utf8 in
        head(3, utf8.count)
        append(UnsafeRawBufferPointer(utf8))
      }
    }

    /// The head of an item: its kind, and a number in as few bytes as it takes.
    private mutating func head(_ kind: UInt8, _ number: Int) {
      reserve(9)
      switch number {
      case ..<24:
        bytes[count] = kind << 5 | UInt8(number)
        count += 1
      case ..<0x100:
        bytes[count] = kind << 5 | 24
        bytes[count + 1] = UInt8(number)
        count += 2
      case ..<0x1_0000:
        bytes[count] = kind << 5 | 25
        bytes.storeBytes(
          of: UInt16(number).bigEndian, toByteOffset: count + 1, as: UInt16.self)
        count += 3
      default:
        bytes[count] = kind << 5 | 27
        bytes.storeBytes(
          of: UInt64(number).bigEndian, toByteOffset: count + 1, as: UInt64.self)
        count += 9
      }
    }

    private mutating func append(_ source: UnsafeRawBufferPointer) {
      reserve(source.count)
      if source.isEmpty { return }
      UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: source)
      count += source.count
    }

    private mutating func reserve(_ more: Int) {
      if more > bytes.count - count { grow(by: more) }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
      let grown = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(2 * bytes.count, count + more), alignment: 8)
      grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      if isOwned { bytes.deallocate() }
      bytes = grown
      isOwned = true
    }
  }
#endif
