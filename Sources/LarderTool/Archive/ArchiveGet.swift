// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct ArchiveGet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Print the element under a primary key.",
    discussion: """
      Prints the element as JSON and a newline: dates as text, bytes as base64url; --raw prints \
      what is stored, with nothing behind it. Leaves no trace in the times of access. Exits with 3 \
      if there is no such element, or it has expired.

      EXAMPLES
        larder archive get users.archive ada | jq .name
        larder archive get --int orders.archive 4711
        larder archive get --raw users.archive ada > ada.cbor
      """)

  @Argument(help: "The archive's folder.", completion: .directory)
  var folder: String

  @Argument(help: "The primary key.")
  var key: String

  @Flag(
    name: .long,
    help: """
      Print the bytes of the element as they are stored: not as JSON, and control characters as \
      they are on a terminal, too.
      """)
  var raw = false

  @OptionGroup var element: ElementOptions
  @OptionGroup var keys: CacheKeys

  func validate() throws { _ = try keys.bytes(key) }

  func run() throws {
    let (archive, name, _) = try ArchiveFolder.read(folder)
    let format = raw ? nil : try element.chosen(folder, name)
    let bytes = try keys.bytes(key)
    guard let value = try archive.peek(forKey: bytes) else {
      let hint = keys.hint(key) { try archive.contains($0) }
      StandardError.note("\(folder): there is no element under \(keys.text(bytes))\(hint)")
      throw ExitCode(ToolExit.missing)
    }
    var output = StandardOutput(raw: raw)
    if let format {
      var text = CBORText()
      do {
        text.convert(try format.value(value))
      } catch {
        throw ToolFailure(
          "\(folder): the element is not valid \(format.rawValue): \(error); --raw prints its bytes"
        )
      }
      try text.json.withUnsafeBytes { try output.write($0) }
      try output.write(byte: UInt8(ascii: "\n"))
    } else {
      try value.withUnsafeBytes { try output.write($0) }
    }
    try output.flush()
  }
}
