// SPDX-License-Identifier: MIT

#if Logging
  public import Foundation
  import LarderCore
  public import Logging

  /// What a log call wrote, as it is read.
  ///
  /// ```swift
  /// let log = try MessageLog<LogRecord>(readingFrom: .url(url))
  /// for record in try log.messages() where record.level >= .warning {
  ///   print(record.time, record.label, record.message)
  /// }
  /// ```
  ///
  /// In the log it is a CBOR map with texts as keys: those of the properties. `time` is a number of
  /// seconds since 1970 under tag 1; `metadata` and `error` are missing where there are none.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct LogRecord: Sendable, Equatable, Codable {
    /// When it was logged, to the microsecond.
    public var time: Date
    /// How severe it is.
    public var level: Logger.Level
    /// The logger's label.
    public var label: String
    /// The message.
    public var message: String
    /// The metadata of logger, provider and event; what is neither array nor dictionary is text.
    public var metadata: Logger.Metadata
    /// Where it comes from, the module for example.
    public var source: String
    /// The file that logged it.
    public var file: String
    /// The function that logged it.
    public var function: String
    /// The line that logged it.
    public var line: UInt
    /// The error that was logged with it, as text; nil if there was none.
    public var error: String?

    private enum CodingKeys: String, CodingKey {
      case time, level, label, message, metadata, source, file, function, line, error
    }

    /// Reads a record.
    ///
    /// - Parameter decoder: Where from.
    /// - Throws: `DecodingError` if it is something else.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      time = try values.decode(Date.self, forKey: .time)
      level = try values.decode(Logger.Level.self, forKey: .level)
      label = try values.decode(String.self, forKey: .label)
      message = try values.decode(String.self, forKey: .message)
      let items = try values.decodeIfPresent([String: MetadataItem].self, forKey: .metadata)
      metadata = items?.mapValues(\.value) ?? [:]
      source = try values.decode(String.self, forKey: .source)
      file = try values.decode(String.self, forKey: .file)
      function = try values.decode(String.self, forKey: .function)
      line = try values.decode(UInt.self, forKey: .line)
      error = try values.decodeIfPresent(String.self, forKey: .error)
    }

    /// Writes the record.
    ///
    /// - Parameter encoder: Where to.
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: CodingKeys.self)
      try values.encode(time, forKey: .time)
      try values.encode(level, forKey: .level)
      try values.encode(label, forKey: .label)
      try values.encode(message, forKey: .message)
      if !metadata.isEmpty {
        try values.encode(metadata.mapValues(MetadataItem.init), forKey: .metadata)
      }
      try values.encode(source, forKey: .source)
      try values.encode(file, forKey: .file)
      try values.encode(function, forKey: .function)
      try values.encode(line, forKey: .line)
      try values.encodeIfPresent(error, forKey: .error)
    }
  }

  /// A value of metadata as it is in a record: text, an array or a map.
  private struct MetadataItem: Codable {
    let value: Logger.MetadataValue

    init(_ value: Logger.MetadataValue) { self.value = value }

    init(from decoder: any Decoder) throws {
      let item = try decoder.singleValueContainer()
      if let text = try? item.decode(String.self) {
        value = .string(text)
      } else if let items = try? item.decode([MetadataItem].self) {
        value = .array(items.map(\.value))
      } else {
        value = .dictionary(try item.decode([String: MetadataItem].self).mapValues(\.value))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var item = encoder.singleValueContainer()
      switch value {
      case .string(let text): try item.encode(text)
      case .stringConvertible(let convertible): try item.encode(convertible.description)
      case .array(let values): try item.encode(values.map(MetadataItem.init))
      case .dictionary(let pairs): try item.encode(pairs.mapValues(MetadataItem.init))
      }
    }
  }
#endif
