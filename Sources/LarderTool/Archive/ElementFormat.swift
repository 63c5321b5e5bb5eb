// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

/// What the bytes of elements are, so that their fields can be read.
enum ElementFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
  case cbor, json, plist

  /// Reads an element.
  /// - Throws: What is wrong with the bytes.
  func value(_ bytes: Data) throws -> CBORValue {
    switch self {
    case .cbor: try CBORValue(bytes)
    case .json:
      Self.value(try JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed))
    case .plist: Self.value(try PropertyListSerialization.propertyList(from: bytes, format: nil))
    }
  }

  /// What Foundation made of JSON or a property list; its keys in the order of the alphabet,
  /// because it knows none.
  private static func value(_ object: Any) -> CBORValue {
    switch object {
    case let text as String: return .text(text)
    case let date as Date: return .tagged(1, .float(date.timeIntervalSince1970))
    case let bytes as Data: return .bytes(bytes)
    case let items as [Any]: return .array(items.map(value))
    case let fields as [String: Any]:
      return .map(
        fields.sorted { $0.key < $1.key }
          .map { CBORValue.Pair(.text($0.key), value($0.value)) })
    case let number as NSNumber: return value(number)
    default: return .null
    }
  }

  private static func value(_ number: NSNumber) -> CBORValue {
    // Truth values are numbers for Foundation, told apart by their type alone.
    if type(of: number) == type(of: NSNumber(value: true)) { return .bool(number.boolValue) }
    if let whole = UInt64(exactly: number) { return .unsigned(whole) }
    if let whole = Int64(exactly: number) { return .negative(UInt64(bitPattern: ~whole)) }
    return .float(number.doubleValue)
  }
}

/// The option that names the format where the folder does not.
struct ElementOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      What elements are made of: cbor, json or plist. (default: as the folder says; it knows \
      Larder's own coders only)
      """, valueName: "format"))
  var format: ElementFormat?

  /// The format to read elements by.
  /// - Throws: `ToolFailure` if nobody says which it is.
  func chosen(_ folder: String, _ name: String?) throws -> ElementFormat {
    if let format = format ?? name.flatMap(ElementFormat.init) { return format }
    let found = name.map { "of the format \"\($0)\"" } ?? "of a program's own format"
    throw ToolFailure(
      "\(folder): its elements are \(found), whose fields cannot be read here; --format says what "
        + "they are, and larder archive get --raw prints their bytes")
  }
}
