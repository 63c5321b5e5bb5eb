// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

/// The level of a structured record, the least severe first.
enum RecordLevel: String, CaseIterable, Comparable, ExpressibleByArgument {
  case trace, debug, info, notice, warning, error, critical

  static func < (left: RecordLevel, right: RecordLevel) -> Bool { left.rank < right.rank }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  var style: TextStyle {
    switch self {
    case .trace, .debug: .dim
    case .info: .plain
    case .notice: .green
    case .warning: .yellow
    case .error, .critical: .red
    }
  }
}

/// What a logging backend writes: a CBOR map with at least `time`, `level`, `label` and `message`.
struct StructuredRecord {
  let time: Date
  let level: RecordLevel
  let label: String
  /// What comes behind time and level when it is printed.
  let text: String

  /// nil for any other item.
  init?(_ value: CBORValue) {
    guard case .map(let pairs) = value else { return nil }
    var fields: [String: CBORValue] = [:]
    for pair in pairs {
      guard case .text(let key) = pair.key else { return nil }
      fields[key] = pair.value
    }
    guard case .tagged(1, let seconds) = fields["time"], let time = Self.date(seconds),
      case .text(let name) = fields["level"], let level = RecordLevel(rawValue: name),
      case .text(let label) = fields["label"], case .text(let message) = fields["message"]
    else { return nil }
    self.time = time
    self.level = level
    self.label = label
    var text = "\(label): \(message)"
    if case .map(let metadata) = fields["metadata"] {
      for pair in metadata { text += " \(Self.word(pair.key))=\(Self.word(pair.value))" }
    }
    if let error = fields["error"] { text += " error=\(Self.word(error))" }
    self.text = text
  }

  var timeText: String { TimeText.utc(time) }

  private static func date(_ value: CBORValue) -> Date? {
    switch value {
    case .float(let seconds): seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil
    case .unsigned(let seconds): Date(timeIntervalSince1970: Double(seconds))
    default: nil
    }
  }

  /// Text as it is if it is a word, else in quotation marks; other values as JSON.
  private static func word(_ value: CBORValue) -> String {
    if case .text(let text) = value, !text.isEmpty,
      text.unicodeScalars.allSatisfy({
        $0 != "\"" && $0 != "=" && !$0.properties.isWhitespace && !$0.isControlling
      })
    {
      return text
    }
    var json = CBORText()
    json.convert(value)
    return String(decoding: json.json, as: UTF8.self)
  }
}

/// Times, as the tool prints them.
enum TimeText {
  /// In UTC and with milliseconds, so that lines can be compared: `2026-03-01T14:30:05.250Z`.
  static func utc(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
